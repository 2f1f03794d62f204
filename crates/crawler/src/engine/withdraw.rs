//! Content that was stored and may no longer be kept: a page turned noindex or noarchive, or the date of its
//! `unavailable_after` has come. The record loses it with the next commit, and its captures leave the archive.

use jiff::Timestamp;

use super::Engine;
use super::settlement::unlisted;
use crate::commit::{CommitError, SettledPage};
use crate::fetch::Fetch;
use crate::frontier::{HostId, Lease};
use crate::page_store;
use crate::record::{
    Archived, Decided, Decision, EffectsTaken, Layer, PageRecord, PlainReason, Withdrawal, due_key,
    read_due_key, withhold_links,
};
use crate::store::{Store, Tree, Write};
use page::clock::Now;
use page::url::Fingerprint;

/// Pages that one look at the dates takes out; the rest follow a second later.
const AT_ONCE: usize = 1_000;

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Enters captures that have to leave the archive.
    pub(super) fn withdraw_captures(
        &mut self,
        host: HostId,
        page: Fingerprint,
        record: &PageRecord,
        captures: Vec<Archived>,
    ) {
        let Some(withdrawn) = &record.withdrawn else { return };
        if self
            .records()
            .stored(host, page)
            .is_some_and(|before| before.withdrawn.as_ref() == Some(withdrawn))
        {
            return;
        }
        self.decide(Decision {
            at: withdrawn.at,
            url: record.url.clone(),
            host: self.frontier.name(host).to_owned(),
            decision: Decided::Withdrawn,
            layer: Layer::Directive,
            reason: if record.indexed { PlainReason::Body } else { PlainReason::Content }.into(),
            evidence: withdrawn.because.clone().into(),
            via: None,
        });
        self.group.batch.scrub = true;
        self.group.batch.withdrawals.extend(captures.into_iter().map(|place| Withdrawal {
            v: 1,
            url: record.url.clone(),
            place,
            at: withdrawn.at,
            because: withdrawn.because.clone(),
            done: false,
        }));
    }

    /// Returns whether links of an earlier visit stay, of a page that is withheld now: they lose what they reveal of it. Where they revealed
    /// anything, or those that the new ones replace did, the database's free space is cleared as well.
    pub(super) fn withholds_links(
        &mut self,
        host: HostId,
        page: Fingerprint,
        record: &PageRecord,
        keeps_links: bool,
    ) -> bool {
        if !record.is_withheld() {
            return false;
        }
        if !keeps_links {
            let told_more =
                |before: &PageRecord| !before.is_withheld() || before.lists_links() && !record.lists_links();
            self.group.batch.scrub |= record.visits_before > 0
                && self.records().stored(host, page).is_some_and(|page| told_more(&page));
            return false;
        }
        let links = page_store::links_of(self.frontier.store(), host, page).unwrap_or_default();
        let mut left = if record.lists_links() { links.clone() } else { Vec::new() };
        withhold_links(&mut left);
        self.group.batch.scrub |= left != links;
        true
    }

    /// Enters the date from which on a page is not to be shown.
    pub(super) fn enter_due(&mut self, date: Timestamp, host: HostId, page: Fingerprint) {
        self.next_due = Some(self.next_due.map_or(date, |next| next.min(date)));
        self.frontier.put(Tree::Due, due_key(date, host, page), Vec::new());
    }

    /// robots.txt forbids a page that is stored: where the operator wants it so, its content goes.
    pub(super) fn denied_later(&mut self, lease: &Lease, now: Now, line: &str) {
        if self.settings.withdraw_when_denied {
            self.withdraw_stored(lease, now, &format!("robots.txt {line}"));
        }
    }

    /// Every declared use of a page that is stored is denied now: its content goes, as if the page itself had said so.
    pub(super) fn refused_later(&mut self, lease: &Lease, now: Now, words: &str) {
        self.withdraw_stored(lease, now, words);
    }

    fn withdraw_stored(&mut self, lease: &Lease, now: Now, because: &str) {
        if !self.context.revisiting.is_on() {
            return;
        }
        let page = lease.url.fingerprint(&self.key);
        match self.records().stored(lease.host, page) {
            Some(record) if record.holds_content() => {
                self.withdraw_record(lease.host, page, record, now, because);
            }
            _ => {}
        }
    }

    /// Corrects pages that turn out to be walls, once as many of them came in a row as say so. Their links stay on record: they were
    /// followed.
    pub(super) fn become_walls(&mut self, host: HostId, pages: &[Fingerprint]) {
        for &page in pages {
            let waits =
                self.group.batch.pages.iter_mut().find(|waits| (waits.host, waits.page) == (host, page));
            if let Some(waits) = waits {
                waits.record.become_wall();
                waits.text = None;
                continue;
            }
            let Some(mut record) = self.records().stored(host, page) else { continue };
            record.become_wall();
            self.touch(1024);
            self.group.batch.pages.push(SettledPage::changed(host, page, record));
        }
    }

    fn withdraw_record(
        &mut self,
        host: HostId,
        page: Fingerprint,
        mut record: PageRecord,
        now: Now,
        because: &str,
    ) {
        let nothing = EffectsTaken { indexed: false, archived: false, followed: record.followed };
        let captures = record.withdraw(nothing, now.wall, because);
        self.withdraw_captures(host, page, &record, captures);
        let blanks_links = self.withholds_links(host, page, &record, true);
        if let Some(entry) = unlisted(self.frontier.name(host).to_owned(), &record, now.wall) {
            self.decide(entry);
        }
        let settled = SettledPage { blanks_links, ..SettledPage::changed(host, page, record) };
        self.group.batch.pages.push(settled);
    }

    /// Takes out what has become unavailable by now.
    pub(super) fn withdraw_due(&mut self, now: Now) -> Result<(), CommitError> {
        if self.next_due.is_none_or(|date| date > now.wall) {
            return Ok(());
        }
        let mut due = Vec::new();
        self.next_due = None;
        for pair in self.frontier.store().scan(Tree::Due, &[]) {
            let (key, _) = pair?;
            let Some((date, host, page)) = read_due_key(&key) else { continue };
            if date > now.wall || due.len() >= AT_ONCE {
                self.next_due = Some(date);
                break;
            }
            due.push((key, host, page));
        }
        for (key, host, page) in due {
            self.touch(1024);
            self.group.batch.removes.push(Write::remove(Tree::Due, key));
            let Some(record) = self.records().stored(host, page) else { continue };
            if !record.is_unavailable(now.wall) || !record.holds_content() {
                continue;
            }
            let because = record
                .directives
                .iter()
                .find(|because| because.directive.starts_with("unavailable_after"))
                .map_or_else(|| "unavailable_after".to_owned(), ToString::to_string);
            self.withdraw_record(host, page, record, now, &because);
        }
        Ok(())
    }
}
