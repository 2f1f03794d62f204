//! Revisits: the conditional request, and what happens to the earlier record.

use meta::consent::{Policy, Purpose, Signal, Statement};
use meta::{Cause, Effects, SourceKind};
use robots::StatusClass;

use super::visited::Visited;
use crate::consent::SiteStatements;
use crate::record::{Archived, EffectsTaken, PageRecord, PageState, Wall, Withdrawn};
use crate::warc::Location;

/// Header fields that make the request conditional.
///
/// A page that is withheld by a tag of its own goes by its date: while it is unchanged, it says so still. Any other one that
/// is withheld is asked for in full: the header, the line of robots.txt or the statement may be gone, and nothing is there that an
/// answer "unchanged" could leave as it is. So is one whose body was lost, one whose end never came (RFC 9111 section 3.3), and one that was denied a use which its site
/// (`said`) no longer denies: the denial may have been a header, and only a full response shows whether it is still sent.
pub(super) fn conditions(
    previous: &PageRecord,
    said: &SiteStatements,
    policy: &Policy,
) -> Vec<(String, String)> {
    let may_ask = previous.indexed || previous.is_withheld() && previous.says_noindex_itself();
    let now = policy.judge(said.before());
    let is_permitted_now = previous.indexed
        && (!previous.is_searchable() && now.permits(Purpose::Search)
            || policy.purposes().iter().any(|each| now.serves(*each) && !previous.serves.contains(each)));
    let is_whole = previous.lost_at.is_none() && !previous.has_lost_end();
    if !may_ask || is_permitted_now || previous.status != Some(200) || !is_whole {
        return Vec::new();
    }
    let field = |name: &str| previous.validators.get(name).cloned();
    match (field("etag").filter(|_| previous.indexed), field("last-modified")) {
        (Some(etag), _) => vec![("If-None-Match".to_owned(), etag)],
        (None, Some(date)) => vec![("If-Modified-Since".to_owned(), date)],
        (None, None) => Vec::new(),
    }
}

/// Adds to the statements about an unchanged page what it said itself, where the answer "unchanged" doesn't say it again: its tags are the
/// same, and a field that such an answer lacks holds on (RFC 9111 section 3.2). Its word on text and data mining replaces that of the
/// site's file.
pub(super) fn say_again(previous: &PageRecord, consent: &mut Vec<Statement>) {
    let is_own = |said: &&Statement| {
        matches!(said.source.origin, SourceKind::Header | SourceKind::Meta | SourceKind::Link)
    };
    let own: Vec<Statement> = previous.consent.iter().filter(is_own).cloned().collect();
    if own.iter().any(|said| said.signal == Signal::TdmRep) {
        consent.retain(|said| (said.signal, said.source.origin) != (Signal::TdmRep, SourceKind::File));
    }
    for said in own {
        if !consent.iter().any(|other| (other.signal, other.claim) == (said.signal, said.claim)) {
            consent.push(said);
        }
    }
}

/// Joins a visit with the record of the one before: an unchanged page keeps it, a changed one replaces it, and what may
/// no longer be kept is withdrawn, captures in the archive included. An answer that says nothing of the page changes nothing stored, and
/// one whose end is lost replaces no whole page.
pub(super) fn after(previous: PageRecord, visited: Visited) -> Visited {
    let at = visited.record.fetched_at;
    let because = word(&visited);
    let may = EffectsTaken::from(&visited.effects);
    let Visited { mut record, mut warc, .. } = visited;
    let visits_before = previous.visits_before + 1;
    let class = StatusClass::of(record.status.unwrap_or_default());
    let is_unchanged = class == StatusClass::NotModified;
    let is_part = record.has_lost_end() && !previous.has_lost_end() && previous.holds_content();
    let says_of_it = is_unchanged || is_part;
    let is_wall = record.certain_wall().is_some_and(Wall::hides_page);
    if says_of_it || class.says_nothing() || is_wall {
        // Only what restricts further is taken over from such an answer.
        let mut kept = PageRecord { visits_before, robots: record.robots.clone(), ..previous };
        let before = PageState::of(&kept);
        if is_unchanged {
            kept.checked_at = Some(at);
            kept.first_at = Some(kept.first_at.unwrap_or(kept.fetched_at));
            kept.fresh_s = record.fresh_s.or(kept.fresh_s);
            kept.caching = record.caching.take();
            if kept
                .unavailable_after
                .is_none_or(|date| record.unavailable_after.is_some_and(|new| new < date))
            {
                kept.unavailable_after = record.unavailable_after.or(kept.unavailable_after);
            }
        }
        if says_of_it {
            take_over_denials(&mut kept, &record);
        }
        let mut withdrawn = Vec::new();
        if says_of_it && !(may.indexed && may.archived) && kept.holds_content() {
            kept.directives.extend(record.directives.iter().cloned());
            if !may.indexed {
                kept.history.push(before);
            }
            withdrawn = kept.withdraw(may, at, &because);
        } else if says_of_it && !may.followed && kept.is_withheld() && kept.followed {
            kept.directives.extend(record.directives.iter().cloned());
            kept.followed = false;
        }
        let kept_effects = kept.effects(at);
        let original = kept.warc.as_ref().filter(|_| is_unchanged);
        warc = warc.zip(original).map(|(encoded, original)| {
            let Archived { file, offset, length } = original.clone();
            encoded.into_not_modified(&kept.url, kept.fetched_at, &Location { file, offset, length })
        });
        // The links stay as they were found; none are given, so that none are written.
        return Visited {
            record: kept,
            links: Vec::new(),
            warc,
            text: None,
            keeps_links: true,
            withdrawn,
            mark: None,
            effects: visited.effects.or(kept_effects),
            ..visited
        };
    }
    record.visits_before = visits_before;
    record.via = previous.via.or(record.via);
    record.depth = previous.depth;
    record.follow(&previous);
    let mut withdrawn = Vec::new();
    if may.indexed && may.archived {
        record.earlier = previous.captures().cloned().collect();
    } else if previous.holds_content() {
        withdrawn = previous.captures().cloned().collect();
        record.withdrawn = Some(Withdrawn { at, because });
    }
    Visited { record, warc, withdrawn, ..visited }
}

/// Takes over from an answer "unchanged" which uses of the page are denied now, with the statements that say so. Nothing is permitted by it.
fn take_over_denials(kept: &mut PageRecord, unchanged: &PageRecord) {
    let is_denied_search = kept.is_searchable() && !unchanged.is_searchable();
    if !is_denied_search && kept.serves.iter().all(|purpose| unchanged.serves.contains(purpose)) {
        return;
    }
    kept.searchable = Some(kept.is_searchable() && unchanged.is_searchable());
    kept.serves.retain(|purpose| unchanged.serves.contains(purpose));
    kept.robots_consent.clone_from(&unchanged.robots_consent);
    kept.consent.clone_from(&unchanged.consent);
}

/// What keeps content out, with its place.
fn word(visited: &Visited) -> String {
    let Effects { store_text, store_body, .. } = &visited.effects;
    match store_text.cause().or(store_body.cause()) {
        Some(Cause::Directive(because)) => because.to_string(),
        Some(Cause::Consent | Cause::Unstated) | None => {
            visited.denials.clone().unwrap_or_else(|| "no declared purpose may be served".to_owned())
        }
    }
}
