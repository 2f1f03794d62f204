//! Tools of the whole-program tests: a simulated web, an oracle that judges politeness, an HTTP server on loopback, and a
//! harness that runs the binary as a user does.

pub mod failing_io;
pub mod hostile;
pub mod memory;
pub mod name_server;
pub mod oracle;
pub mod output_dir;
pub mod program;
pub mod random;
pub mod request_log;
pub mod rules;
pub mod simweb;
pub mod site;
pub mod stored_crawl;
pub mod warc_grammar;
