//! A crawl's directory in use by several processes at once.
//!
//! One process locks the directory and its database; it listens on a socket there (`.crawl.sock`) and answers the questions that
//! the others ask of the database. Where the directory can't be written, its database is copied ([`Copies`]). Each of them reads a [`Snapshot`](crate::store::Snapshot): the database after one commit.
//! [`DirStore`] hides which of the two a process is. A running crawl also takes [`Order`]s. Unix alone.

mod copy;
mod give;
mod message;
mod order;
mod server;
mod socket;
mod store;

pub use self::copy::{Copies, CopyError, CopyNotice};
pub use self::give::{give, is_locked};
pub use self::message::Holder;
pub use self::order::{Answer, Control, NoOrders, Order, Steered};
#[cfg(feature = "serve")]
pub(crate) use self::server::yield_to_the_crawl;
pub use self::server::{GRACE, IDLE, READERS, Server, Socket};
pub use self::socket::LiveError;
pub use self::store::{DirStore, OpenError};

#[cfg(test)]
mod tests;
