//! Handles a site's statements about uses of its pages: its files become known, or it denies every purpose.

use meta::consent::Statement;

use super::Engine;
use super::gap::Gap;
use crate::clock::Now;
use crate::consent::denials;
use crate::fetch::Fetch;
use crate::frontier::Permit;
use crate::record::{Decided, Decision, Evidence, Layer, PlainReason, Reason};
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
        let SiteFileAnswer { file, url, record, size, status, failure } = answer;
        if let Some(error) = &failure {
            gap = self.gap_after_failure(&lease, error, request, gap, now);
        } else if let Some(pause) = self.pause_after(&lease, status.unwrap_or_default(), request, now) {
            gap = gap.or_later(ended, pause);
        }
        let words = match (&record, status, &failure) {
            (Some(record), ..) => record.reason.clone(),
            (None, Some(status), _) => format!("status {status}; retrying"),
            (None, None, Some(error)) => format!("{}; retrying", error.kind.as_str()),
            (None, None, None) => String::new(),
        };
        let decision = match &record {
            Some(record) if record.unreachable => Decided::FileUnreachable,
            Some(_) => Decided::FileKnown,
            None => Decided::Retry,
        };
        let evidence = Evidence::from(words).with_request(self.pending_request.take());
        self.decide(Decision {
            at: ended.wall,
            url: url.to_string(),
            host: lease.url.host().to_owned(),
            decision,
            layer: Layer::Consent,
            reason: Reason::File(file),
            evidence,
            via: None,
        });
        if let Some(record) = record {
            self.touch(size.encoded);
            self.batch.site_files.push(record);
        }
        self.give_back(permit, false, None, gap);
    }

    /// Every declared purpose is denied before the page was asked for: it isn't.
    pub(super) fn refused(&mut self, permit: Permit, statements: &[Statement], gap: Gap, now: Now) {
        let lease = permit.lease().clone();
        let (_, counts) = self.frontier.pace_and_counts(lease.host);
        counts.skipped += 1;
        self.totals.skipped += 1;
        self.decided(
            &lease,
            now,
            Decided::Skipped,
            Layer::Consent,
            PlainReason::Consent,
            denials(statements),
        );
        self.give_back(permit, true, None, gap);
    }
}
