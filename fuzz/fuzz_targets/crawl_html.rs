//! Any bytes are an HTML page.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fuzz::in_small_stack(|| fuzz::read_page("text/html", data));
});
