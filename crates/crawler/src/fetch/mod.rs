//! The network seam: one request, one response, exactly one hop.
//!
//! The pipeline uses [`Fetch`]; [`HttpFetch`] is the network, tests use a simulated web.
//! A redirect is an ordinary [`Response`] here: its target goes back to the frontier, so that the robots.txt and the
//! pace of the target's own host apply (invariant I6).
//!
//! Nothing in this module waits for politeness, and nothing in it trusts a server: header section, body as sent, body
//! as decoded and the time of a try are bounded separately (see [`FetchSettings`]), and a connection is only made to
//! an address that the guard lets through.

mod body_budget;
mod broken_http_2;
mod clients;
mod connections;
mod connector;
mod deadline;
mod decode;
mod dial;
mod error;
mod failure;
mod field_lines;
mod guard;
mod head;
mod http;
mod names;
mod own;
mod recorded;
mod request;
mod resolve_rule;
mod resolver;
mod response;
mod settings;
mod spool;
mod spooling;
mod trust;

use std::future::Future;
use std::net::IpAddr;

pub use body_budget::BodyPermit;
pub use decode::decode_body;
pub use error::{FetchError, SetupError};
pub(crate) use field_lines::{LineFault, field_lines_of, line_faults};
pub use guard::BlockedAddress;
pub use http::HttpFetch;
pub use names::DnsAnswer;
pub use own::OwnSeeds;
pub use recorded::{SentHeads, TlsUsed};
pub use request::{FetchRequest, RequestKind};
pub(crate) use resolve_rule::read_file as read_resolve_file;
pub use resolve_rule::{ResolveError, ResolveRule};
pub use response::{FieldLines, Response, Truncation};
pub(crate) use response::{is_whole_range, retry_after};
pub use settings::FetchSettings;
pub use spool::{Spool, SpooledBody};
#[cfg(feature = "object-storage")]
pub(crate) use trust::tls_of_http_1;

pub use crate::address::{AddressClass, Booked, machine};
pub use crate::error_kind::ErrorKind;

/// What one request came to.
///
/// Every response with a status line is `Ok`, 4xx, 5xx and an over-size body included; `Err` means that there is no
/// response that could be used.
pub type FetchResult = Result<Response, FetchError>;

impl<F: Fetch> Fetch for std::sync::Arc<F> {
    fn fetch(&self, request: FetchRequest) -> impl Future<Output = FetchResult> + Send {
        (**self).fetch(request)
    }

    fn addresses(&self, request: &FetchRequest) -> impl Future<Output = Vec<IpAddr>> + Send {
        (**self).addresses(request)
    }

    fn take_dns_answers(&self) -> Vec<DnsAnswer> {
        (**self).take_dns_answers()
    }
}

/// Makes one request over the network, or over something that behaves like it.
pub trait Fetch: Send + Sync + 'static {
    /// Sends `request` and reads the response to its end, to a limit, or to the deadline, whichever comes first.
    ///
    /// Never follows a redirect, and never keeps anything from one call for the next that a server could see (no
    /// cookies).
    fn fetch(&self, request: FetchRequest) -> impl Future<Output = FetchResult> + Send;

    /// Returns where a request would go: the addresses that its host has and that are open, in the order in which they are to be
    /// tried. None where that isn't known, or where the request would fail for it.
    fn addresses(&self, _request: &FetchRequest) -> impl Future<Output = Vec<IpAddr>> + Send {
        std::future::ready(Vec::new())
    }

    /// Takes what name servers answered since the last call, in the order of the answers. None where nothing of it is to be archived.
    fn take_dns_answers(&self) -> Vec<DnsAnswer> {
        Vec::new()
    }
}
