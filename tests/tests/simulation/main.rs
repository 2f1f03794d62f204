//! Whole crawls on the simulated web.

mod audit;
mod crash;
mod crawl;
mod hours;
mod faults;
mod plain_robot;
mod politeness;
mod tools;
