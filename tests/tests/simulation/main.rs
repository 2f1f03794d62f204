//! Whole crawls on the simulated web.

mod audit;
mod crash;
mod crawl;
mod faults;
mod gates;
mod hour;
mod hours;
mod plain_robot;
mod politeness;
mod tools;
