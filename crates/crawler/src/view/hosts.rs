//! Table `hosts`: the requests to each host, and the delay between them.

use std::collections::BTreeMap;

use super::groups::GroupNames;
use super::moment::Moment;
use super::open::{View, ViewError};
use super::row::row;
use crate::frontier::{HostRecord, stored_hosts};
use crate::record::{HostKinds, OriginTerms, kinds_of_hosts, terms_of_hosts};

row! {
    /// A host.
    HostRow {
        /// Name or address.
        host: String,
        /// Requests sent, robots.txt included.
        requests: u64,
        /// Responses with status 2xx except 206.
        pages: u64,
        /// Bytes of bodies received, as transferred.
        bytes: u64 [unit = "bytes"],
        /// The delay between the end of a response and the next request, in seconds.
        delay: f64 [unit = "s"],
        /// What sets it: `configured crawl-delay request-rate adaptive back-off` ...
        delay_reason: &'static str [names],
        /// The result of the last request for robots.txt.
        robots_status: Option<String> [null = "it was never requested", names],
        /// The earliest time of the next request.
        next_at: Moment,
        /// Visits that failed, including 4xx and 5xx.
        errors: u64,
        /// URLs in the queue.
        queued: u64,
        /// URLs that robots.txt denied.
        skipped: u64,
        /// Why the host was skipped for the rest of the run.
        parked: Option<String> [null = "it isn't", names],
        /// The slowest response, in milliseconds.
        slowest_ms: u64 [unit = "ms"],
        /// Why `next_at` isn't earlier.
        wait_reason: &'static str [names],
        /// Requests for robots.txt, included in `requests`.
        robots_requests: u64,
        /// Licences that the `License` lines of its robots.txt name, of all its origins; a record of what the site says, no
        /// permission ([directives.md](directives.md#licences-and-prices)).
        license: Vec<String>,
        /// The last price that a response of robots.txt or a page named (`crawler-price`).
        payment: Option<String> [null = "none did", names],
        /// The group of hosts with which it shares one slot and one delay: a list's name, a registrable domain or an address
        /// (`pace.groups`).
        group: Option<String> [null = "it is by itself, or wasn't requested yet", names],
        /// The kinds of site that its pages show, with the part of the host where that isn't the whole: `mediawiki`, `wordpress at /blog/`
        /// ([politeness.md](politeness.md#costly-urls)).
        kinds: Vec<String>,
    }
}

impl View {
    /// The rows of table `hosts`, in the order in which the hosts were found.
    pub fn hosts(&self) -> impl Iterator<Item = Result<HostRow, ViewError>> + '_ {
        let (mut terms, error) = match terms_of_hosts(self.store()) {
            Ok(terms) => (terms, None),
            Err(error) => (BTreeMap::new(), Some(Err(error.into()))),
        };
        let (mut kinds, unread) = match kinds_of_hosts(self.store()) {
            Ok(kinds) => (kinds, None),
            Err(error) => (BTreeMap::new(), Some(Err(error.into()))),
        };
        let (groups, unknown) = match self.group_names() {
            Ok(groups) => (groups, None),
            Err(error) => (GroupNames::default(), Some(Err(error))),
        };
        let rows = self.host_records().map(move |record| {
            record.map(|record| {
                let terms = terms.remove(&record.host).unwrap_or_default();
                let kinds = kinds.remove(&record.host).unwrap_or_default();
                let group = groups.of(&record.host).map(|group| group.to_string());
                host_row(record, terms, &kinds, group)
            })
        });
        error.into_iter().chain(unread).chain(unknown).chain(rows)
    }

    pub(super) fn host_records(&self) -> impl Iterator<Item = Result<HostRecord, ViewError>> + '_ {
        let (hosts, error) = match stored_hosts(self.store()) {
            Ok(hosts) => (Some(hosts), None),
            Err(error) => (None, Some(Err(error.into()))),
        };
        let records = hosts.into_iter().flatten().map(|host| Ok(host?.1));
        records.chain(error)
    }
}

fn host_row(record: HostRecord, terms: OriginTerms, kinds: &HostKinds, group: Option<String>) -> HostRow {
    HostRow {
        queued: record.queued(),
        requests: record.counts.requests,
        pages: record.counts.pages,
        bytes: record.counts.bytes,
        delay: seconds(record.delay_ms),
        delay_reason: record.delay_reason.as_str(),
        robots_status: record.robots_status,
        next_at: Moment(record.next_at),
        errors: record.counts.errors,
        skipped: record.counts.skipped,
        parked: record.parked,
        slowest_ms: record.counts.slowest_ms,
        wait_reason: record.wait_reason.as_str(),
        robots_requests: record.counts.robots_requests,
        host: record.host,
        license: terms.license,
        payment: terms.payment,
        group,
        kinds: kinds.words(),
    }
}

pub(super) fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}
