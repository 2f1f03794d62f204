//! Page records, read again: nothing that the page's directives forbid is stored.

use jiff::Timestamp;
use meta::{DirectiveSource, Sources};

use super::said::RobotsStatements;
use super::{AuditError, AuditRules, Check};
use crate::page_store::scan_with_links;
use crate::record::{LinkRecord, PageRecord};
use crate::store::Store;

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

/// Judges by the stored directives, each by its name, by the stored header lines, resolved again, and by the statements about
/// uses. What the crawl withheld for whatever reason may not be there either.
pub(super) fn allowed(record: &PageRecord, rules: &AuditRules, at: Timestamp) -> Allowed {
    let words = by_words(record, rules, at);
    let judgement = rules.policy.judge(&record.consent);
    let text = words.text && !judgement.is_refused() && !record.withheld;
    Allowed {
        text: text && judgement.permits_text(),
        body: text && words.body && judgement.permits_body(),
        links: words.links,
    }
}

/// As [`allowed`], by directives and header lines alone.
pub(super) fn by_words(record: &PageRecord, rules: &AuditRules, at: Timestamp) -> Allowed {
    let headers = Sources { headers: &record.headers, metas: &[] };
    let again = meta::resolve(&headers, &rules.page_agent, meta::Dialect::Strict, at);
    let said = |names: &[&str]| record.directives.iter().any(|because| names.contains(&word(because)));
    let over = record.unavailable_after.is_some_and(|date| date <= at);
    let closes = |part: &String| rules.closes_unread_head() || part.starts_with("body:");
    let is_closed = record.error.as_deref() == Some("mime") || record.unread.iter().any(closes);
    let dynamic = record.about.document_state == Some(meta::DocumentState::Dynamic);
    let text = again.index && !said(&["noindex", "none"]) && !over && !dynamic && !is_closed;
    Allowed {
        text,
        body: text && again.archive && !said(&["noarchive", "nocache"]),
        links: again.follow && !said(&["nofollow", "none"]),
    }
}

/// The name of a directive.
pub(super) fn word(because: &DirectiveSource) -> &str {
    because.directive.split([':', '=']).next().unwrap_or_default().trim()
}

/// The fields of a record that tell of its content, where there is anything in them.
fn content(record: &PageRecord) -> Vec<&'static str> {
    let about = &record.about;
    let has_header = |names: &[&str]| record.headers.iter().any(|(name, _)| names.contains(&name.as_str()));
    let has_parameter = record.content_type.as_ref().is_some_and(|value| value.contains(';'));
    let fields = [
        ("title", record.title.is_some()),
        ("description", record.description.is_some()),
        ("keywords", record.keywords.is_some()),
        ("language", record.language.is_some()),
        ("canonical", record.canonical.is_some()),
        ("digest", record.digest.is_some()),
        ("simhash", record.simhash.is_some()),
        ("fields", !record.fields.is_empty()),
        ("og_title", about.og_title.is_some()),
        ("og_description", about.og_description.is_some()),
        ("twitter_title", about.twitter_title.is_some()),
        ("twitter_description", about.twitter_description.is_some()),
        ("json_ld", !about.json_ld.is_empty()),
        ("meta_url", about.meta_url.is_some()),
        ("base", about.base.is_some()),
        ("refresh", about.refresh.is_some()),
        ("duplicate_of", record.duplicate_of.is_some()),
        ("etag", record.validators.contains_key("etag")),
        ("header lines of its content", has_header(&["link", "refresh", "content-language"])),
        ("parameters of its content type", has_parameter),
        ("indexed", record.indexed),
    ];
    fields.into_iter().filter(|(_, held)| *held).map(|(name, _)| name).collect()
}

/// The same of its links.
fn content_of_links(links: &[LinkRecord]) -> Vec<&'static str> {
    let any = |told: fn(&LinkRecord) -> bool| links.iter().any(told);
    let fields = [
        ("anchor texts", any(|link| !link.text.is_empty())),
        ("rel of links", any(|link| !link.rel.is_empty())),
        ("hreflang of links", any(|link| link.hreflang.is_some())),
        ("positions of links", any(|link| link.position.is_some())),
    ];
    fields.into_iter().filter(|(_, held)| *held).map(|(name, _)| name).collect()
}

pub(super) fn judge<S: Store>(store: &S, rules: &AuditRules) -> Result<Judged, AuditError> {
    let mut noindex = Check::new(
        "noindex",
        "nothing of a page under noindex is stored: no field, no ETag, no text or rel of a link, no body",
    );
    let mut noarchive = Check::new("noarchive", "no body of a page under noarchive is stored");
    let mut nofollow = Check::new("nofollow", "no link is queued that its page or rel forbids following");
    let mut walls =
        Check::new("walls", "nothing that was sent instead of a page is indexed, followed or counted as one");
    let robots_said = RobotsStatements::new(store, rules);
    for page in scan_with_links(store) {
        let page = page?;
        let mut record = page.record()?;
        robots_said.complete(&mut record)?;
        let at = record.fetched_at;
        let may = allowed(&record, rules, at);
        let links = page.links()?;
        let moment = Some(at);
        if !may.text {
            noindex.case();
            let mut held = content(&record);
            if record.captures().next().is_some() || record.archived {
                held.push("body in the archive");
            }
            held.extend(content_of_links(&links));
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
        if let Some(wall) = record.certain_wall() {
            walls.case();
            let used = used(&record);
            if !used.is_empty() {
                let what = format!("{}, and it is {}", wall.in_words(), used.join(", "));
                walls.broken(&record.url, moment, what);
            }
        }
        for link in links.iter().filter(|link| link.kind != "redirect") {
            let forbidden = !may.links || link.nofollow || !meta::link_rel(&link.rel).may_queue();
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
    Ok(Judged { checks: vec![noindex, noarchive, nofollow, walls] })
}

/// How a response is used as a page.
fn used(record: &PageRecord) -> Vec<&'static str> {
    let uses = [
        ("indexed", record.indexed),
        ("followed", record.followed),
        ("a page by its error", record.error.is_none()),
        ("compared with other pages", record.digest.is_some() || record.duplicate_of.is_some()),
        ("recrawled by its validators", !record.validators.is_empty()),
    ];
    uses.into_iter().filter(|(_, is_so)| *is_so).map(|(name, _)| name).collect()
}
