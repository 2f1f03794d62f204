use super::{CLASSIC, Site, SitePage, all};
use crate::demo::ROBOTS;
use std::collections::HashSet;

/// Table 9-4 of the book: the rules of each record, in order.
const TABLE_9_4: [(&str, &[&str]); 3] = [
    ("Suzy-Spider", &["Disallow: /dynamic", "Allow: /private/suzy-stuff", "Disallow: /private"]),
    ("Furniture-Finder", &["Allow: /dynamic/check-inventory", "Disallow: /dynamic", "Disallow: /private"]),
    ("*", &["Disallow: /dynamic", "Disallow: /private"]),
];

fn links(page: &SitePage) -> Vec<&str> {
    page.body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

/// Records of a robots.txt that is known to be well-formed: name and rules.
fn records(site: &Site) -> Vec<(&str, Vec<&str>)> {
    let records = site.robots_txt.split("\n\n").filter(|record| !record.starts_with('#'));
    let split = |record: &'static str| {
        let mut lines = record.lines();
        (lines.next().unwrap().strip_prefix("User-Agent: ").unwrap(), lines.collect())
    };
    records.map(split).collect()
}

#[test]
fn both_robots_txt_hold_the_records_of_table_9_4() {
    for site in all() {
        let mut records = records(&site);
        if site.name == "Joe's Hardware" {
            for (_, rules) in &mut records {
                assert_eq!(rules.pop(), Some("Disallow: /tmp"));
            }
        }
        let expected: Vec<_> = TABLE_9_4.iter().map(|(name, rules)| (*name, rules.to_vec())).collect();
        assert_eq!(records, expected, "{}", site.name);
    }
}

#[test]
fn both_sites_have_the_six_classic_urls_and_link_to_them_from_the_front_page() {
    for site in all() {
        let front = site.page("/").unwrap();
        for path in CLASSIC {
            assert_eq!(site.page(path).unwrap().status, 200, "{path}");
            assert!(links(front).contains(&path), "{path}");
        }
    }
}

#[test]
fn paths_are_unique_and_every_page_is_linked() {
    for site in all() {
        let paths: HashSet<_> = site.pages.iter().map(|page| page.path).collect();
        assert_eq!(paths.len(), site.pages.len());
        let mut found: HashSet<&str> = site.pages.iter().flat_map(links).collect();
        found.extend(
            site.pages
                .iter()
                .flat_map(|page| &page.headers)
                .filter(|(n, _)| *n == "Location")
                .map(|(_, to)| to),
        );
        for path in &paths {
            assert!(found.contains(path), "nothing leads to {path} of {}", site.name);
        }
        // The links that lead nowhere are the 404s; the others of other hosts lead to the other site.
        let dead: Vec<_> =
            found.iter().filter(|link| link.starts_with('/') && !paths.contains(*link)).collect();
        assert_eq!(dead.len(), 1, "{dead:?}");
        for link in found.iter().filter(|link| !link.starts_with('/')) {
            assert!(
                all().iter().any(|other| other.front_page() == **link && other.host != site.host),
                "{link}"
            );
        }
    }
}

#[test]
fn every_kind_of_directive_is_there_to_be_shown() {
    let sites = all();
    let pages: Vec<&SitePage> = sites.iter().flat_map(|site| &site.pages).collect();
    let says = |text: &str| pages.iter().filter(|page| page.body.contains(text)).count();
    for text in [
        "name=\"robots\" content=\"noindex\"",
        "name=\"robots\" content=\"nofollow\"",
        "name=\"robots\" content=\"noarchive\"",
        "name=\"robots\" content=\"none\"",
        "name=\"Nosy-Bot\" content=\"noindex, nofollow\"",
    ] {
        assert_eq!(says(text), 1, "{text}");
    }
    assert_eq!(says("rel=\"nofollow\""), 2, "both faces of one front page");
    let header =
        |value: &str| pages.iter().filter(|page| page.headers.contains(&("X-Robots-Tag", value))).count();
    for value in ["noindex", "noarchive", "Furniture-Finder: noarchive"] {
        assert_eq!(header(value), 1, "{value}");
    }
    assert_eq!(pages.iter().filter(|page| page.status == 301).count(), 1);
}

/// What the pages with directives ask of each robot: path, then index, archive and follow for
/// Suzy-Spider, Furniture-Finder and Nosy-Bot (section 4.4 of the directives' digest).
#[rustfmt::skip]
const ASKED: [(&str, [&str; 3]); 8] = [
    ("/friends.html",    ["ia-", "ia-", "ia-"]),
    ("/price-list.html", ["i-f", "i-f", "i-f"]),
    ("/staff-rota.html", ["-af", "-af", "-af"]),
    ("/chairs.html",     ["iaf", "iaf", "-a-"]),
    ("/ledger.txt",      ["i-f", "i-f", "i-f"]),
    ("/valuation.txt",   ["-af", "--f", "-af"]),
    ("/auction.html",    ["-a-", "-a-", "-a-"]),
    ("/lamps.html",      ["iaf", "iaf", "iaf"]),
];

#[test]
fn each_page_asks_of_each_robot_what_the_demo_tells() {
    let now = "2026-03-01T12:00:00Z".parse().unwrap();
    for (path, asked) in ASKED {
        let page = all().iter().find_map(|site| site.page(path).cloned()).unwrap();
        let headers: Vec<_> =
            page.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let metas: Vec<_> = page.body.split("<meta name=\"").skip(1).map(meta_tag).collect();
        for (robot, asked) in ROBOTS.into_iter().zip(asked) {
            let sources = meta::Sources { headers: &headers, metas: &metas };
            let agent = meta::Agent::new(robot);
            let found = meta::resolve(&sources, &agent, meta::Dialect::default(), now);
            let letter = |is_so, letter| if is_so { letter } else { '-' };
            let found: String =
                [letter(found.index, 'i'), letter(found.archive, 'a'), letter(found.follow, 'f')]
                    .iter()
                    .collect();
            assert_eq!(found, asked, "{path} for {robot}");
        }
    }
}

/// Reads `NAME" content="CONTENT"...`.
fn meta_tag(text: &str) -> meta::MetaTag {
    let mut parts = text.split('"');
    let (name, content) = (parts.next().map(str::to_owned), parts.nth(1).map(str::to_owned));
    meta::MetaTag { name, content, ..meta::MetaTag::default() }
}

/// Table 9-4: may Suzy-Spider, Furniture-Finder, Nosy-Bot fetch it, for each of the six URLs.
const MAY_FETCH: [[bool; 3]; 6] = [
    [true, true, true],
    [true, true, true],
    [false, false, false],
    [true, false, false],
    [false, false, false],
    [false, true, false],
];

#[test]
fn table_9_4_is_what_the_robots_crate_reads_from_both_files() {
    for site in all() {
        for (path, may_fetch) in CLASSIC.into_iter().zip(MAY_FETCH) {
            for (robot, may_fetch) in ROBOTS.into_iter().zip(may_fetch) {
                let agent = robots::Agent::new(robot);
                let options = robots::Options::default();
                let file = robots::Robots::parse(site.robots_txt.as_bytes(), &agent, &options, None);
                let verdict = file.verdict(path);
                assert_eq!(verdict.allowed, may_fetch, "{robot} at {}{path}: {verdict:?}", site.host);
                if let Some(line) = verdict.line {
                    let line = site.robots_txt.lines().nth(line as usize - 1);
                    assert_eq!(line, verdict.rule.as_deref(), "{robot} at {}{path}", site.host);
                }
            }
        }
    }
}
