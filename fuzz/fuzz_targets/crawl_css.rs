//! Any bytes are a style sheet: its addresses are URLs, each once.

#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use page::extract::{ExtractInput, ExtractLimits, style_sheet};

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let limits = ExtractLimits { links: 50, ..ExtractLimits::default() };
        let input = ExtractInput {
            body: data,
            content_type: Some("text/css"),
            url: &url::Url::parse("http://e.example/main.css").expect("a URL"),
            link_headers: &[],
            limits: &limits,
            want_text: false,
            want_styles: true,
        };
        let (links, _) = style_sheet(&input);
        assert!(links.len() <= limits.links);
        let mut seen = HashSet::new();
        assert!(links.iter().all(|link| seen.insert((
            link.kind.name(),
            link.target.as_ref().ok().map(ToString::to_string),
            link.target.as_ref().err().cloned()
        ))));
    });
});
