//! robots.txt rules.
