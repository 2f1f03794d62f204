//! What the targets share.

use std::thread;

/// Bytes of the stack that a parser gets: threads of the program have 2 MiB.
const STACK: usize = 256 * 1024;

/// Runs a parser in a thread with a small stack: input that decides how deep it calls itself ends the process soon.
pub fn in_small_stack(parser: impl FnOnce() + Send) {
    thread::scope(|scope| {
        let parsing = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, parser);
        parsing.expect("a thread can be started").join().expect("a panic has ended the process");
    });
}

/// Reads a response as a crawl with `--index` and `--resources` does, and checks the bounds of what is kept.
#[cfg(feature = "crawler")]
pub fn read_page(content_type: &str, body: &[u8]) {
    use page::extract::{Document, ExtractInput, ExtractLimits, JSON_LD_BLOCK, other_main_text, read};

    let limits =
        ExtractLimits { text_bytes: 1000, title_bytes: 40, metas: 20, links: 50, ..ExtractLimits::default() };
    let agent = meta::Agent::new("examplebot");
    let document = Document::of([("content-type", content_type.as_bytes())].into_iter(), body);
    let input = ExtractInput {
        body,
        content_type: document.content_type.as_deref(),
        url: &url::Url::parse("http://e.example/d/p.html").expect("a URL"),
        link_headers: &[],
        limits: &limits,
        want_text: true,
        want_styles: true,
    };
    let readings = read(&input, &document, &agent);
    if let Some((main, _)) = other_main_text(&input, &document) {
        assert!(main.text.len() <= limits.text_bytes);
    }
    let Some(page) = &readings.page else { return };
    assert!(page.links.len() <= limits.links && page.metas.len() <= limits.metas);
    assert!(page.title.as_ref().is_none_or(|title| title.len() <= limits.title_bytes));
    assert!(page.text.as_ref().is_none_or(|text| text.len() <= limits.text_bytes));
    let json = page.json_ld.iter().map(|json| json.len() + JSON_LD_BLOCK).sum::<usize>();
    assert!(json <= limits.json_ld_bytes);
    assert!(page.json_ld.iter().all(|json| serde_json::from_str::<serde::de::IgnoredAny>(json).is_ok()));
    for link in &page.links {
        if let Ok(target) = &link.target {
            assert_eq!(page::url::CrawlUrl::parse(target.as_str()).as_ref(), Ok(target));
        }
    }
    // What forbids is never taken back by what follows: other readings only restrict.
    let now = jiff::Timestamp::UNIX_EPOCH;
    let directives = readings.resolve(&[], &agent, meta::Dialect::Strict, now, true);
    assert!(directives.permits_no_more_than(&meta::Directives::default()));
}
