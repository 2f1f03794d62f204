//! Visits that ended without an outcome: panicked or interrupted; and the records of failures.

use std::collections::HashMap;

use meta::Effects;

use super::Engine;
use super::settlement::failure_record;
use crate::commit::{CommitError, failure_metadata};
use crate::fetch::{ErrorKind, Fetch, FetchError};
use crate::frontier::{Lease, RobotsFetch, Settlement, Work};
use crate::post::HopAnswer;
use crate::record::{
    Decided, Evidence, Layer, PageRecord, PlainReason, RobotsEvidence, SitemapRecord, SitemapState, link_key,
};
use crate::robots_cache::RobotsStep;
use crate::store::{Store, Tree};
use crate::visit::{Growth, Visited};
use crate::warc::Encoded;

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Stores the record of a failed visit. What an earlier visit brought stays, as the failure may pass: then only the archive says
    /// that it failed.
    pub(super) fn store_failure(&mut self, lease: &Lease, record: PageRecord) {
        let fingerprint = lease.url.fingerprint(&self.key);
        if self.context.revisiting.is_on() && self.records().stored(lease.host, fingerprint).is_some() {
            if let Some(discovery) = self.discovery(lease, None) {
                let failure = Encoded::of_metadata(&failure_metadata(&record, &discovery));
                self.touch(failure.bytes.len());
                self.group.batch.archive.push((record.url, failure));
            }
            return;
        }
        let visited = Visited {
            page: fingerprint,
            effects: Effects::default(),
            verdict: None,
            denials: None,
            record,
            links: Vec::new(),
            warc: None,
            text: None,
            status: None,
            keeps_links: false,
            withdrawn: Vec::new(),
            mark: None,
            kinds: Vec::new(),
            encoded: None,
            growth: Growth::default(),
        };
        self.store_page(lease, fingerprint, visited, Vec::new());
    }

    /// A visit panicked: the URL is entered as failed, the host goes on after its gap. Where it was for the robots.txt of another
    /// origin, that counts as unreachable: its pages wait for no more than the next attempt.
    pub(super) fn settle_panicked(&mut self, lease: &Lease) -> Result<(), CommitError> {
        let now = self.clock.now();
        self.gates.passed(lease, None);
        self.gates.shortage.passed(lease, false);
        self.touch(64);
        let delay = self.frontier.gap(lease.host);
        let mut settlement = Settlement::finished(now.mono + delay.length, delay).after_request();
        let request = self.request_of_panicked(lease);
        settlement.host.counts.requests = u64::from(request.is_some());
        self.totals.requests += settlement.host.counts.requests;
        self.frontier.complete(lease, settlement);
        self.free_panicked(lease, now);
        let evidence = Evidence::from("the visit panicked").with_request(request);
        self.decided(lease, now, Decided::Failed, Layer::Fetch, PlainReason::Internal, evidence);
        let error = FetchError::new(ErrorKind::Parse, "the visit panicked; please report it");
        match &lease.work {
            Work::Visit(item) => {
                let record = failure_record(lease, item, &error, RobotsEvidence::default(), now);
                self.totals.failed += 1;
                self.store_failure(lease, record);
            }
            Work::RobotsFetch(RobotsFetch { for_other: Some(id), .. }) => {
                self.send_hop_answer(HopAnswer::new(*id, now.wall, &Err(error)));
            }
            Work::RobotsFetch(robots_fetch) => {
                if let RobotsStep::Known(entry) =
                    self.context.robots.answered(robots_fetch, &Err(error), now)?
                {
                    self.robots_known(&lease.url, &robots_fetch.origin.host, &entry, None, None)?;
                }
            }
            Work::Sitemap(sitemap) => {
                let detail = Some(error.to_string());
                let record = SitemapRecord { state: SitemapState::Failed, detail, ..(**sitemap).clone() };
                let key = link_key(lease.host, lease.url.fingerprint(&self.key));
                self.frontier.put(Tree::Sitemaps, key, record.write()?);
            }
        }
        Ok(())
    }

    /// Requests were interrupted: their URLs stay queued, and the delay of their hosts starts now.
    pub(super) fn release_aborted(&mut self, running: &mut HashMap<tokio::task::Id, Lease>) {
        let now = self.clock.now();
        self.reports.done.over += running.len() as u64;
        let running = running.drain().map(|(_, lease)| lease).collect();
        for lease in self.enter_aborted(running) {
            if self.intents.is_none() {
                self.enter_cut_off(&lease, now);
            }
            let delay = self.frontier.gap(lease.host);
            let settlement = Settlement::untouched(now.mono + delay.length, delay).after_request();
            self.frontier.complete(&lease, settlement);
            self.touch(64);
        }
    }
}
