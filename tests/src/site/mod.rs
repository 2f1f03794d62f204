//! Small sites from data, served over real HTTP/1.1 on loopback, with a request log.
//!
//! ```no_run
//! use whole_program::site::{Answer, Server, Sites};
//! let server = Server::start(Sites::new().page("joes.test", "/", Answer::html("<p>hello")));
//! let arguments = server.resolve();
//! ```

mod answer;
mod connection;
mod server;

pub use answer::{Answer, Sites};
pub use server::{Hit, Server};
