//! The command `crawl`.
fn main() {}
