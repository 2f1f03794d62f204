//! Visits of a URL that was visited before: what is asked, and what becomes of the earlier record.

use meta::Effects;
use robots::StatusClass;

use super::page::Visited;
use crate::record::{PageRecord, Withdrawn};

/// Header fields that make the request conditional.
///
/// A page that is withheld by a tag of its own goes by its date: while it is unchanged, it says so still. Any other one that
/// is withheld is asked for in full: the header, the line of robots.txt or the statement may be gone, and nothing is there that an
/// answer "unchanged" could leave as it is.
pub(super) fn conditions(previous: &PageRecord) -> Vec<(String, String)> {
    let may_ask = previous.indexed || previous.is_withheld() && previous.says_noindex_itself();
    if !may_ask || previous.status != Some(200) {
        return Vec::new();
    }
    let field = |name: &str| previous.validators.get(name).cloned();
    match (field("etag").filter(|_| previous.indexed), field("last-modified")) {
        (Some(etag), _) => vec![("If-None-Match".to_owned(), etag)],
        (None, Some(date)) => vec![("If-Modified-Since".to_owned(), date)],
        (None, None) => Vec::new(),
    }
}

/// Joins a visit with the record of the one before: an unchanged page keeps it, a changed one replaces it, and what may
/// no longer be kept is withdrawn, captures in the archive included. An answer that says nothing of the page changes nothing stored.
pub(super) fn after(previous: PageRecord, visited: Visited, effects: Effects) -> Visited {
    let at = visited.record.fetched_at;
    let because = word(&visited);
    let Visited { mut record, links, warc, status: response_status, mark, denials, .. } = visited;
    let visits_before = previous.visits_before + 1;
    let class = StatusClass::of(record.status.unwrap_or_default());
    let is_unchanged = class == StatusClass::NotModified;
    if is_unchanged || class.says_nothing() {
        // Only what restricts further is taken over from such an answer.
        let mut kept = PageRecord { visits_before, robots: record.robots.clone(), ..previous };
        if is_unchanged {
            kept.checked_at = Some(at);
            if kept
                .unavailable_after
                .is_none_or(|date| record.unavailable_after.is_some_and(|new| new < date))
            {
                kept.unavailable_after = record.unavailable_after.or(kept.unavailable_after);
            }
        }
        let mut withdrawn = Vec::new();
        if is_unchanged && !(effects.store_text && effects.store_body) && kept.holds_content() {
            kept.directives.extend(record.directives.iter().cloned());
            withdrawn = kept.withdraw(effects, at, &because);
        } else if is_unchanged && !effects.enqueue_links && kept.is_withheld() && kept.followed {
            kept.directives.extend(record.directives.iter().cloned());
            kept.followed = false;
        }
        // The links stay as they were found; none are given, so that none are written.
        return Visited {
            record: kept,
            links: Vec::new(),
            warc: None,
            status: response_status,
            keeps_links: true,
            withdrawn,
            mark: None,
            denials,
        };
    }
    record.visits_before = visits_before;
    record.via = previous.via.or(record.via);
    record.depth = previous.depth;
    let mut withdrawn = Vec::new();
    if effects.store_text && effects.store_body {
        record.earlier = previous.captures().cloned().collect();
    } else if previous.holds_content() {
        withdrawn = previous.captures().cloned().collect();
        record.withdrawn = Some(Withdrawn { at, because });
    }
    let status = response_status;
    Visited { record, links, warc, status, keeps_links: false, withdrawn, mark, denials }
}

/// The first word of the author that keeps content out, with its place.
fn word(visited: &Visited) -> String {
    const KEEPERS: [&str; 6] =
        ["noindex", "unavailable_after", "document-state", "noarchive", "nocache", "none"];
    let directives = &visited.record.directives;
    let directive = KEEPERS.iter().find_map(|keeper| {
        directives.iter().find(|because| because.directive.split(':').next() == Some(*keeper))
    });
    match directive {
        Some(because) => because.to_string(),
        None => visited.denials.clone().unwrap_or_else(|| "no declared purpose may be served".to_owned()),
    }
}
