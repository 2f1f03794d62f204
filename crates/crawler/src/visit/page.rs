//! Reads one response: directives first, then only the content that they allow. CPU work, no waiting.

use std::borrow::Cow;
use std::collections::BTreeMap;

use meta::consent::{Purpose, page_statements};
use meta::{DirectiveSource, Directives, Refresh, Source, SourceKind, Warning};
use robots::StatusClass;
use url::Url;
use walls::{Asked, Outcome, Verdict};

use super::found::{
    found, is_kept_without_content, redirect_link, redirect_target, refresh_links, rel_warning,
};
use super::growth::Growth;
use super::kept::Kept;
use super::rules::PageRules;
use super::text_marks::{bytes_mark, style_sheet_mark, text_marks};
use super::visited::Visited;
use super::{Requested, revisit};
use crate::config::Walls;
use crate::consent::SiteStatements;
use crate::costly::Shown;
use crate::fetch::{self, LineFault, Response, Truncation};
use crate::frontier::QueuedUrl;
use crate::record::{
    About, BAD_JSON_LD, Caching, EffectsTaken, LICENSES, PageRecord, RobotsEvidence, TELLING_HEADERS, Wall,
    price,
};
use crate::wall;
use crate::warc::{self, Encoded, Exchange};
use page::clean::{lines_without_controls, without_controls};
use page::extract::{
    self, Document, ExtractInput, Extracted, LimitHit, LinkKind, MainText, Readings, Unread,
};
use page::url::CrawlUrl;

/// What is known of a page before it is read.
#[derive(Debug)]
pub(super) struct PageContext {
    pub(super) url: CrawlUrl,
    pub(super) item: QueuedUrl,
    /// What robots.txt said.
    pub(super) robots: RobotsEvidence,
    /// A `Noindex` line of robots.txt that covers it.
    pub(super) noindex: Option<DirectiveSource>,
    /// What the site says to uses of the page.
    pub(super) said: SiteStatements,
    /// The record of the last visit.
    pub(super) previous: Option<Box<PageRecord>>,
}

pub(super) fn read(
    rules: &PageRules,
    page: PageContext,
    response: &Response,
    requested: Requested,
) -> Visited {
    let PageContext { url, item, robots, noindex, said, previous } = page;
    // Parsed once: what reads the page resolves references against it.
    let (url, base, fingerprint) = (&url, &url.to_url(), url.fingerprint(&rules.key));
    let class = StatusClass::of(response.status);
    let ok = class.is_success();
    let mut document = Document::of(response.lines(), &response.body);
    document.is_cut = response.is_cut();
    let mut kept = Kept::new(&rules.limits);
    let content_type = document.content_type.as_deref().map(|value| kept.header(value));
    let readings = read_body(rules, base, response, &document);
    let headers = text_headers(response);
    let (agent, at) = (&rules.agent, requested.ended.wall);
    let mut directives = readings.resolve(&headers, agent, rules.dialect, at, rules.closes_unread_head);
    let Readings { page: mut html, others, unread } = readings;
    let lie = unread.iter().find_map(|part| match part {
        Unread::Body(found) if ok => Some(found),
        _ => None,
    });
    if let Some(because) = noindex {
        directives.index = false;
        directives.because.push(because);
    }
    let mut consent = said.statements;
    consent.extend(page_statements(&headers, &directives, said.tdm.as_ref(), at));
    if let Some(previous) = previous.as_ref().filter(|_| class == StatusClass::NotModified) {
        revisit::say_again(previous, &mut consent);
    }
    let judgement = rules.policy.judge(said.robots.iter().chain(&consent));
    let is_searchable = judgement.permits(Purpose::Search);
    let searchable =
        (!is_searchable || said.robots_from.is_some() || !consent.is_empty()).then_some(is_searchable);
    let effects = judgement.limit(directives.effects());
    let EffectsTaken { indexed: store_text, archived: store_body, followed: enqueue_links } =
        (&effects).into();
    // The part that didn't come may say noindex.
    let store_text = store_text && class != StatusClass::Partial;

    let is_read = rules.index && ok && store_text && is_searchable && lie.is_none();
    let asked = if item.is_resource() { Asked::Resource } else { Asked::Page };
    let verdict = (rules.walls == Walls::Count).then(|| wall::verdict(url, asked, response)).flatten();
    // XHTML is read as XML too: what one reading hides the other may show.
    let is_shell = |verdict: &Verdict| verdict.wall() == Some(Outcome::Shell);
    let verdict = verdict.filter(|verdict| !is_shell(verdict) || !html.as_ref().is_some_and(leads_on));
    let wall = verdict.as_ref().and_then(Wall::of);
    let certain = wall.as_ref().filter(|wall| wall.is_certain());
    let is_wall = certain.is_some();
    // What says nothing of the page isn't read as one. Of a shell, which is the page without its content, the directives hold.
    let hides_page = certain.is_some_and(Wall::hides_page);

    let is_read = is_read && !is_wall;
    let (text, is_text_cut) = if is_read {
        text(rules, base, response, &document, html.as_mut(), store_body)
    } else {
        (None, false)
    };

    let license = licenses(base, response, html.as_ref(), &mut kept);
    let mut links = Vec::new();
    let redirect = redirect_target(url, response);
    let redirect = redirect.map(|target| target.map_err(|text| kept.reference(&text)));
    if let Some(target) = redirect.as_ref().filter(|_| !is_wall) {
        links.push(redirect_link(rules, target, item.is_resource()));
    }
    let mut unlisted = 0;
    let is_sheet = rules.resources && ok && html.is_none() && document.computed == "text/css";
    let (sheet, sheet_limits) =
        if is_sheet { style_sheet(rules, base, response, &document) } else { Default::default() };
    directives.warnings.extend(line_warnings(response));
    if let Some(page) = &html {
        directives.warnings.extend(rel_warning(&page.links));
    }
    if ok && !is_wall {
        let imageindex = directives.imageindex;
        let of_page = html.as_mut().map_or(sheet, |page| std::mem::take(&mut page.links));
        links.reserve(of_page.len());
        let listed = of_page.into_iter().filter(|link| store_text || is_kept_without_content(link));
        if store_text || enqueue_links {
            let found = |link| found(rules, link, enqueue_links, imageindex, store_text, &mut kept);
            links.extend(listed.map(found));
        } else {
            unlisted = listed.count() as u64;
        }
    }
    if ok && !is_wall && (store_text || enqueue_links) {
        let more = refresh_links(rules, base, &headers, enqueue_links, &links, &mut kept);
        links.extend(more);
    }
    // What is unchanged is archived as such, where there is something that it can refer to.
    let is_archived = class != StatusClass::NotModified
        || previous.as_ref().is_some_and(|previous| previous.warc.is_some());
    let warc =
        (rules.archive && store_text && store_body && is_archived).then(|| archive(url, response, requested));
    let (fields, fields_limit) = match &html {
        Some(_) if ok && store_text && !is_wall && !rules.selectors.is_empty() => {
            select(rules, base, response, &document)
        }
        _ => (BTreeMap::new(), None),
    };

    let stored = html.as_ref().filter(|_| ok && store_text);
    let about = match stored {
        Some(page) if !hides_page => about(&directives, page, base, &mut kept),
        _ if hides_page => About::default(),
        _ => About { document_state: directives.document_state, ..About::default() },
    };
    let kinds = match html.as_ref().filter(|_| !hides_page && rules.costly.looks_at(url)) {
        Some(page) => kinds(rules, url, page, &headers, &response.body, store_text),
        None => Vec::new(),
    };
    let marks = html.as_ref().filter(|_| ok && !is_wall).map(|_| text_marks(&response.body));
    let Directives { because, warnings, description, keywords, .. } = &directives;
    // A wall's directives restrict what is stored of it, and are no word of the page's.
    let is_restricted = !store_text || !store_body;
    let (because, warnings): (&[_], &[_]) = match hides_page {
        true if is_restricted => (because, &[]),
        true => (&[], &[]),
        false => (because, warnings),
    };
    let mut record = PageRecord {
        v: 1,
        url: url.to_string(),
        status: Some(response.status),
        error: match lie {
            _ if certain.is_some() && !class.is_error() => certain.map(|wall| wall.outcome.name().to_owned()),
            Some(_) => Some("mime".to_owned()),
            None if class.is_redirect() && redirect.is_none() => Some(NO_LOCATION.to_owned()),
            None => (class.is_error() || class == StatusClass::NotModified && previous.is_none())
                .then(|| format!("http_{}", response.status)),
        },
        detail: match lie {
            _ if let Some(wall) = certain => Some(wall.in_words()),
            Some(found) => Some(kept.header(&format!("sent as {}, but it is {found}", document.computed))),
            None => particulars(response).map(str::to_owned),
        },
        content_type,
        charset: html.as_ref().map(|page| page.charset.to_owned()),
        title: stored
            .and_then(|page| page.title.as_deref())
            .map(|title| without_controls(title).into_owned()),
        description: stored.filter(|_| !hides_page).and_then(|_| kept.description(description.as_deref())),
        keywords: stored.filter(|_| !hides_page).and_then(|_| kept.keywords(keywords)),
        language: stored
            .and_then(|page| page.language.as_deref().or(directives.language.as_deref()))
            .map(|language| without_controls(language).into_owned()),
        depth: item.depth,
        via: item.via,
        fetched_at: requested.started.wall,
        duration_ms: u64::try_from(requested.ended.mono.saturating_sub(requested.started.mono).as_millis())
            .unwrap_or(u64::MAX),
        bytes: response.body.len() as u64,
        wire_bytes: response.wire_body.len() as u64,
        digest: (store_text && !is_wall).then(|| crate::record::robots::digest(&response.body)),
        truncated: response.truncated.map(|why| why.as_str().to_owned()),
        directives: because.to_vec(),
        directive_warnings: warnings.iter().map(|warning| warned(warning, because, store_text)).collect(),
        indexed: ok && store_text && lie.is_none() && !is_wall,
        archived: warc.is_some(),
        followed: enqueue_links && !is_wall,
        withheld: !store_text,
        canonical: stored
            .filter(|_| !hides_page)
            .and_then(|page| {
                page.canonical.as_ref().map(CrawlUrl::as_str).or(directives.canonical.as_deref())
            })
            .map(|url| kept.reference(url)),
        redirect: redirect.map(|target| match target {
            Ok(url) => url.to_string(),
            Err(text) => text,
        }),
        links_out: links.len() as u64 + unlisted,
        robots,
        warc: None,
        fields,
        validators: if is_wall { BTreeMap::new() } else { validators(response, &mut kept) },
        limits_hit: Vec::new(),
        consent_more: 0,
        skipped_not_listed: 0,
        mime_type: Some(document.computed)
            .filter(|computed| document.declared.as_ref() != Some(computed))
            .map(|computed| kept.header(&computed)),
        readings: others.iter().map(|reading| reading.name.to_owned()).collect(),
        unread: unread.iter().map(|part| format!("{}: {part}", part.part())).collect(),
        tries: item.tries + 1,
        about,
        headers: speaking(&headers, store_text, &mut kept),
        license,
        payment: price(response.status, headers.iter().map(|(name, value)| (name.as_str(), value.as_str())))
            .map(|price| kept.header(price)),
        excerpt: directives.excerpt_limit().map(|most| most as u64),
        unavailable_after: directives.unavailable_after,
        revisit_after_s: directives.revisit_after.map(|wish| wish.as_secs()),
        robots_consent: said.robots_from,
        consent,
        serves: rules
            .policy
            .purposes()
            .iter()
            .copied()
            .filter(|purpose| judgement.serves(*purpose))
            .collect(),
        searchable,
        earlier: Vec::new(),
        visits_before: 0,
        checked_at: None,
        duplicate_of: None,
        withdrawn: None,
        simhash: marks.and_then(|marks| marks.simhash).filter(|_| store_text),
        fresh_s: freshness(response, at).filter(|_| !is_wall),
        first_at: None,
        history: Vec::new(),
        unchanged: Vec::new(),
        resource: item.is_resource(),
        wall: wall.clone(),
        forgotten: false,
        caching: Caching::of(response.lines()).map(Box::new),
        lost_at: None,
    };
    let mut hits: Vec<LimitHit> = html.iter().flat_map(|page| &page.limits_hit).copied().collect();
    hits.extend(sheet_limits);
    hits.extend(kept.hits);
    hits.sort_unstable();
    record.limits_hit = hits.iter().map(|hit| hit.name().to_owned()).collect();
    record.limits_hit.extend(is_text_cut.then(|| LimitHit::Text.name().to_owned()));
    record.limits_hit.extend(fields_limit);
    record.limits_hit.extend(said.is_unread.then(|| "consent lines".to_owned()));
    record.limits_hit.extend(stored.is_some_and(|page| page.bad_json_ld > 0).then(|| BAD_JSON_LD.to_owned()));
    if !store_text {
        record.withhold();
    }
    let status = Some(response.status);
    let denials = crate::consent::denials(said.robots.iter().chain(&record.consent));
    let visited = Visited {
        page: fingerprint,
        record,
        links,
        warc,
        text,
        status,
        keeps_links: false,
        withdrawn: Vec::new(),
        kinds,
        mark: match (marks, ok) {
            (Some(marks), _) => Some(marks.mark),
            _ if is_wall => None,
            (None, true) if is_sheet => Some(style_sheet_mark(&response.body)),
            (None, true) if !item.is_resource() => Some(bytes_mark(&response.body)),
            (None, _) => None,
        },
        effects,
        verdict,
        denials,
        encoded: None,
        growth: Growth::of(response.sent_bytes()),
    };
    match previous {
        Some(previous) => revisit::after(*previous, visited),
        None => visited,
    }
}

/// The text of what may be indexed, and whether the limit cut that of a document that is no page. Of one whose copy may not be kept
/// (noarchive) no part may be shown: the index keeps the words alone.
fn text(
    rules: &PageRules,
    url: &Url,
    response: &Response,
    document: &Document,
    page: Option<&mut Extracted>,
    may_copy: bool,
) -> (Option<Box<MainText>>, bool) {
    let (text, is_cut) = match page {
        Some(page) => (page.main.take(), false),
        None if extract::has_other_text(&document.computed) => {
            let input = ExtractInput {
                body: &response.body,
                content_type: document.content_type.as_deref(),
                url,
                link_headers: &[],
                limits: &rules.limits,
                want_text: true,
                want_styles: false,
            };
            extract::other_main_text(&input, document)
                .map_or((None, false), |(text, is_cut)| (Some(text), is_cut))
        }
        None => (None, false),
    };
    let text = text.map(|mut text| {
        if !may_copy && !text.text.is_empty() {
            text.no_snippet = std::iter::once(0..text.text.len()).collect();
        }
        Box::new(text)
    });
    (text, is_cut)
}

/// A warning in words. Where no text of the page may be kept it quotes what is in a place that said something which
/// took effect, and of other places tells the name alone.
fn warned(warning: &Warning, because: &[DirectiveSource], keep_text: bool) -> String {
    let Warning { message, source } = warning;
    let is_evidence = || {
        because.iter().any(|said| {
            let Source { origin, position, name, .. } = &said.source;
            (origin, position, name) == (&source.origin, &source.position, &source.name)
        })
    };
    if keep_text || is_evidence() {
        return format!("{message}: {source}");
    }
    let message = message.split(": ").next().unwrap_or_default();
    let place = Source { text: String::new(), ..source.clone() }.to_string();
    format!("{message}: {}", place.trim_end_matches([':', ' ']))
}

/// The kinds of site that a page shows. Of one whose content may not be kept no word is.
fn kinds(
    rules: &PageRules,
    url: &CrawlUrl,
    page: &Extracted,
    headers: &[(String, String)],
    body: &[u8],
    store_text: bool,
) -> Vec<Shown> {
    let is_generator = |name: &str| name.trim().eq_ignore_ascii_case("generator");
    let generators = page.metas.iter().filter(|meta| meta.name.as_deref().is_some_and(is_generator));
    let generators: Vec<&str> = generators.filter_map(|meta| meta.content.as_deref()).collect();
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut kinds = rules.costly.shown(url, &generators, &headers, body);
    if !store_text {
        for shown in &mut kinds {
            shown.word = None;
        }
    }
    kinds
}

/// What the page says of itself.
fn about(directives: &Directives, page: &Extracted, url: &Url, kept: &mut Kept<'_>) -> About {
    About {
        og_title: kept.description(directives.og_title.as_deref()),
        og_description: kept.description(directives.og_description.as_deref()),
        twitter_title: kept.description(directives.twitter_title.as_deref()),
        twitter_description: kept.description(directives.twitter_description.as_deref()),
        json_ld: page.json_ld.clone(),
        meta_url: directives.meta_url.as_deref().map(|url| kept.reference(url)),
        document_state: directives.document_state,
        refresh: directives.refresh.as_ref().map(|refresh| Refresh {
            url: refresh.url.as_deref().map(|url| kept.reference(url)),
            ..*refresh
        }),
        base: (page.base != *url).then(|| kept.reference(page.base.as_str())),
    }
}

/// Whether a page has links for its readers.
fn leads_on(page: &Extracted) -> bool {
    let is_shown = |kind| matches!(kind, LinkKind::A | LinkKind::Area | LinkKind::Frame | LinkKind::Iframe);
    page.links.iter().any(|link| is_shown(link.kind))
}

/// The error of a redirect that names no target.
const NO_LOCATION: &str = "no_location";

/// What the status of a response doesn't tell of it.
fn particulars(response: &Response) -> Option<&'static str> {
    if StatusClass::of(response.status).is_redirect() && response.reference("location").is_none() {
        return Some("a redirect without Location");
    }
    // `HTTP/1.1 206`; over HTTP/2 the head isn't kept.
    let head = response.response_head.as_deref();
    let is_range = response.status == 200
        && head.is_none_or(|head| head.get(9..12) == Some(b"206"))
        && fetch::is_whole_range(&response.headers, response.wire_body.len() as u64);
    is_range.then_some("sent as 206, with the whole range")
}

/// Tells of the field lines that aren't valid HTTP.
fn line_warnings(response: &Response) -> impl Iterator<Item = Warning> {
    let faults = response.response_head.as_deref().map(fetch::line_faults).unwrap_or_default();
    faults.into_iter().map(|LineFault { position, message, name, value }| {
        let position = u32::try_from(position).unwrap_or(u32::MAX);
        let text = String::from_utf8_lossy(&value);
        let name = if name.is_empty() { "line" } else { &name };
        let source = Source::new(SourceKind::Header, position, name, &text);
        Warning { message: message.to_owned(), source }
    })
}

fn text_headers(response: &Response) -> Vec<(String, String)> {
    let headers = response.headers.iter();
    let text = |(name, value): &(String, Vec<u8>)| match name.as_str() {
        // It has an address: "isomorphic decode" of the HTML standard, where the bytes aren't UTF-8 (15.6, "shared declarative refresh steps").
        "refresh" if std::str::from_utf8(value).is_err() => value.iter().copied().map(char::from).collect(),
        _ => String::from_utf8_lossy(value).into_owned(),
    };
    headers.map(|line| (line.0.clone(), text(line))).collect()
}

/// The header lines that directives and statements are read from.
const SPEAKING: [&str; 6] =
    ["x-robots-tag", "robots-tag", "content-usage", "content-signal", "tdm-reservation", "tdm-policy"];

fn speaking(headers: &[(String, String)], store_text: bool, kept: &mut Kept<'_>) -> Vec<(String, String)> {
    let is_kept = |name: &str| SPEAKING.contains(&name) || store_text && TELLING_HEADERS.contains(&name);
    let lines = headers.iter().filter(|(name, _)| is_kept(name));
    let line = |(name, value): &(String, String)| (name.clone(), kept.header(value));
    lines.map(line).collect()
}

/// The licences that a response names: `rel=license` of its `Link` lines and of the `link` elements of the page. They speak of its use, and are
/// kept whatever its directives say.
fn licenses(base: &Url, response: &Response, html: Option<&Extracted>, kept: &mut Kept<'_>) -> Vec<String> {
    let of_page = html.into_iter().flat_map(|page| &page.links);
    let of_page = of_page.filter(|link| link.kind == LinkKind::Link && link.rel.contains("license"));
    let targets = of_page.filter_map(|link| link.target.as_ref().ok().map(ToString::to_string));
    let fields = response.references("link").filter(|_| html.is_none());
    let of_fields = fields.flat_map(|field| extract::licenses(&field, base));
    let mut found: Vec<String> = Vec::new();
    for url in of_fields.chain(targets) {
        let url = kept.reference(&url);
        if found.len() < LICENSES && !found.contains(&url) {
            found.push(url);
        }
    }
    found
}

fn read_body(rules: &PageRules, url: &Url, response: &Response, document: &Document) -> Readings {
    let link_headers: Vec<String> = response.references("link").map(Cow::into_owned).collect();
    let input = ExtractInput {
        body: &response.body,
        content_type: document.content_type.as_deref(),
        url,
        link_headers: &link_headers,
        limits: &rules.limits,
        want_text: rules.index,
        want_styles: rules.resources,
    };
    extract::read(&input, document, &rules.agent)
}

/// The addresses in a style sheet, as links.
fn style_sheet(
    rules: &PageRules,
    url: &Url,
    response: &Response,
    document: &Document,
) -> (Vec<extract::Link>, Vec<LimitHit>) {
    extract::style_sheet(&ExtractInput {
        body: &response.body,
        content_type: document.content_type.as_deref(),
        url,
        link_headers: &[],
        limits: &rules.limits,
        want_text: false,
        want_styles: true,
    })
}

fn archive(url: &CrawlUrl, response: &Response, requested: Requested) -> Encoded {
    warc::encode(&exchange(url, response, &without_validators(&response.request_head), requested))
}

/// A request and its response, for the archive.
pub(super) fn exchange<'a>(
    url: &'a CrawlUrl,
    response: &'a Response,
    request_head: &'a [u8],
    requested: Requested,
) -> Exchange<'a> {
    Exchange {
        url: url.as_str(),
        request_head,
        response_head: response.response_head.as_deref(),
        status: response.status,
        version: response.version,
        headers: &response.headers,
        wire_body: &response.wire_body,
        truncated: cut_on_the_wire(response),
        tls: response.tls.map(|tls| (tls.protocol, tls.cipher_suite)),
        ip: response.remote.map(|address| address.ip()),
        purpose: None,
        fetched_at: requested.started.wall,
    }
}

/// A request's head without the fields that made it conditional: they are validators of an earlier response, which may have to
/// leave the archive one day while this request stays.
fn without_validators(head: &[u8]) -> Vec<u8> {
    const CONDITIONS: [&[u8]; 2] = [b"if-none-match:", b"if-modified-since:"];
    let is_condition = |line: &&[u8]| {
        CONDITIONS
            .iter()
            .any(|name| line.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name)))
    };
    head.split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !is_condition(line))
        .flatten()
        .copied()
        .collect()
}

/// Why a body isn't whole as it was sent. One that was cut while it was decoded may still be.
fn cut_on_the_wire(response: &Response) -> Option<warc::Truncated> {
    let announced = response.header("content-length").and_then(|length| length.trim().parse().ok());
    let is_shorter = || announced.is_none_or(|length: u64| length > response.wire_body.len() as u64);
    match response.truncated? {
        Truncation::Disconnect => Some(warc::Truncated::Disconnect),
        Truncation::WireLimit | Truncation::DecodedLimit => is_shorter().then_some(warc::Truncated::Length),
        Truncation::Framing | Truncation::Unfinished | Truncation::Coding => None,
    }
}

fn select(
    rules: &PageRules,
    url: &Url,
    response: &Response,
    document: &Document,
) -> (BTreeMap<String, Vec<String>>, Option<String>) {
    let decoded = extract::decode(&response.body, document.content_type.as_deref(), url);
    match extract::select(&decoded.text, &rules.selectors, &rules.select_limits) {
        Ok(selected) => {
            let values =
                |values: Vec<String>| values.iter().map(|value| lines_without_controls(value)).collect();
            let fields = selected.fields.into_iter().map(|field| (field.name, values(field.values)));
            (fields.collect(), selected.limit_hit.map(str::to_owned))
        }
        Err(error) => (BTreeMap::new(), Some(error.limit().to_owned())),
    }
}

/// Ten thousand years, in seconds: no table has a column for more.
const LONGEST_FRESH: u64 = 315_576_000_000;

/// How long a response may be used without asking again, as a private cache has it.
fn freshness(response: &Response, now: jiff::Timestamp) -> Option<u64> {
    let headers = response.headers.iter();
    let lines: Vec<_> =
        headers.map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value).into_owned())).collect();
    let lines = lines.iter().map(|(name, value)| (*name, value.as_str()));
    let head = robots::access::ResponseHead::new(response.status, lines);
    head.freshness(now).map(|fresh| fresh.as_secs().min(LONGEST_FRESH))
}

fn validators(response: &Response, kept: &mut Kept<'_>) -> BTreeMap<String, String> {
    ["etag", "last-modified"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), kept.validator(response.header(name)?)?)))
        .collect()
}
