//! The polite crawler.
pub mod clock;
pub mod frontier;
pub mod pace;
pub mod packed;
pub mod store;
pub mod url;

pub mod extract;

pub mod fetch;

pub mod warc;

pub mod config;
pub mod seeds;

pub mod demo;
