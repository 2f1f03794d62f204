//! Any bytes are a sitemap, gzip or not: URLs are within the limits, and a document that is cut names no more than the whole.

#![no_main]

use libfuzzer_sys::fuzz_target;
use page::sitemap::{SitemapLimits, read};

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| {
        let base = url::Url::parse("http://e.example/sitemap.xml").expect("a URL");
        let limits = SitemapLimits { bytes: 100_000, urls: 20, value_bytes: 60, ..SitemapLimits::default() };
        let whole = read(data, false, &base, &limits);
        assert!(whole.urls.len() <= limits.urls);
        assert!(whole.urls.iter().all(|url| (0.0..=1.0).contains(&url.priority)));
        let cut = read(&data[..data.len() / 2], true, &base, &limits);
        assert!(cut.urls.len() <= limits.urls);
    });
});
