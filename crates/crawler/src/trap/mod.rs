//! Infinite URL spaces: which URL is held back, and by which budget. Pure and deterministic.
//!
//! Two kinds of judgement. `by_form` looks at one URL alone: its depth, its segments, what repeats in it. `Groups`
//! counts what a host's URLs have in common: the path before a query, and the path with its digits masked. What is held
//! back isn't lost: it is in the ledger with the budget and what was counted.

mod form;
mod groups;
mod key;
mod settings;

pub use self::form::by_form;
pub(crate) use self::groups::{Groups, Said, StoredGroup};
pub use self::key::shape;
pub(crate) use self::key::variants;
pub use self::settings::TrapSettings;

use hashbrown::HashTable;
use serde::{Deserialize, Serialize};

use crate::link_outcome::LinkOutcome;
use crate::scope::domain;
use page::url::CrawlUrl;

/// A budget, by the key of the settings that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Budget {
    /// Links from a seed.
    Depth,
    /// Segments of a path.
    Segments,
    /// Repetitions within a path.
    Repeats,
    /// URLs of one host.
    UrlsPerHost,
    /// Hosts of one registrable domain.
    HostsPerDomain,
    /// URLs that differ in the query alone.
    QueryVariants,
    /// URLs whose paths differ in digits alone.
    ShapeVariants,
    /// Pages in a row that said nothing new.
    SamePages,
    /// Hosts that one page makes known.
    HostsPerPage,
    /// Costly URLs with one path and the same parameters.
    Costly,
}

impl Budget {
    /// The key of the settings.
    pub fn key(self) -> &'static str {
        match self {
            Self::Depth => "traps.depth",
            Self::Segments => "traps.segments",
            Self::Repeats => "traps.repeats",
            Self::UrlsPerHost => "traps.urls_per_host",
            Self::HostsPerDomain => "traps.hosts_per_domain",
            Self::QueryVariants => "traps.query_variants",
            Self::ShapeVariants => "traps.shape_variants",
            Self::SamePages => "traps.same_pages",
            Self::HostsPerPage => "traps.hosts_per_page",
            Self::Costly => "costly.action",
        }
    }

    /// What becomes of a link to such a URL.
    pub fn outcome(self) -> LinkOutcome {
        match self {
            Self::Depth => LinkOutcome::TrapDepth,
            Self::Segments => LinkOutcome::TrapSegments,
            Self::Repeats => LinkOutcome::TrapRepeats,
            Self::UrlsPerHost => LinkOutcome::TrapHost,
            Self::HostsPerDomain => LinkOutcome::TrapDomain,
            Self::QueryVariants => LinkOutcome::TrapQuery,
            Self::ShapeVariants => LinkOutcome::TrapShape,
            Self::SamePages => LinkOutcome::TrapSame,
            Self::HostsPerPage => LinkOutcome::TrapPage,
            Self::Costly => LinkOutcome::Costly,
        }
    }
}

/// Why a URL is held back, as plain figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetExceeded {
    /// The budget that is used up.
    pub budget: Budget,
    /// What it allows for this URL.
    pub limit: u64,
    /// What was counted.
    pub count: u64,
    /// Pages of the group that said something new; 0 where that doesn't matter.
    pub fresh: u64,
    /// Pages of the group that were read.
    pub pages: u64,
    /// The group is a folder.
    #[serde(default)]
    pub in_folder: bool,
    /// The group is the host.
    #[serde(default)]
    pub of_host: bool,
}

impl BudgetExceeded {
    fn new(budget: Budget, limit: u64, count: u64) -> Self {
        Self { budget, limit, count, fresh: 0, pages: 0, in_folder: false, of_host: false }
    }

    /// The evidence in words: the budget with its value, what was counted, and under which key.
    pub fn evidence(&self, url: &CrawlUrl) -> String {
        let Self { budget, limit, count, fresh, pages, in_folder, of_host } = self;
        let host = url.host();
        let path = url.path();
        let what = match budget {
            Budget::Depth => format!("{count} links from a seed"),
            Budget::Segments => format!("the path has {count} segments"),
            Budget::Repeats => {
                format!("`{}` is {count} times in the path", form::repeated(path).unwrap_or_default())
            }
            Budget::UrlsPerHost => format!("{host} already has {count} URLs"),
            Budget::HostsPerDomain => format!("{} already has {count} hosts", domain(host)),
            Budget::Costly => {
                format!("{count} costly URLs differ from {host}{path} only in values of the query")
            }
            Budget::HostsPerPage => format!("the page already names {count} new hosts"),
            Budget::QueryVariants => format!(
                "{count} URLs differ from {host}{path} only in the query; {fresh} of {pages} pages had new content"
            ),
            Budget::ShapeVariants => format!(
                "{count} URLs have the shape {host}{}; {fresh} of {pages} pages had new content",
                shape(path)
            ),
            Budget::SamePages if *of_host => format!(
                "the last {count} pages of {host} repeated earlier content; {fresh} of {pages} had new content"
            ),
            Budget::SamePages if *in_folder => format!(
                "the last {count} pages of the folder {host}{} repeated earlier content; {fresh} of {pages} had new content",
                shape(key::folder(path))
            ),
            Budget::SamePages => format!(
                "the last {count} pages of the shape {host}{} repeated earlier content; {fresh} of {pages} had new content",
                shape(path)
            ),
        };
        page::clean::clean_to(&format!("{} {limit}: {what}", budget.key()), 400)
    }
}

impl TrapSettings {
    /// Why a host that has so many URLs gets no further one.
    pub(crate) fn over_urls_per_host(&self, have: u64) -> Option<BudgetExceeded> {
        let most = self.urls_per_host.filter(|most| have >= *most)?;
        Some(BudgetExceeded::new(Budget::UrlsPerHost, most, have))
    }
}

/// New hosts by registrable domain, those that a seed names not counted, and of the page that is read. 8 bytes a domain.
///
/// Not stored: the hosts are, and those of a domain are counted again from them.
#[derive(Debug, Default)]
pub struct Domains {
    hosts: HashTable<DomainCount>,
    /// Hosts that the links of the page under way have made known.
    of_page: u64,
}

impl Domains {
    /// The links that are judged from now on are on another page, which has already named so many new hosts.
    pub fn begin_page(&mut self, have: u64) {
        self.of_page = have;
    }

    /// Hosts that the links of this page have made known.
    pub fn of_page(&self) -> u64 {
        self.of_page
    }

    /// Counts a host that became known.
    pub fn add(&mut self, host: &str) {
        self.of_page += 1;
        let new = DomainCount::of(host);
        let entry = self.hosts.entry(new.hash(), |known| known.is_of(new), |known| known.hash());
        entry.and_modify(DomainCount::increase).or_insert(new);
    }

    /// Returns why a host that isn't known yet stays unknown.
    pub fn judge(&self, rules: &TrapSettings, host: &str) -> Option<BudgetExceeded> {
        if let Some(most) = rules.hosts_per_page.filter(|most| self.of_page >= *most) {
            return Some(BudgetExceeded::new(Budget::HostsPerPage, most, self.of_page));
        }
        let most = rules.hosts_per_domain.map(|most| most.min(DomainCount::MOST));
        let asked = DomainCount::of(host);
        let have = self.hosts.find(asked.hash(), |known| known.is_of(asked)).map_or(0, |known| known.count());
        most.filter(|most| have >= *most).map(|most| BudgetExceeded::new(Budget::HostsPerDomain, most, have))
    }
}

/// How many hosts of one domain are known: 44 bits of a hash of the domain, 20 bits of a number. Of a million domains, two
/// share a number with a probability of 3 %.
#[derive(Debug, Clone, Copy)]
struct DomainCount(u64);

impl DomainCount {
    /// The largest number; a budget beyond it ends here.
    const MOST: u64 = (1 << 20) - 1;

    /// The first host of its domain.
    fn of(host: &str) -> Self {
        Self(key::hash(b'd', domain(host).as_bytes()) & !Self::MOST | 1)
    }

    /// Of the domain, for a table that reads the lowest and the highest bits.
    fn hash(self) -> u64 {
        (self.0 & !Self::MOST) ^ (self.0 >> 20)
    }

    fn is_of(self, other: Self) -> bool {
        self.0 | Self::MOST == other.0 | Self::MOST
    }

    fn count(self) -> u64 {
        self.0 & Self::MOST
    }

    fn increase(&mut self) {
        self.0 += u64::from(self.count() < Self::MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_one_domain_have_a_budget() {
        let rules = TrapSettings { hosts_per_domain: Some(3), ..TrapSettings::default() };
        let mut domains = Domains::default();
        for n in 0..3 {
            assert_eq!(domains.judge(&rules, &format!("h{n}.maze.co.uk")), None);
            domains.add(&format!("h{n}.maze.co.uk"));
        }
        let held = domains.judge(&rules, "another.maze.co.uk").unwrap();
        assert_eq!((held.budget, held.limit, held.count), (Budget::HostsPerDomain, 3, 3));
        let url = CrawlUrl::parse("http://another.maze.co.uk/").unwrap();
        assert_eq!(held.evidence(&url), "traps.hosts_per_domain 3: maze.co.uk already has 3 hosts");
        assert_eq!(domains.judge(&rules, "other.co.uk"), None, "another registrable domain");
        let none = TrapSettings { hosts_per_domain: None, ..rules };
        assert_eq!(domains.judge(&none, "another.maze.co.uk"), None);
    }

    #[test]
    fn hosts_of_many_domains_are_counted_apart() {
        assert_eq!(size_of::<DomainCount>(), 8);
        let rules =
            TrapSettings { hosts_per_domain: Some(1), hosts_per_page: None, ..TrapSettings::default() };
        let mut domains = Domains::default();
        for n in 0..100_000 {
            assert_eq!(domains.judge(&rules, &format!("www.domain-{n}.test")), None, "{n}");
            domains.add(&format!("www.domain-{n}.test"));
        }
        assert!((0..100_000).all(|n| domains.judge(&rules, &format!("m.domain-{n}.test")).is_some()));
        let mut full = DomainCount(DomainCount::MOST);
        full.increase();
        assert_eq!((full.count(), full.0 >> 20), (DomainCount::MOST, 0), "the number ends, the domain stays");
    }

    #[test]
    fn the_hosts_of_a_domain_are_still_counted_when_there_are_many_domains() {
        let rules =
            TrapSettings { hosts_per_domain: Some(1_000), hosts_per_page: None, ..TrapSettings::default() };
        let mut domains = Domains::default();
        for n in 0..20 {
            for host in 0..1_000 {
                assert_eq!(domains.judge(&rules, &format!("h{host}.domain-{n}.test")), None, "{n}");
                domains.add(&format!("h{host}.domain-{n}.test"));
            }
        }
        // The table grows several times meanwhile, and finds each of them again by its domain alone.
        for n in 0..20_000 {
            domains.add(&format!("www.other-{n}.test"));
        }
        for n in 0..20 {
            let held = domains.judge(&rules, &format!("m.domain-{n}.test")).expect("it has a thousand");
            assert_eq!((held.limit, held.count), (1_000, 1_000), "{n}");
        }
    }

    #[test]
    fn a_host_that_has_its_urls_gets_no_more() {
        let rules = TrapSettings { urls_per_host: Some(10), ..TrapSettings::default() };
        assert_eq!(rules.over_urls_per_host(9), None);
        let held = rules.over_urls_per_host(10).unwrap();
        assert_eq!((held.budget, held.limit, held.count), (Budget::UrlsPerHost, 10, 10));
        assert!(rules.over_urls_per_host(11).is_some());
        let none = TrapSettings { urls_per_host: None, ..rules };
        assert_eq!(none.over_urls_per_host(u64::MAX), None);
    }

    #[test]
    fn hosts_that_one_page_makes_known_have_a_budget() {
        let rules = TrapSettings { hosts_per_page: Some(2), ..TrapSettings::default() };
        let mut domains = Domains::default();
        domains.add("a.test");
        assert_eq!(domains.judge(&rules, "c.test"), None);
        domains.add("b.test");
        let held = domains.judge(&rules, "c.test").unwrap();
        assert_eq!((held.budget, held.limit, held.count), (Budget::HostsPerPage, 2, 2));
        let url = CrawlUrl::parse("http://c.test/").unwrap();
        assert_eq!(held.evidence(&url), "traps.hosts_per_page 2: the page already names 2 new hosts");
        assert_eq!(domains.of_page(), 2);
        domains.begin_page(0);
        assert_eq!(domains.judge(&rules, "c.test"), None, "another page");
        // A page whose links are judged in two parts.
        domains.begin_page(2);
        assert_eq!((domains.of_page(), domains.judge(&rules, "c.test")), (2, Some(held)));
    }

    #[test]
    fn evidence_names_the_budget_its_value_and_the_key() {
        let url = CrawlUrl::parse("http://a.test/cal/2031/04?x=1").unwrap();
        let held = |budget| BudgetExceeded {
            limit: 10,
            count: 12,
            fresh: 3,
            pages: 9,
            ..BudgetExceeded::new(budget, 0, 0)
        };
        for (budget, expected) in [
            (Budget::Depth, "traps.depth 10: 12 links from a seed"),
            (Budget::Segments, "traps.segments 10: the path has 12 segments"),
            (Budget::UrlsPerHost, "traps.urls_per_host 10: a.test already has 12 URLs"),
            (
                Budget::QueryVariants,
                "traps.query_variants 10: 12 URLs differ from a.test/cal/2031/04 only in the query; 3 of 9 pages had new content",
            ),
            (
                Budget::ShapeVariants,
                "traps.shape_variants 10: 12 URLs have the shape a.test/cal/#/#; 3 of 9 pages had new content",
            ),
        ] {
            assert_eq!(held(budget).evidence(&url), expected);
            assert!(budget.outcome().is_skip());
            assert!(budget.outcome().as_str().starts_with("trap_"));
        }
        let twice = CrawlUrl::parse("http://a.test/shop/x/shop/y/shop").unwrap();
        assert_eq!(
            held(Budget::Repeats).evidence(&twice),
            "traps.repeats 10: `shop` is 12 times in the path"
        );
        assert_eq!(
            held(Budget::SamePages).evidence(&url),
            "traps.same_pages 10: the last 12 pages of the shape a.test/cal/#/# repeated earlier content; 3 of 9 had new content"
        );
        let folder = BudgetExceeded { in_folder: true, ..held(Budget::SamePages) };
        assert_eq!(
            folder.evidence(&url),
            "traps.same_pages 10: the last 12 pages of the folder a.test/cal/#/ repeated earlier content; 3 of 9 had new content"
        );
    }
}
