//! URLs that cost a site more than they bring, by the tables of the crate `costly-urls`: which parts of a URL are stripped before it is
//! known, and which URLs aren't requested.

mod looks;
mod settings;

use std::sync::{Arc, LazyLock};

pub use ::costly::{Action, Class, Instead, Judgement, KindError, Mode, Shown, Site, Standing};
use ::costly::{Judge, Kinds, Link, Month, PageSigns, Switches, recognise};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use self::looks::Looks;
pub use self::settings::{CostlyAction, CostlySettings, Session};
use page::url::CrawlUrl;

/// Bytes of a page that are looked through for signs of a kind.
const LOOKED_AT: usize = 256 * 1024;

/// The kinds of sites that the program has. A test of their crate reads all of them.
static OF_PROGRAM: LazyLock<Arc<Kinds>> = LazyLock::new(|| Arc::new(Kinds::embedded().unwrap_or_default()));

/// What is done about costly URLs in a crawl, ready to judge by.
#[derive(Clone, Debug)]
pub struct CostlyRules {
    switches: Switches,
    kinds: Arc<Kinds>,
    looks: Arc<Looks>,
    /// False in a crawl of an earlier version, which stripped session ids and judged nothing.
    judges: bool,
}

impl CostlyRules {
    /// The rules by these settings, with the kinds of the user's directory. Errors: a file of it that is no kind.
    pub fn new(settings: &CostlySettings) -> Result<Self, KindError> {
        let mut rules = Self::of_program(settings);
        if !settings.directory.as_os_str().is_empty() {
            let mut kinds = Kinds::clone(&rules.kinds);
            kinds.add_directory(&settings.directory)?;
            rules.kinds = Arc::new(kinds);
        }
        Ok(rules)
    }

    /// The rules by these settings, with the program's own kinds.
    pub fn of_program(settings: &CostlySettings) -> Self {
        Self {
            switches: settings.switches(),
            kinds: Arc::clone(&OF_PROGRAM),
            looks: Arc::default(),
            judges: settings.action != CostlyAction::Sessions,
        }
    }

    /// The URL that a reference stands for, where that is another one: the same without session ids and marks of advertising.
    pub fn normal(&self, url: &CrawlUrl) -> Option<CrawlUrl> {
        // What is stripped doesn't depend on the month.
        let judge = self.judge_in(Month { year: 0, month: 1 });
        CrawlUrl::from_text(judge.stripped(url.as_str(), None)?).ok()
    }

    /// What is done about a URL that was found on a page, at a time. `site` is what is known of its host, `is_known` says whether a URL is in the crawl already. Some microseconds.
    pub fn judge<'a>(
        &'a self,
        url: &CrawlUrl,
        page: Option<&str>,
        standing: Standing,
        site: Option<&'a Site>,
        is_known: impl Fn(&str) -> bool,
        at: Timestamp,
    ) -> Judgement<'a> {
        if !self.judges {
            return Judgement { action: Action::Keep, reason: None };
        }
        let date = at.to_zoned(TimeZone::UTC).date();
        let year = u16::try_from(date.year()).unwrap_or_default();
        let judge = self.judge_in(Month { year, month: date.month().unsigned_abs() });
        judge.judge(&Link { url: url.as_str(), page, standing }, site, is_known)
    }

    /// The URL that a link stands for on a site whose kinds are known, where that is another one.
    pub fn normal_on(&self, url: &CrawlUrl, site: &Site) -> Option<CrawlUrl> {
        if !self.judges {
            return None;
        }
        let judge = self.judge_in(Month { year: 0, month: 1 });
        let link = Link { url: url.as_str(), page: None, standing: Standing::Found };
        match judge.judge(&link, Some(site), |_| false).action {
            Action::Normalise(normal) => CrawlUrl::from_text(normal).ok(),
            _ => None,
        }
    }

    /// Whether a page is to be looked at for signs of a kind: one of the first of its part of the host. Counts it.
    pub fn looks_at(&self, url: &CrawlUrl) -> bool {
        self.judges && self.looks.take(url)
    }

    /// The kinds of site that a page shows.
    pub fn shown(
        &self,
        url: &CrawlUrl,
        generators: &[&str],
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Vec<Shown> {
        let markup = String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT)]);
        recognise(&PageSigns { url: url.as_str(), generators, headers, markup: &markup }, &self.kinds)
    }

    /// Whether there is such a kind of site; `any` are the rules for any site.
    pub fn knows_kind(&self, name: &str) -> bool {
        self.names_of_kinds().any(|known| known == name)
    }

    /// The names of all kinds of sites.
    pub fn names_of_kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.iter().map(::costly::Kind::name).chain([::costly::ANY])
    }

    fn judge_in(&self, now: Month) -> Judge<'_> {
        Judge { kinds: &self.kinds, switches: &self.switches, now }
    }
}

/// The URLs that a reference may have been queued as by any settings, besides itself. The last one has the least.
pub fn normal_forms(reference: &str) -> Vec<String> {
    let url = CrawlUrl::parse(reference).map(String::from);
    url.map(|url| ::costly::normal_forms(&url, &OF_PROGRAM)).unwrap_or_default()
}

/// The cheaper ways to the content of a kind of site, and the kind's name for people.
pub fn cheaper_ways(kind: &str) -> Option<(&'static str, &'static [Instead])> {
    let kind = OF_PROGRAM.get(kind)?;
    Some((kind.title(), kind.instead()))
}

/// Whether a URL changes something by the rules of any site, whatever the settings say.
pub fn changes_something(url: &str) -> bool {
    // None of those rules depends on the month.
    let judge =
        Judge { kinds: &OF_PROGRAM, switches: &Switches::default(), now: Month { year: 0, month: 1 } };
    let link = Link { url, page: None, standing: Standing::Included };
    judge.judge(&link, None, |_| false).reason.is_some_and(|reason| reason.class == Class::Effect)
}

/// Whether a reference as it was found leads to a URL: it is that one, or that one with what is stripped.
pub fn leads_to(reference: &str, url: &str) -> bool {
    reference == url || normal_forms(reference).iter().any(|form| form == url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(url: &str, settings: &CostlySettings) -> String {
        let url = CrawlUrl::parse(url).unwrap();
        CostlyRules::new(settings).unwrap().normal(&url).unwrap_or(url).to_string()
    }

    /// The rows of the specification's vectors that concern session ids, and those of unknown sites that stay as they are.
    #[test]
    fn the_vectors_of_the_specification_hold() {
        let rows = include_str!("../../tests/data/costly/session.jsonl");
        let mut counted = 0;
        for row in rows.lines() {
            let row: serde_json::Value = serde_json::from_str(row).unwrap();
            let link = row["link"].as_str().unwrap();
            let to = row["to"].as_str().unwrap_or(link);
            assert_eq!(bare(link, &CostlySettings::default()), to, "{}", row["id"]);
            assert!(leads_to(link, to), "{}", row["id"]);
            counted += 1;
        }
        assert!(counted > 10);
    }

    #[test]
    fn what_is_stripped_depends_on_the_settings() {
        const URL: &str = "http://a.test/x;sid=1?utm_source=b&c";
        let of = |text: &str| bare(URL, &toml::from_str(text).unwrap());
        assert_eq!(of(""), "http://a.test/x?c");
        assert_eq!(of("action = \"budget\""), "http://a.test/x?c");
        assert_eq!(of("action = \"keep\""), URL);
        assert_eq!(of("session = \"keep\""), "http://a.test/x;sid=1?c");
        assert_eq!(of("[classes]\nsession = \"keep\""), "http://a.test/x;sid=1?c");
        assert_eq!(of("[classes]\ntracking = \"keep\""), "http://a.test/x?utm_source=b&c");
        assert_eq!(of("[hosts]\n\"a.test\" = \"keep\""), URL);
        assert_eq!(of("action = \"keep\"\n[classes]\nsession = \"skip\""), "http://a.test/x?utm_source=b&c");
        // As in crawls of earlier versions.
        assert_eq!(of("action = \"sessions\""), "http://a.test/x?utm_source=b&c");
        assert_eq!(of("action = \"sessions\"\nsession = \"keep\""), URL);
        for form in ["http://a.test/x?c", "http://a.test/x;sid=1?c", "http://a.test/x?utm_source=b&c", URL] {
            assert!(leads_to(URL, form), "{form}");
        }
        assert!(!leads_to(URL, "http://a.test/x"));
        assert!(!leads_to("http://a.test/x?c", URL));
    }
}
