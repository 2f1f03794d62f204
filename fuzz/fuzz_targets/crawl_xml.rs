//! Any bytes are XML, a feed, or text of another type: the first byte says which.

#![no_main]

use libfuzzer_sys::fuzz_target;

const TYPES: [&str; 7] = [
    "application/xhtml+xml",
    "application/xml",
    "image/svg+xml",
    "application/rss+xml",
    "application/atom+xml",
    "text/plain",
    "",
];

fuzz_target!(|data: &[u8]| {
    let Some((first, body)) = data.split_first() else { return };
    let content_type = TYPES[usize::from(*first) % TYPES.len()];
    fuzz::in_small_stack(|| fuzz::read_page(content_type, body));
});
