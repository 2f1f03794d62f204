//! What a response says, read without a network, a database or a file: URLs, links, text, directives, sitemaps; and the small
//! values that all crates share (times, units, ids, texts cleaned for people).

pub mod clean;
pub mod clock;
pub mod extract;
pub mod gunzip;
pub mod ids;
pub mod json_text;
pub mod public_suffix;
pub mod quantity;
pub mod shared_text;
pub mod sitemap;
pub mod units;
pub mod url;
