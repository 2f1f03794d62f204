//! Content that a site's directives forbid, added to the records: each leak is reported.

use meta::consent::{Claim, Consent, Signal, Statement};

use super::*;
use crate::record::EffectsTaken;
use page::extract::Position;

fn said(word: &str) -> meta::DirectiveSource {
    let source = meta::Source::new(meta::SourceKind::Meta, 0, "robots", word);
    meta::DirectiveSource { directive: word.to_owned(), source }
}

/// The second page under these directives, as the crawl would have stored it, with two links.
fn closed(words: &[&str]) -> Records {
    let mut records = Records::kept();
    let followed = !words.contains(&"nofollow");
    let (page, links, body) = &mut records.pages[1];
    page.directives = words.iter().map(|word| said(word)).collect();
    (page.title, page.indexed, page.archived, page.withheld) = (None, false, false, true);
    (page.followed, page.links_out) = (followed, 2);
    *body = None;
    if followed {
        links.extend([bare("/", LinkOutcome::Seen), bare("/denied", LinkOutcome::Seen)]);
    }
    let url = page.url.clone();
    let visit = records.decisions.iter_mut().find(|entry| entry.url == url).unwrap();
    visit.evidence.effects = Some(EffectsTaken { indexed: false, archived: false, followed });
    if !followed {
        let counted = decision(at(6.1), &url, "not_listed", Layer::Directive, "2 links".into());
        records.decisions.push(counted);
    }
    records
}

fn noindex() -> Records {
    closed(&["noindex"])
}

fn none() -> Records {
    closed(&["nofollow", "noindex"])
}

fn bare(to: &str, outcome: LinkOutcome) -> LinkRecord {
    LinkRecord { text: "".into(), ..link(to, outcome) }
}

/// An entry of the ledger about a link of the second page.
fn skipped(layer: Layer) -> Decision {
    let url = "http://else.test/";
    let via = Some(format!("{SITE}/b"));
    Decision { via, ..decision(at(6.2), url, "skipped", layer, Evidence::default()) }
}

#[test]
fn pages_that_were_closed_as_promised_pass() {
    for (name, records) in [("noindex", noindex()), ("none", none())] {
        let report = records.judge();
        assert_eq!(broken(&report), [""; 0], "{name}: {report:#?}");
        let judged = report.checks.iter().find(|check| check.name == name).unwrap().judged;
        assert!(judged > 0, "{name} was judged");
    }
    // What was found before the page was closed, and skipped later for another reason, is no longer one of its links.
    let mut records = none();
    records.decisions.push(skipped(Layer::Robots));
    records.decisions.push(skipped(Layer::Trap));
    assert_eq!(broken(&records.judge()), [""; 0]);
    // Nor is what the ledger listed while the author let it.
    let mut records = none();
    records.decisions.insert(3, skipped(Layer::Scope));
    assert_eq!(broken(&records.judge()), [""; 0]);
}

/// One leak: a crawl that kept its promises, what is changed in its records, the checks that tell it, and words of theirs.
type Leak = (&'static str, fn() -> Records, fn(&mut Records), &'static [&'static str], &'static str);

const OF_CONTENT: &[&str] = &["noindex"];
const OF_BODY: &[&str] = &["noindex", "noarchive", "archive"];
const OF_ARCHIVE: &[&str] = &["archived_words"];
const OF_NONE: &[&str] = &["none"];

/// Every class of leak: a new one is a row.
const LEAKS: &[Leak] = &[
    // A field of a page under noindex.
    ("title", noindex, |r| r.page().title = Some(text()), OF_CONTENT, "title"),
    ("description", noindex, |r| r.page().description = Some(text()), OF_CONTENT, "description"),
    ("keywords", noindex, |r| r.page().keywords = Some(vec!["secret".to_owned()]), OF_CONTENT, "keywords"),
    ("language", noindex, |r| r.page().language = Some(text()), OF_CONTENT, "language"),
    ("canonical", noindex, |r| r.page().canonical = Some(text()), OF_CONTENT, "canonical"),
    ("simhash", noindex, |r| r.page().simhash = Some(1), OF_CONTENT, "simhash"),
    ("duplicate", noindex, |r| r.page().duplicate_of = Some(text()), OF_CONTENT, "duplicate_of"),
    ("digest", noindex, |r| r.page().digest = Some(text()), OF_CONTENT, "digest"),
    (
        "field",
        noindex,
        |r| drop(r.page().fields.insert("price".to_owned(), Vec::new())),
        OF_CONTENT,
        "fields",
    ),
    ("og:title", noindex, |r| r.page().about.og_title = Some(text()), OF_CONTENT, "og_title"),
    (
        "og:description",
        noindex,
        |r| r.page().about.og_description = Some(text()),
        OF_CONTENT,
        "og_description",
    ),
    ("twitter:title", noindex, |r| r.page().about.twitter_title = Some(text()), OF_CONTENT, "twitter_title"),
    ("json-ld", noindex, |r| r.page().about.json_ld = vec!["{}".to_owned()], OF_CONTENT, "json_ld"),
    ("meta url", noindex, |r| r.page().about.meta_url = Some(text()), OF_CONTENT, "meta_url"),
    ("base", noindex, |r| r.page().about.base = Some(text()), OF_CONTENT, "base"),
    ("indexed", noindex, |r| r.page().indexed = true, OF_CONTENT, "indexed"),
    (
        "etag",
        noindex,
        |r| drop(r.page().validators.insert("etag".to_owned(), "\"secret\"".to_owned())),
        OF_CONTENT,
        "etag",
    ),
    (
        "link header",
        noindex,
        |r| r.page().headers.push(("link".to_owned(), "</x>; rel=next".to_owned())),
        OF_CONTENT,
        "header lines",
    ),
    (
        "content type",
        noindex,
        |r| r.page().content_type = Some("text/html; name=secret".to_owned()),
        OF_CONTENT,
        "content type",
    ),
    ("title by header", Records::kept, |r| r.say_in_header("noindex"), OF_BODY, "title"),
    ("title by tag", Records::kept, |r| r.page().directives.push(said("noindex")), OF_BODY, "title"),
    (
        "title of a page that every purpose is denied for",
        Records::kept,
        |r| r.page().consent = vec![denied(Purpose::Search), denied(Purpose::Archive)],
        OF_BODY,
        "title",
    ),
    (
        "title of a withheld page without a word",
        Records::kept,
        |r| r.page().withheld = true,
        OF_BODY,
        "title",
    ),
    // Its links.
    ("anchor text", noindex, |r| r.link().text = text().into(), OF_CONTENT, "anchor texts"),
    ("rel", noindex, |r| r.link().rel = "canonical".to_owned(), OF_CONTENT, "rel of links"),
    ("hreflang", noindex, |r| r.link().hreflang = Some(text()), OF_CONTENT, "hreflang of links"),
    ("position", noindex, |r| r.link().position = Some(Position::Nav), OF_CONTENT, "positions of links"),
    // A page under noindex and nofollow.
    (
        "row",
        none,
        |r| r.pages[1].1.push(bare("/x", LinkOutcome::PageNofollow)),
        &["none", "accounts"],
        "1 of its",
    ),
    ("ledger, scope", none, |r| r.decisions.push(skipped(Layer::Scope)), OF_NONE, "http://else.test/"),
    ("ledger, nofollow", none, |r| r.decisions.push(skipped(Layer::Directive)), OF_NONE, "http://else.test/"),
    ("ledger, limit", none, |r| r.decisions.push(skipped(Layer::Limit)), OF_NONE, "http://else.test/"),
    ("number", none, |r| drop(r.decisions.pop()), OF_NONE, "the number of its links"),
    // Links that may not be followed.
    ("nofollow", Records::kept, |r| r.pages[0].0.directives.push(said("nofollow")), &["nofollow"], "/b was"),
    (
        "rel nofollow",
        Records::kept,
        |r| r.pages[0].1[0].rel = "a NoFollow".to_owned(),
        &["nofollow", "archived_links"],
        "/b was",
    ),
    ("nofollow alone", noindex, |r| r.link().nofollow = true, &["nofollow"], "was queued"),
    (
        "found by a link that may not be followed",
        Records::kept,
        |r| (r.pages[0].1[0].outcome, r.pages[0].1[0].nofollow) = (LinkOutcome::RelNofollow, true),
        &["discovery"],
        "forbids following it",
    ),
    // The archive.
    (
        "body under noarchive",
        Records::kept,
        |r| r.page().directives.push(said("noarchive")),
        &["noarchive", "archive"],
        "its body is in the archive",
    ),
    (
        "body under a header's noarchive",
        Records::kept,
        |r| r.say_in_header("superrobot: noarchive"),
        &["noarchive", "archive"],
        "its body is in the archive",
    ),
    ("body that says noindex", Records::kept, |r| r.says("noindex"), OF_ARCHIVE, "meta robots: noindex"),
    ("body that says none", Records::kept, |r| r.says("none"), OF_ARCHIVE, "meta robots: none"),
    (
        "body that says noarchive",
        Records::kept,
        |r| r.says("noarchive"),
        OF_ARCHIVE,
        "meta robots: noarchive",
    ),
    (
        "body that is dynamic",
        Records::kept,
        |r| r.pages[1].2 = Some("<meta name=document-state content=dynamic>".to_owned()),
        OF_ARCHIVE,
        "document-state",
    ),
    (
        "body of a page that isn't archived",
        Records::kept,
        |r| r.page().archived = false,
        &["archive"],
        "isn't archived",
    ),
    (
        "body that no page names",
        Records::kept,
        |r| r.forgotten.push(format!("{SITE}/b")),
        &["archive", "seals", "accounts"],
        "no page record refers to it",
    ),
];

fn text() -> String {
    "secret".to_owned()
}

fn denied(purpose: Purpose) -> Statement {
    Statement {
        signal: Signal::ContentSignal,
        claim: Claim::Purpose(purpose, Consent::Deny),
        source: meta::Source::new(meta::SourceKind::Header, 0, "content-signal", "search=no"),
        at: at(6.0).wall,
    }
}

impl Records {
    /// The second page.
    fn page(&mut self) -> &mut PageRecord {
        &mut self.pages[1].0
    }

    /// Its first link.
    fn link(&mut self) -> &mut LinkRecord {
        &mut self.pages[1].1[0]
    }

    fn say_in_header(&mut self, value: &str) {
        self.page().headers.push(("x-robots-tag".to_owned(), value.to_owned()));
    }

    /// Its body says so, and its record doesn't.
    fn says(&mut self, word: &str) {
        self.pages[1].2 = Some(format!("<meta name=robots content={word}>"));
    }
}

#[test]
fn each_leak_is_reported_by_its_check() {
    for (name, crawl, tamper, expected, words) in LEAKS {
        let mut records = crawl();
        tamper(&mut records);
        let report = records.judge();
        assert_eq!(broken(&report), *expected, "{name}: {report:#?}");
        let is_reported =
            report.checks.iter().flat_map(|check| &check.first).any(|found| found.what.contains(words));
        assert!(is_reported, "{name}: {words:?} isn't reported: {report:#?}");
    }
}
