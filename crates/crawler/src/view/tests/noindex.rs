//! Links of pages under noindex: omitted unless requested, and bare then, whatever is stored.

use serde_json::json;

use super::*;

/// A page with a link that tells of its content, should it be shown.
fn linked(crawl: &mut Crawl, record: PageRecord) {
    let link = LinkRecord {
        rel: "secret".to_owned(),
        text: "secret".into(),
        hreflang: Some("secret".to_owned()),
        ..link("http://a.test/x", LinkOutcome::Queued)
    };
    crawl.store_page(record, vec![link]);
}

fn noindex(url: &str) -> PageRecord {
    PageRecord { indexed: false, directives: vec![directive("noindex")], ..page(url, Some(200)) }
}

#[test]
fn links_of_a_page_under_noindex_are_omitted_counted_and_bare_on_request() {
    let free = || page("http://a.test/free", Some(200));
    let before = Timestamp::UNIX_EPOCH;
    for (name, record) in [
        ("noindex", noindex("http://a.test/closed")),
        ("no word", PageRecord { withheld: true, ..page("http://a.test/closed", Some(200)) }),
        ("redirect", PageRecord { withheld: true, ..page("http://a.test/closed", Some(302)) }),
        ("over", PageRecord { unavailable_after: Some(before), ..page("http://a.test/closed", Some(200)) }),
    ] {
        let mut crawl = Crawl::new();
        linked(&mut crawl, free());
        linked(&mut crawl, record);
        let view = crawl.view();
        for form in [TableFormat::Jsonl, TableFormat::Csv, TableFormat::Tabs, TableFormat::Aligned(200)] {
            let mut out = Vec::new();
            let written = write_table(&view, Table::Links, form, &mut out).unwrap();
            assert_eq!((written.rows, written.omitted), (1, 1), "{name}");
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains("http://a.test/free") && !text.contains("/closed"), "{name}: {text}");
        }
        let view = view.with_noindex(true);
        let mut out = Vec::new();
        let written = write_table(&view, Table::Links, TableFormat::Jsonl, &mut out).unwrap();
        assert_eq!((written.rows, written.omitted), (2, 0), "{name}");
        let links = jsonl(&view, Table::Links);
        let closed = links.iter().find(|link| link["from"] == "http://a.test/closed").unwrap();
        let expected = json!({
            "v": 1, "from": "http://a.test/closed", "to": "http://a.test/x", "rel": "", "text": "", "nofollow": false,
            "outcome": "queued", "kind": "a", "position": null, "hreflang": null, "from_noindex": true,
        });
        assert_eq!(closed, &expected, "{name}");
        let free = links.iter().find(|link| link["from"] == "http://a.test/free").unwrap();
        assert_eq!((&free["from_noindex"], &free["text"]), (&json!(false), &json!("secret")), "{name}");
    }
}

#[test]
fn links_of_a_page_under_noindex_and_nofollow_are_never_shown() {
    let mut crawl = Crawl::new();
    linked(&mut crawl, PageRecord { followed: false, ..noindex("http://a.test/") });
    assert!(jsonl(&crawl.view().with_noindex(true), Table::Links).is_empty());
}

#[test]
fn links_of_a_page_whose_record_is_lost_are_never_shown() {
    let mut crawl = Crawl::new();
    linked(&mut crawl, page("http://a.test/", Some(200)));
    crawl.commit();
    let (key, _) = crawl.store.scan(Tree::Pages, &[]).next().unwrap().unwrap();
    crawl.store.commit(vec![Write::remove(Tree::Pages, key)]).unwrap();
    let mut out = Vec::new();
    let view = crawl.view().with_noindex(true);
    let error = write_table(&view, Table::Links, TableFormat::Jsonl, &mut out).unwrap_err();
    assert!(out.is_empty() && error.to_string().contains("`pages`"), "{error}");
}

#[test]
fn neither_a_story_nor_a_stored_visit_nor_an_owners_report_tells_more() {
    let over =
        |url: &str| PageRecord { unavailable_after: Some(Timestamp::UNIX_EPOCH), ..page(url, Some(200)) };
    let mut crawl = Crawl::new();
    linked(&mut crawl, over("http://a.test/closed"));
    let via = Some(crawl.via("http://a.test/closed"));
    crawl.store_page(PageRecord { via, ..page("http://a.test/x", Some(404)) }, Vec::new());
    let view = crawl.view();
    let story = view.explain(&url("http://a.test/x")).unwrap();
    let step = story.found.last().unwrap();
    assert_eq!((step.by.as_str(), &step.text, &step.rel, step.outcome), ("a", &None, &None, Some("queued")));
    let visit = view.visit(&url("http://a.test/closed")).unwrap().unwrap();
    assert_eq!((visit.links[0].text.as_str(), visit.links[0].rel.as_str()), ("", ""));
    let report = view.owner_report("a.test").unwrap().unwrap();
    assert_eq!((report.broken.len(), report.broken[0].linked_from_count), (1, 0));
    assert!(report.broken[0].linked_from.is_empty());
}

#[test]
fn links_that_are_counted_and_not_listed_count_as_not_followed() {
    let mut crawl = Crawl::new();
    let record = PageRecord { followed: false, links_out: 7, ..noindex("http://a.test/") };
    crawl.store_page(record, Vec::new());
    let visit = crawl.view().visit(&url("http://a.test/")).unwrap().unwrap();
    assert_eq!(visit.outcomes(), [("nofollow_page", 7)]);
}
