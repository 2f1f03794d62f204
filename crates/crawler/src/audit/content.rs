//! Page records, read again: what a page's own words keep out isn't there.

use jiff::Timestamp;
use meta::{Because, Sources};

use super::{AuditError, AuditRules, Check};
use crate::record::{PageRecord, link_key, read_links};
use crate::store::{Store, Tree};

pub(super) struct Judged {
    pub(super) checks: Vec<Check>,
}

/// What the words of a record's author allow, judged from the words that the record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) text: bool,
    pub(super) body: bool,
    pub(super) links: bool,
}

/// Judges by the stored directives, each by its name, and by the stored header lines, resolved once more.
pub(super) fn allowed(record: &PageRecord, rules: &AuditRules, at: Timestamp) -> Allowed {
    let headers = Sources { headers: &record.headers, metas: &[] };
    let again = meta::resolve(&headers, &rules.page_agent, meta::Dialect::Strict, at);
    let said = |names: &[&str]| record.directives.iter().any(|because| names.contains(&word(because)));
    let over = record.unavailable_after.is_some_and(|date| date <= at);
    let closes = |part: &String| rules.closes_unread_head() || part.starts_with("body:");
    let is_closed = record.error.as_deref() == Some("mime") || record.unread.iter().any(closes);
    let dynamic = record.about.document_state == Some(meta::DocumentState::Dynamic);
    let judgement = rules.policy.judge(&record.consent);
    let text = again.index
        && !said(&["noindex", "none"])
        && !over
        && !dynamic
        && !is_closed
        && !judgement.is_refused();
    let effects = judgement.limit(meta::Effects { store_text: text, store_body: text, enqueue_links: true });
    Allowed {
        text: effects.store_text,
        body: effects.store_body && again.archive && !said(&["noarchive", "nocache"]),
        links: again.follow && !said(&["nofollow", "none"]),
    }
}

fn word(because: &Because) -> &str {
    because.directive.split([':', '=']).next().unwrap_or_default().trim()
}

/// The fields of a record that tell of its content, where there is anything in them.
fn content(record: &PageRecord) -> Vec<&'static str> {
    let about = &record.about;
    let fields = [
        ("title", record.title.is_some()),
        ("description", record.description.is_some()),
        ("keywords", record.keywords.is_some()),
        ("language", record.language.is_some()),
        ("canonical", record.canonical.is_some()),
        ("digest", record.digest.is_some()),
        ("fields", !record.fields.is_empty()),
        ("og_title", about.og_title.is_some()),
        ("og_description", about.og_description.is_some()),
        ("twitter_title", about.twitter_title.is_some()),
        ("twitter_description", about.twitter_description.is_some()),
        ("json_ld", !about.json_ld.is_empty()),
        ("meta_url", about.meta_url.is_some()),
        ("indexed", record.indexed),
    ];
    fields.into_iter().filter(|(_, held)| *held).map(|(name, _)| name).collect()
}

pub(super) fn judge<S: Store>(store: &S, rules: &AuditRules) -> Result<Judged, AuditError> {
    let mut noindex =
        Check::new("noindex", "nothing of a page under noindex is stored: no field, no anchor text, no body");
    let mut noarchive = Check::new("noarchive", "no body of a page under noarchive is kept");
    let mut nofollow = Check::new("nofollow", "no link is queued that page or rel forbid to follow");
    for pair in store.scan(Tree::Pages, &[]) {
        let (key, value) = pair?;
        let record: PageRecord =
            serde_json::from_slice(&value).map_err(|error| AuditError::record(Tree::Pages)(&error))?;
        let at = record.fetched_at;
        let may = allowed(&record, rules, at);
        let links = match key.get(..12).map(|page| store.get(Tree::Links, page)).transpose()?.flatten() {
            Some(value) => read_links(&value).map_err(|error| AuditError::record(Tree::Links)(&error))?,
            None => Vec::new(),
        };
        let moment = Some(at);
        if !may.text {
            noindex.case();
            let mut held: Vec<String> = content(&record).into_iter().map(str::to_owned).collect();
            if record.captures().next().is_some() || record.archived {
                held.push("body in the archive".to_owned());
            }
            if links.iter().any(|link| !link.text.is_empty()) {
                held.push("anchor texts".to_owned());
            }
            if !held.is_empty() {
                noindex.broken(&record.url, moment, format!("stored: {}", held.join(", ")));
            }
        }
        if !may.body {
            noarchive.case();
            if record.captures().next().is_some() || record.archived {
                noarchive.broken(&record.url, moment, "its body is in the archive");
            }
        }
        for link in links.iter().filter(|link| link.kind != "redirect") {
            let forbidden = !may.links || !meta::link_rel(&link.rel).may_queue();
            if !forbidden {
                continue;
            }
            nofollow.case();
            if !link.outcome.is_skip() {
                let what = format!("{} was queued through it (rel \"{}\")", link.to, link.rel);
                nofollow.broken(&record.url, moment, what);
            }
        }
    }
    Ok(Judged { checks: vec![noindex, noarchive, nofollow] })
}

/// The links of a page, by its key.
pub(super) fn links_of<S: Store>(
    store: &S,
    host: crate::frontier::HostId,
    page: crate::url::Fingerprint,
) -> Result<Vec<crate::record::LinkRecord>, AuditError> {
    match store.get(Tree::Links, &link_key(host, page))? {
        Some(value) => read_links(&value).map_err(|error| AuditError::record(Tree::Links)(&error)),
        None => Ok(Vec::new()),
    }
}
