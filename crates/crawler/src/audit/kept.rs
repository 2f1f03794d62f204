//! Why the body of a page can't be checked again: it isn't stored, or not completely.

use meta::{DirectiveSource, SourceKind};

use super::settings::Run;
use super::{AuditRules, content};
use crate::record::PageRecord;

/// Its words keep its content out, and so its body.
pub(super) const NOINDEX: &str = "noindex";
/// Its words keep its body out.
const NOARCHIVE: &str = "noarchive";
/// What it says to its uses keeps its body out.
const PURPOSES: &str = "purposes";
/// It may have said something in a part that couldn't be read, and isn't kept for that.
const UNREAD: &str = "unread";
/// It was kept, and had to be taken out again.
const WITHDRAWN: &str = "withdrawn";
/// It was lost, with the disk of a worker, as `crawl cluster lost` said, or in a power failure.
const LOST: &str = "lost";
/// Another page has the same body, which is kept there.
const DUPLICATE: &str = "duplicate";
/// The archive was off in a run.
const ARCHIVE_OFF: &str = "archive_off";
/// Nothing on record says why it isn't kept.
const NOT_ARCHIVED: &str = "not_archived";
/// The archive doesn't have it in the place that its record names: check `archive` reports it.
pub(super) const MISSING: &str = "missing";
/// A power failure took it before it was on the disk: `crawl resume` queues the page again.
pub(super) const UNSYNCED: &str = "unsynced";
/// A revisit, and the response that has its body was withdrawn.
pub(super) const ORIGINAL_WITHDRAWN: &str = "original_withdrawn";
/// A revisit, and the earlier crawl that has its body isn't where it was.
pub(super) const EARLIER_MISSING: &str = "earlier_missing";
/// The archive's record at its place can't be read as a response to its URL.
pub(super) const UNREADABLE: &str = "unreadable";
/// It is being withdrawn by the running crawl.
pub(super) const RUNNING: &str = "running";
/// Reading it ended a process.
pub(super) const CRASHED: &str = "crashed";
/// A limit cut it: what was read of it is derived again.
pub(super) const CUT: &str = "cut";

/// Whether the archive was off in one of the runs.
pub(super) fn archive_was_off(runs: &[Run], rules: &AuditRules) -> bool {
    let of_runs = runs.iter().filter_map(|run| run.settings.as_ref());
    of_runs.chain([&rules.settings]).any(|settings| !settings.warc.enabled)
}

/// Whether a page has links that its record counts and its words let be followed.
pub(super) fn has_links(record: &PageRecord) -> bool {
    record.followed && record.links_out > u64::from(record.redirect.is_some())
}

/// Why an answer has no place in the archive. `is_off` is what [`archive_was_off`] says.
pub(super) fn why_not(record: &PageRecord, rules: &AuditRules, is_off: bool) -> &'static str {
    let at = record.fetched_at;
    let (words, may) = (content::by_words(record, rules, at), content::allowed(record, rules, at));
    // Whether a word of somebody keeps it out, and not what couldn't be read alone.
    let is_word = |said: &DirectiveSource| {
        said.source.origin != SourceKind::Unread && ["noindex", "none"].contains(&content::word(said))
    };
    if record.withdrawn.is_some() {
        WITHDRAWN
    } else if record.lost_at.is_some() {
        LOST
    } else if !words.text && !record.unread.is_empty() && !record.directives.iter().any(is_word) {
        UNREAD
    } else if !words.text {
        NOINDEX
    } else if !words.body {
        NOARCHIVE
    } else if !may.body && !rules.policy.judge(&record.consent).is_refused() && record.withheld {
        NOINDEX
    } else if !may.body {
        PURPOSES
    } else if record.duplicate_of.is_some() {
        DUPLICATE
    } else if is_off {
        ARCHIVE_OFF
    } else {
        NOT_ARCHIVED
    }
}
