//! Any text is a `Link` header line, a content type, a `srcset`, a refresh and an address: the lines of the input are these in turn.

#![no_main]

use libfuzzer_sys::fuzz_target;
use page::extract::{ExtractInput, ExtractLimits, extract};
use page::url::CrawlUrl;

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let text = String::from_utf8_lossy(data);
        let mut lines = text.split('\n');
        let mut line = || lines.next().unwrap_or_default();
        let (content_type, link) = (line().to_owned(), line().to_owned());
        let quoted = line().replace('"', "&quot;");
        let body = format!(
            "<base href=\"{quoted}\"><img srcset=\"{quoted}\"><meta http-equiv=refresh content=\"{quoted}\"><a href=\"{quoted}\" rel=\"{quoted}\">x</a>"
        );
        let limits = ExtractLimits::default();
        let page = extract(&ExtractInput {
            body: body.as_bytes(),
            content_type: Some(&content_type),
            url: &url::Url::parse("http://e.example/d/").expect("a URL"),
            link_headers: &[link],
            limits: &limits,
            want_text: false,
            want_styles: false,
        });
        for found in page.links.iter().filter_map(|link| link.target.as_ref().ok()) {
            assert_eq!(CrawlUrl::parse(found.as_str()).as_ref(), Ok(found));
        }
        if let Ok(url) = CrawlUrl::parse(&text) {
            assert_eq!(CrawlUrl::parse(url.as_str()).as_ref(), Ok(&url));
        }
    });
});
