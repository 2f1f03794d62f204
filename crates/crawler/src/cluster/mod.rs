//! One crawl on many machines: its database is PostgreSQL, and each worker owns partitions of the hosts.
//!
//! [`Database`] is the connection of a worker to the database, [`PgStore`] the store of one partition that the worker owns, and [`Member`] the
//! worker's place among the others: it raises a count while the worker lives, claims partitions that have no owner, and
//! declares workers dead whose count no longer grows. Two things keep two workers from asking one host at a time. Each commit names
//! the *fence* of its partition, a number that changes with each change of its owner, and is refused where another one holds. And a
//! worker asks no host after its [`Deadline`], which ends before anybody else may declare it dead.
//!
//! A crawl may have several databases ([`add()`]): each holds partitions of its own, with their owners and fences, and a worker is a member in each.
//!
//! [`init()`] makes a crawl, [`work`] is a worker: an [`Engine`](crate::engine::Engine) for each partition that it owns. `docs/cluster.md` is the manual,
//! `docs/adr/cluster-database.md` says why PostgreSQL, and why this client.

mod add;
mod address;
mod addresses;
mod archive;
mod archive_place;
mod at_rest;
mod commit;
mod completion;
mod connection;
mod database;
mod export;
mod forget;
mod forgotten_files;
mod gather;
mod handover;
mod import;
mod init;
mod layout;
mod limits;
mod lost;
mod mail;
mod member;
mod migrate;
mod moved;
mod network;
#[cfg(not(feature = "object-storage"))]
#[path = "no_objects.rs"]
mod objects;
#[cfg(feature = "object-storage")]
mod objects;
mod observer;
mod part_commit;
mod partition;
mod pass_file;
mod rate;
mod reading;
mod recrawl;
mod rounds;
mod schema;
mod sent;
mod share;
mod silent;
mod snapshot;
mod state;
mod steer;
mod store;
mod transfer;
mod withdrawals;
mod worker;
mod written;

pub use self::add::{AddError, Added, add};
pub use self::address::ANSWER;
pub use self::address::{Address, AddressError};
pub use self::archive::ArchiveError;
pub use self::archive_place::{ArchivePlace, ArchivePlaceError, Bucket};
pub use self::at_rest::AtRestError;
pub use self::connection::Silence;
pub use self::database::Database;
pub use self::export::{Continued, ExportError, Joined, export, join};
pub use self::forget::{ForgetError, Forgot, forget};
pub use self::import::{ImportError, import};
pub use self::init::{InitError, NewCrawl, init};
pub use self::lost::{LostError, LostWorker, lose};
pub use self::member::{Member, Order};
pub use self::migrate::{MigrateError, Migrated, MigratedDatabase, migrate};
pub use self::network::Network;
pub use self::objects::ObjectsError;
#[cfg(feature = "object-storage")]
pub use self::objects::{DownloadError, Downloaded, download};
pub use self::reading::{Parts, ReadError, snapshot_views, view_of, views};
pub use self::recrawl::{RecrawlError, recrawl, retry_crashed};
pub use self::schema::{Plan, Terms};
pub use self::silent::Watch;
pub use self::state::{
    NewLimits, PartStatus, RequestsUnknown, ResumeError, Standby, State, Status, WithdrawalsDue,
    WorkerStatus, free_partitions, make_tables, resume, settings, status, stop,
};
pub use self::steer::{Ordered, SteerError, steer};
pub use self::store::PgStore;
pub use self::transfer::{TransferError, Transferred};
pub use self::worker::{Ended, Figures, WorkError, WorkerOptions, work};
pub use crate::deadline::Deadline;

use crate::causes::Cause;

/// A partition as its owner got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim {
    /// The partition's number, from 0.
    pub part: i32,
    /// The worker that owns it.
    pub owner: i64,
    /// The partition's fence since it does.
    pub fence: i64,
    /// The commits of the partition until then.
    pub commits: i64,
}

/// What went wrong with a cluster's database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// The first connection failed.
    #[error("the cluster's database ({address}) can't be reached")]
    Connect {
        /// Where it should be.
        address: String,
        /// Why.
        source: Cause,
    },
    /// A worker doesn't get all its connections.
    #[error(
        "{address} doesn't give this worker all connections that it needs (docs/cluster.md says how many), so it takes no part of the crawl: raise max_connections of the server, or the limits of the pooler"
    )]
    Connections {
        /// Where.
        address: String,
        /// Why.
        source: Cause,
    },
    /// The database has no crawl.
    #[error("there is no crawl in the database {address}")]
    Missing {
        /// Where.
        address: String,
    },
    /// The database has a crawl already.
    #[error("the database {address} holds a crawl already; take another database for a new one")]
    Exists {
        /// Where.
        address: String,
    },
    /// The database has no standby server that confirms commits.
    #[error(
        "the database {address} confirms commits without a standby server (synchronous_standby_names is empty): what was acknowledged is lost with its disk. Set up a synchronous standby, or add --single-server to accept that"
    )]
    NoStandby {
        /// Where.
        address: String,
    },
    /// The crawl's settings in the database can't be read.
    #[error("the crawl in the database {address} is damaged: {what} can't be read")]
    Damaged {
        /// Where.
        address: String,
        /// What of it.
        what: &'static str,
        /// Why, where its reader says so.
        source: Option<Cause>,
    },
    /// The crawl isn't whole.
    #[error(
        "the crawl isn't made yet, or its making was interrupted: then drop its database, and run `crawl cluster init` again"
    )]
    Making,
    /// The settings of the crawl.
    #[error("the crawl's settings in the database can't be read")]
    Settings(#[source] toml::de::Error),
    /// It is a further database of a crawl.
    #[error(
        "{address} is a further database of a crawl: give the one that `crawl cluster init` or `crawl cluster import` made the crawl in"
    )]
    Further {
        /// Where.
        address: String,
    },
    /// A further database has another crawl.
    #[error("{address} isn't the database that was added to the crawl in {first}")]
    OtherCrawl {
        /// Where.
        address: String,
        /// The crawl's first database.
        first: String,
    },
    /// The URL of a further database.
    #[error("the URL of a further database, stored in {address}, can't be used")]
    FurtherAddress {
        /// Where it is stored.
        address: String,
        /// Why.
        source: Cause,
    },
    /// What was written may not outlast the database's disk.
    #[error("the standby server of {address} didn't confirm what was written there")]
    NotConfirmed {
        /// Where.
        address: String,
    },
    /// The crawl isn't any more what it was when this worker began to join it.
    #[error(
        "the crawl in {address} was stopped, or got another database, while this worker was being started"
    )]
    Changed {
        /// The crawl's first database.
        address: String,
    },
    /// A database is being added.
    #[error(
        "a database is being added to the crawl in {address}; where that was interrupted, run the same `crawl cluster add` again"
    )]
    Adding {
        /// The crawl's first database.
        address: String,
    },
    /// The tables are those of another version.
    #[error(
        "the tables of the database {address} have format {found}, and this version of crawl works with format {}; {next}",
        schema::FORMAT
    )]
    Format {
        /// Where.
        address: String,
        /// What was found.
        found: i32,
        /// What the user can do, as the end of the message.
        next: &'static str,
    },
    /// The database took longer than [`ANSWER`] to answer.
    #[error("the cluster's database ({address}) doesn't answer: it took more than {ANSWER:?} to {doing}. {}; then run this again. What was asked of the database may still be done", advice(*who))]
    Silent {
        /// What was tried.
        doing: &'static str,
        /// Where.
        address: String,
        /// The server, or its standby server.
        who: Silence,
    },
    /// The server refused or failed.
    #[error("the cluster's database ({address}) failed to {doing}")]
    Server {
        /// What was tried.
        doing: &'static str,
        /// Where.
        address: String,
        /// Why.
        source: Cause,
    },
    /// The system has no clock that a lease can be counted on.
    #[error("this system doesn't say how long it has been running (CLOCK_BOOTTIME): a worker needs Linux")]
    NoClock,
    /// The thread of the connections can't be started.
    #[error("no thread can be started for the connections to the database")]
    Thread(#[source] std::io::Error),
}

/// The name of this machine; `this machine` where the system doesn't say.
pub fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "this machine".to_owned() } else { name.trim().to_owned() }
}

/// What helps against a silent database.
fn advice(who: Silence) -> &'static str {
    match who {
        Silence::Server => "Its server hangs, or the network to it: see to that",
        Silence::Standby => {
            "Its synchronous standby confirms nothing: bring that back, or take it out of synchronous_standby_names"
        }
    }
}

impl ClusterError {
    fn connect(address: &Address, error: connection::Error) -> Self {
        let address = address.to_string();
        match error {
            connection::Error::Silent(who) => Self::Silent { doing: "open a connection", address, who },
            error @ connection::Error::Postgres(_) => Self::Connect { address, source: error.into() },
        }
    }

    /// For a connection of a worker that isn't opened.
    fn connections(address: &Address) -> impl Fn(Cause) -> Self + use<> {
        let address = address.to_string();
        move |source| Self::Connections { address: address.clone(), source }
    }

    fn server(doing: &'static str, address: &Address, error: impl Into<Cause>) -> Self {
        let (address, source) = (address.to_string(), error.into());
        match source.downcast_ref() {
            Some(connection::Error::Silent(who)) => Self::Silent { doing, address, who: *who },
            _ => Self::Server { doing, address, source },
        }
    }

    fn format(found: i32, address: &Address) -> Self {
        let next = if found > schema::FORMAT {
            "a newer version of crawl made it: use that one"
        } else if found < schema::OLDEST {
            "no version of crawl works with that any more: make the crawl again in an empty database"
        } else {
            "once no worker runs, `crawl cluster migrate DATABASE` brings them to it (DATABASE is the crawl's first one)"
        };
        Self::Format { address: address.to_string(), found, next }
    }

    fn damaged(what: &'static str, address: &Address) -> Self {
        Self::Damaged { address: address.to_string(), what, source: None }
    }

    /// As [`Self::damaged`], for what a reader of it says.
    fn damaged_by<E: Into<Cause>>(what: &'static str, address: &Address) -> impl Fn(E) -> Self {
        let address = address.to_string();
        move |error| Self::Damaged { address: address.clone(), what, source: Some(error.into()) }
    }
}
