//! Whole crawls on the simulated web.

mod crash;
mod crawl;
mod gates;
mod hour;
mod plain_robot;
mod politeness;
mod tools;
