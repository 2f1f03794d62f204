//! How pages were found, and the scope and limits of each run: a crawl with every way there is, doctored.

use super::tampered::{Output, Tamper};
use super::*;
use crate::record::{Decided, Reason, SitemapFound, SitemapRecord, SitemapState, link_key};

const OTHER: &str = "http://else.test";

fn via(path: &str) -> Via {
    Via { host: HostId(0), page: print(path) }
}

/// A page at this depth, fetched then.
fn found(path: &str, second: f64, depth: u32, via: Via) -> PageRecord {
    PageRecord { depth, ..page(path, second, Some(via)) }
}

/// Pages that a link, a sitemap, a redirect, and a link that a later run let in, led to.
fn records() -> Records {
    let mut records = Records::kept();
    records.pages[0].1.push(link("/moved", LinkOutcome::Queued));
    records.pages[0].1.push(link("/late", LinkOutcome::TooLong));
    let mut moved = found("/moved", 9.0, 1, via("/"));
    (moved.status, moved.title, moved.indexed) = (Some(301), None, false);
    moved.redirect = Some(format!("{SITE}/target"));
    let to_target = LinkRecord { kind: "redirect".into(), ..link("/target", LinkOutcome::Queued) };
    let html = || Some("<html><body>x</body></html>".to_owned());
    records.pages.extend([
        (moved, vec![to_target], html()),
        (found("/target", 12.0, 1, via("/moved")), Vec::new(), html()),
        (found("/mapped", 15.0, 1, via("/sitemap.xml")), Vec::new(), html()),
        (found("/late", 18.0, 1, via("/")), Vec::new(), html()),
    ]);
    let admitted = decision(at(8.0), &format!("{SITE}/late"), "admitted", Layer::Limit, Evidence::default());
    records.decisions.push(Decision { via: Some(format!("{SITE}/")), ..admitted });
    for (path, second) in [("/moved", 9.0), ("/target", 12.0), ("/mapped", 15.0), ("/late", 18.0)] {
        records.asked(path, second, 2.0);
    }
    for entry in records.decisions.iter_mut().filter(|entry| entry.decision == Decided::Fetched) {
        let is_redirect = entry.url.ends_with("/moved");
        entry.reason = Reason::Http(if is_redirect { 301 } else { 200 });
        entry.evidence.to = is_redirect.then(|| format!("{SITE}/target"));
    }
    let url = format!("{SITE}/sitemap.xml");
    let found = SitemapRecord::found(url, SitemapFound::WellKnown, SITE.to_owned(), at(0.2).wall);
    let sitemap = SitemapRecord { state: SitemapState::Read, urls: 1, queued: 1, ..found };
    let key = link_key(HostId(0), print("/sitemap.xml"));
    records.after.push(Write::put(Tree::Sitemaps, key, sitemap.write().unwrap()));
    records
}

impl Output {
    pub(super) fn with_ways() -> Self {
        Self::of(records(), rules())
    }

    /// Has every place say that all runs were started with other settings.
    fn started_with(&mut self, change: fn(&mut Settings)) {
        change(&mut self.rules.settings);
        let seeds = [CrawlUrl::parse(&format!("{SITE}/")).unwrap()];
        let (run, text) = crate::config::run_settings(&self.rules.settings, &seeds).unwrap();
        self.put(Tree::Meta, run.key(), text);
        let record = Record { seeds: vec![seeds[0].to_string()], ..Record::default() };
        self.put(Tree::Meta, "settings", config::to_toml(&self.rules.settings, &record).unwrap());
        self.rewrite_ledger(|entries| {
            for entry in entries.iter_mut().filter(|entry| entry.begins_a_run()) {
                entry.evidence.run = Some(Box::new(run.clone()));
            }
        });
    }

    /// Adds a page that a link of the front page leads to, with its request.
    fn add(&self, url: &str) {
        rewrite(&self.store, |pages| {
            let record = PageRecord { url: url.to_owned(), ..found("/", 21.0, 1, via("/")) };
            let record = PageRecord { archived: false, ..record };
            pages[0].1.push(LinkRecord { to: url.into(), ..link("/", LinkOutcome::Queued) });
            pages.push((record, Vec::new()));
        });
        let host = CrawlUrl::parse(url).unwrap().host().to_owned();
        self.rewrite_ledger(|entries| {
            let entry = decision(at(21.1), url, "fetched", Layer::Fetch, request(21.0, 2.0));
            entries.push(Decision { host, reason: Reason::Http(200), ..entry });
        });
    }

    fn from(&self, path: &str, from: Option<&str>) {
        self.page(path, |record, _| record.via = from.map(via));
    }
}

/// What was changed, how, and a check that has to notice it.
pub(super) const DOCTORED: &[(&str, Tamper, &str)] = &[
    // Discovery
    ("via of a page that a link led to taken out", |o| o.from("/b", None), "discovery"),
    ("via of a page that a redirect led to taken out", |o| o.from("/target", None), "discovery"),
    ("via of a page of a sitemap taken out", |o| o.from("/mapped", None), "discovery"),
    ("via of a page that was let in later taken out", |o| o.from("/late", None), "discovery"),
    ("via is a page without a link to it", |o| o.from("/b", Some("/late")), "discovery"),
    ("via is a page that isn't stored", |o| o.from("/b", Some("/denied")), "discovery"),
    ("via is the page itself", |o| o.from("/b", Some("/b")), "discovery"),
    (
        "via is a sitemap, of a page at another depth",
        |o| {
            o.from("/b", Some("/sitemap.xml"));
            o.page("/b", |record, _| record.depth = 0);
        },
        "discovery",
    ),
    (
        "via is a sitemap, of a page of another host",
        |o| {
            let url = format!("{OTHER}/");
            o.add(&url);
            rewrite(&o.store, |pages| {
                let page = pages.iter_mut().find(|(record, _)| record.url == url).unwrap();
                page.0.via = Some(via("/sitemap.xml"));
            });
        },
        "discovery",
    ),
    (
        "sitemap: its record taken out",
        |o| o.remove(Tree::Sitemaps, link_key(HostId(0), print("/sitemap.xml"))),
        "discovery",
    ),
    (
        "sitemap: was never read",
        |o| {
            let key = link_key(HostId(0), print("/sitemap.xml"));
            let value = o.store.get(Tree::Sitemaps, &key).unwrap().unwrap();
            let record = SitemapRecord {
                urls: 0,
                state: SitemapState::Denied,
                ..SitemapRecord::read(&value).unwrap()
            };
            o.put(Tree::Sitemaps, key, record.write().unwrap());
        },
        "discovery",
    ),
    (
        "link to a page that was fetched taken out",
        |o| o.page("/", |_, links| links.retain(|link| !link.to.ends_with("/b"))),
        "discovery",
    ),
    (
        "link to a page that was fetched made nofollow",
        |o| o.page("/", |_, links| links[0].nofollow = true),
        "discovery",
    ),
    (
        "link to a page that was fetched made one of another host",
        |o| o.page("/", |_, links| links[0].outcome = LinkOutcome::OtherHost),
        "discovery",
    ),
    (
        "link to a page that was fetched made a resource",
        |o| o.page("/", |_, links| links[0].outcome = LinkOutcome::Resource),
        "discovery",
    ),
    (
        "page that links were followed from made nofollow",
        |o| o.page("/", |record, _| record.followed = false),
        "discovery",
    ),
    (
        "redirect taken out of its page",
        |o| {
            o.page("/moved", |record, links| {
                record.redirect = None;
                links.clear();
            });
        },
        "discovery",
    ),
    (
        "redirect made one too many",
        |o| o.page("/moved", |_, links| links[0].outcome = LinkOutcome::TooManyRedirects),
        "discovery",
    ),
    (
        "settings: a smaller max_redirects, everywhere",
        |o| o.started_with(|new| new.limits.max_redirects = 0),
        "discovery",
    ),
    (
        "ledger: the entry that admits a skipped link taken out",
        |o| o.rewrite_ledger(|entries| entries.retain(|entry| entry.decision != Decided::Admitted)),
        "discovery",
    ),
    (
        "ledger: the entry that admits a skipped link is of another page",
        |o| {
            o.rewrite_ledger(|entries| {
                let entry = entries.iter_mut().find(|entry| entry.decision == Decided::Admitted).unwrap();
                entry.via = Some(format!("{SITE}/b"));
            });
        },
        "discovery",
    ),
    ("page: depth raised", |o| o.page("/b", |record, _| record.depth = 2), "discovery"),
    (
        "page: depth of a redirect's target raised",
        |o| o.page("/target", |record, _| record.depth = 2),
        "discovery",
    ),
    (
        "page: depth of a page of a sitemap raised",
        |o| o.page("/mapped", |record, _| record.depth = 2),
        "discovery",
    ),
    ("page: depth of a seed raised", |o| o.page("/", |record, _| record.depth = 1), "discovery"),
    // Scope
    ("page of another host added, with link and request", |o| o.add(&format!("{OTHER}/")), "scope"),
    (
        "page that --exclude keeps out added, with link and request",
        |o| o.add(&format!("{SITE}/private/x")),
        "scope",
    ),
    (
        "page whose URL is too long added, with link and request",
        |o| o.add(&format!("{SITE}/{}", "x".repeat(2083))),
        "scope",
    ),
    (
        "settings: another --include, everywhere",
        |o| o.started_with(|new| new.scope.include = vec!["/b$".to_owned()]),
        "scope",
    ),
    (
        "ledger: where a seed redirects to, made up for another page",
        |o| {
            o.add(&format!("{OTHER}/"));
            o.rewrite_ledger(|entries| {
                let entry = entries.iter_mut().find(|entry| entry.url.ends_with("/b")).unwrap();
                entry.evidence.to = Some(format!("{OTHER}/"));
            });
        },
        "scope",
    ),
    // Limits
    (
        "settings: a smaller max_depth, everywhere",
        |o| o.started_with(|new| new.limits.max_depth = Some(0)),
        "limits",
    ),
    (
        "settings: a smaller max_pages, everywhere",
        |o| o.started_with(|new| new.limits.max_pages = Some(4)),
        "limits",
    ),
    (
        "settings: a smaller max_pages_per_host, everywhere",
        |o| o.started_with(|new| new.limits.max_pages_per_host = Some(4)),
        "limits",
    ),
    (
        "settings: a shorter max_time, everywhere",
        |o| {
            o.started_with(|new| {
                new.fetch.timeout = Duration::from_secs(2);
                new.limits.max_time = Some(Duration::from_secs(10));
            });
        },
        "limits",
    ),
    (
        "settings: a smaller max_bytes, everywhere",
        |o| {
            o.started_with(|new| {
                new.fetch.timeout = Duration::from_secs(2);
                new.limits.max_bytes = Some(40);
            });
        },
        "limits",
    ),
    (
        "pages of a host added, more than max_pages_per_host",
        |o| {
            for page in 0..2 {
                o.add(&format!("{SITE}/added{page}"));
            }
        },
        "limits",
    ),
];

#[test]
fn a_crawl_with_every_way_of_discovery_passes() {
    let output = Output::with_ways();
    let report = output.judge();
    assert_eq!(broken(&report), [""; 0], "{report:#?}");
    let judged = |name: &str| report.checks.iter().find(|check| check.name == name).unwrap().judged;
    assert_eq!((judged("discovery"), judged("scope")), (6, 6));
    // Six pages by depth, one run by pages, five pages by host.
    assert_eq!(judged("limits"), 12);
    // As many as the limits allow.
    let mut output = Output::with_ways();
    output.started_with(|new| {
        new.limits.max_depth = Some(1);
        new.limits.max_redirects = 1;
        new.limits.max_pages = Some(5);
        new.limits.max_pages_per_host = Some(5);
        new.fetch.timeout = Duration::from_secs(2);
        new.limits.max_time = Some(Duration::from_secs(16));
        new.limits.max_bytes = Some(70);
    });
    assert_eq!(broken(&output.judge()), [""; 0]);
}

#[test]
fn where_a_seed_redirects_to_may_be_fetched_and_its_site_only_where_seeds_are_followed() {
    let to_other = |of: &'static str, page: &str, follows: bool| {
        let mut output = Output::with_ways();
        output.add(&format!("{OTHER}{page}"));
        if follows {
            output.started_with(|new| new.scope.follow_moved_seeds = true);
        }
        output.rewrite_ledger(|entries| {
            let url = format!("{SITE}{of}");
            let entry = entries
                .iter_mut()
                .find(|entry| entry.url == url && entry.decision == Decided::Fetched)
                .unwrap();
            entry.evidence.to = Some(format!("{OTHER}/"));
        });
        broken(&output.judge()).contains(&"scope")
    };
    assert!(!to_other("/", "/", false) && !to_other("/", "/", true), "the target of a seed's redirect");
    assert!(to_other("/b", "/", false) && to_other("/b", "/", true), "that of another page's");
    assert!(to_other("/", "/more", false) && !to_other("/", "/more", true), "another page of its site");
}

#[test]
fn a_page_of_a_source_that_was_visited_again_is_counted_and_not_broken() {
    let output = Output::with_ways();
    output.page("/", |record, links| {
        record.visits_before = 1;
        links.retain(|link| !link.to.ends_with("/b"));
    });
    let report = output.judge();
    let discovery = report.checks.iter().find(|check| check.name == "discovery").unwrap();
    assert_eq!(
        (discovery.violations, discovery.unchecked.clone()),
        (0, BTreeMap::from([("visited_again", 1)]))
    );
}

#[test]
fn each_run_is_judged_by_its_own_settings_and_those_before_it() {
    let seeds = [CrawlUrl::parse(&format!("{SITE}/")).unwrap()];
    // Depth 0 first, then 1; in which run the pages at depth 1 were fetched.
    let broken_by = |limits: [Option<u32>; 2], start_of_second: f64| {
        let mut output = Output::with_ways();
        let settings = limits.map(|most| {
            let mut settings = settings();
            settings.limits.max_depth = most;
            settings
        });
        output.rules.settings = settings[1].clone();
        let runs = settings.each_ref().map(|settings| crate::config::run_settings(settings, &seeds).unwrap());
        for (run, text) in &runs {
            output.put(Tree::Meta, run.key(), text.clone());
        }
        let record = Record { seeds: vec![seeds[0].to_string()], ..Record::default() };
        output.put(Tree::Meta, "settings", config::to_toml(&settings[0], &record).unwrap());
        output.rewrite_ledger(|entries| {
            entries[0].evidence.run = Some(Box::new(runs[0].0.clone()));
            let mut second =
                decision(at(start_of_second), "", "resumed", Layer::Stop, "run 2; delay 1 s".into());
            second.evidence.run = Some(Box::new(runs[1].0.clone()));
            let place = entries.iter().position(|entry| entry.at > second.at).unwrap();
            entries.insert(place, second);
        });
        let report = output.judge();
        let limits = report.checks.iter().find(|check| check.name == "limits").unwrap();
        limits.violations
    };
    assert_eq!(broken_by([Some(0), Some(1)], 5.0), 0, "all of them by the second run");
    assert_eq!(broken_by([Some(0), Some(1)], 8.0), 1, "one before the greater depth");
    assert_eq!(broken_by([Some(1), Some(0)], 5.0), 0, "queued by the first run");
    assert_eq!(broken_by([Some(0), None], 8.0), 1);
    assert_eq!(broken_by([None, Some(0)], 8.0), 0);
}
