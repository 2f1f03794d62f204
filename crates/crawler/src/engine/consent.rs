//! What is done where a site speaks of the uses of its pages: its files become known, or it refuses every purpose.

use meta::consent::Statement;

use super::Engine;
use super::settle::Gap;
use crate::clock::Now;
use crate::fetch::Fetch;
use crate::frontier::Permit;
use crate::record::{Decision, Evidence, Layer};
use crate::store::Store;
use crate::visit::{Requested, SiteFileAnswer};

impl<F: Fetch, S: Store> Engine<F, S> {
    /// A file was asked for at its host's turn; the URL stays queued.
    pub(super) fn site_file(
        &mut self,
        permit: Permit,
        answer: SiteFileAnswer,
        request: Option<Requested>,
        mut gap: Gap,
    ) {
        let lease = permit.lease().clone();
        let now = self.clock.now();
        let ended = request.map_or(now, |request| request.ended);
        let SiteFileAnswer { file, record, status, retry_after, failure } = answer;
        let pause = if failure.is_some() {
            let jitter = self.jitter.draw();
            let (pace, _) = self.frontier.pace_and_counts(lease.host);
            Some(pace.failed(jitter))
        } else {
            self.pause_after(&lease, status.unwrap_or_default(), retry_after.as_deref(), ended, now)
        };
        if let Some(pause) = pause {
            gap = gap.or_later(ended, pause);
        }
        if let Some(record) = record {
            let evidence = Evidence::from(record.reason.clone()).with_request(self.made.take());
            self.decide(Decision {
                at: record.fetched_at,
                url: record.url.clone(),
                host: lease.url.host().to_owned(),
                decision: if record.unreachable { "file_unreachable" } else { "file_known" }.to_owned(),
                layer: Layer::Consent,
                reason: file.path().to_owned(),
                evidence,
                via: None,
            });
            self.touch(record.body.as_ref().map_or(0, String::len) + 256);
            self.batch.site_files.push(record);
        } else {
            let what = match (status, failure) {
                (Some(status), _) => format!("status {status}"),
                (None, Some(kind)) => kind.as_str().to_owned(),
                (None, None) => String::new(),
            };
            let evidence = Evidence::from(what).with_request(self.made.take());
            self.decided(&lease, now, "retry", Layer::Consent, file.path(), evidence);
        }
        self.give_back(permit, false, None, gap);
    }

    /// Every declared purpose is denied before the page was asked for: it isn't.
    pub(super) fn refused(&mut self, permit: Permit, statements: &[Statement], gap: Gap, now: Now) {
        let lease = permit.lease().clone();
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        counts.skipped += 1;
        self.totals.skipped += 1;
        let words: Vec<String> = statements
            .iter()
            .filter(|statement| statement.claim.verdict_name() != "allow")
            .map(|statement| {
                format!(
                    "{} {} ({})",
                    statement.claim.purpose_name(),
                    statement.claim.verdict_name(),
                    statement.source
                )
            })
            .collect();
        self.decided(&lease, now, "skipped", Layer::Consent, "consent", Some(words.join("; ")));
        self.give_back(permit, true, None, gap);
    }
}
