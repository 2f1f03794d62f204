//! The polite crawler: frontier, robots cache, pace, fetch, page directives, store. `docs/ARCHITECTURE.md` is the map.

pub mod address;
pub mod audit;
pub mod causes;
pub mod cdxj;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod commit;
pub mod config;
pub mod consent;
pub mod costly;
pub mod crawl_dir;
pub mod deadline;
pub mod demo;
pub(crate) mod encoded;
pub mod engine;
pub mod error_kind;
pub mod event;
pub mod fetch;
pub mod forgotten;
pub mod format;
pub mod frontier;
pub mod host_groups;
pub mod intents;
pub mod job;
pub mod ledger;
pub mod link_outcome;
pub mod live;
pub mod neighbours;
mod nofollow;
pub mod origin_cache;
pub mod output_file;
pub mod pace;
pub mod packed;
pub mod page_store;
mod parallel;
pub mod pauses;
pub mod plan;
pub mod portion;
pub mod post;
pub mod record;
pub mod removal;
pub mod repair;
#[cfg(feature = "report")]
pub mod report;
pub mod robots_cache;
pub mod robots_history;
pub mod scope;
#[cfg(feature = "search")]
pub mod search;
pub mod seeds;
#[cfg(feature = "serve")]
pub mod serve;
pub mod sorter;
pub mod store;
pub mod suspects;
pub mod tables;
pub mod trap;
pub mod view;
pub mod visit;
pub mod wacz;
pub mod wall;
pub mod wanted;
pub mod warc;
pub mod wishes;

#[cfg(test)]
mod documents_tests;
