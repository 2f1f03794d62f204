//! Whole crawls on the simulated web.

mod accounts;
mod audit;
mod clocks;
mod crash;
mod crawl;
mod faults;
mod gates;
mod hand_over;
mod hours;
mod panics;
mod partitions;
mod plain_robot;
mod plan;
mod politeness;
mod rfc9309;
mod robots_change;
mod shortage;
mod spaces;
mod statements;
mod steps;
mod tools;
mod wishes;
