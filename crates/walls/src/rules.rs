//! The rules, in their order: the first one that holds decides.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::answer::{Answer, Asked, Form};
use crate::page::{self, Page};
use crate::robots;
use crate::target;
use crate::vendors;
use crate::verdict::{Outcome, Place, Signal, Suspicion, Verdict};
use crate::words;

/// Statuses with which walls come.
const WALL_STATUSES: [u16; 11] = [401, 403, 405, 406, 409, 418, 429, 451, 468, 503, 999];

/// Edge servers whose name with a refusing status makes a refusal likely. Lower case.
const EDGE_SERVERS: [&str; 2] = ["akamaighost", "ddos-guard"];

/// Longest price, in characters.
const PRICE: usize = 100;

/// Tells what a response is: the page, or what a site sends instead of it.
///
/// 304 (Not Modified) is for the caller to handle: here it is `redirect`, as any status from 300 to 399.
///
/// Any bytes give a verdict, the same for the same response whatever the order of its header fields. Time grows with the length of the body,
/// of which 1 MiB is looked through at most; memory is bounded by a small multiple of that, and neither depends on how elements are nested.
pub fn classify(answer: &Answer<'_>) -> Verdict {
    let mut verdict = decide(answer);
    if !answer.is_success() {
        let price = answer.values("crawler-price").min();
        verdict.price = price.map(|price| price.chars().filter(|c| !c.is_control()).take(PRICE).collect());
    }
    verdict.only_this_url = verdict.is_certain() && matches!(answer.status, 402 | 451);
    verdict
}

fn decide(answer: &Answer<'_>) -> Verdict {
    let plain = Verdict::plain(answer.status);
    let by_header = vendors::statement(answer).or_else(|| by_status(answer)).or_else(|| by_redirect(answer));
    if let Some(verdict) = by_header {
        return verdict;
    }
    let by_refresh =
        answer.values("refresh").find_map(|value| by_refresh(page::refresh_target(value), answer));
    if let Some(verdict) = by_refresh {
        return verdict;
    }
    // Lines of rules are the site's own words, whatever else the body has.
    let has_rules = answer.asked == Asked::Robots && robots::has_rules(answer.body);
    let form = answer.form();
    let page = match form {
        _ if has_rules => None,
        Form::Html => {
            let host = target::split(answer.url).and_then(|parts| parts.host).unwrap_or_default();
            let is_ordinary = answer.is_success() && !answer.has("x-adblock-key");
            Some(Page::read(answer.body, answer.is_whole, is_ordinary, host))
        }
        // What a server says in a line.
        Form::Text | Form::Json if !answer.is_success() || answer.body.len() <= 256 => {
            Some(Page::of_text(answer.body))
        }
        Form::Text | Form::Json | Form::Other => None,
    };
    if let Some(page) = &page
        && let Some(verdict) = by_page(answer, page, form)
    {
        return verdict;
    }
    if answer.status == 429 {
        return Verdict::certain(Outcome::RateLimited, Place::Status, "429");
    }
    let suspect = by_server(answer, page.as_ref());
    Verdict { suspect, ..plain }
}

/// What a status and a header field say of themselves.
fn by_status(answer: &Answer<'_>) -> Option<Verdict> {
    if !answer.is_success() && answer.has("crawler-price") {
        return Some(Verdict::certain(Outcome::Payment, Place::Header, "crawler-price").of("cloudflare"));
    }
    match answer.status {
        402 => Some(Verdict::certain(Outcome::Payment, Place::Status, "402")),
        451 => Some(Verdict::certain(Outcome::Refused, Place::Status, "451")),
        401 if answer.has("www-authenticate") => {
            Some(Verdict::certain(Outcome::Login, Place::Header, "www-authenticate"))
        }
        _ => None,
    }
}

/// A redirect to a wall or to a sign-in.
fn by_redirect(answer: &Answer<'_>) -> Option<Verdict> {
    if !matches!(answer.status, 300..=399) {
        return None;
    }
    answer.values("location").find_map(|location| {
        by_target(location, answer, Place::Redirect).or_else(|| by_login_target(location, answer))
    })
}

fn by_refresh(target: &str, answer: &Answer<'_>) -> Option<Verdict> {
    by_target(target, answer, Place::Refresh)
}

/// A target that is a wall, by its path or host or by the URL that it carries.
fn by_target(location: &str, answer: &Answer<'_>, place: Place) -> Option<Verdict> {
    let parts = target::split(location)?;
    vendors::wall_target(&parts, place).or_else(|| {
        let is_check = words::is_check_path(&parts.path.to_ascii_lowercase());
        (is_check && target::has_asked(parts.query, answer.url))
            .then(|| Verdict::certain(Outcome::Challenged, place, "a check that carries the asked URL"))
    })
}

/// A target that is a sign-in.
fn by_login_target(location: &str, answer: &Answer<'_>) -> Option<Verdict> {
    let parts = target::split(location)?;
    let has = |wanted: &str| target::pairs(parts.query).any(|(name, _)| name == wanted);
    let what = if has("SAMLRequest") {
        "SAMLRequest"
    } else if parts.path.ends_with("/Shibboleth.sso/Login") {
        "/Shibboleth.sso/Login"
    } else if has("response_type") && has("client_id") && has("redirect_uri") {
        "an authorization request of OAuth"
    } else if words::is_login_path(parts.path) && target::has_asked(parts.query, answer.url) {
        "a sign-in that carries the asked URL"
    } else {
        return None;
    };
    Some(Verdict::certain(Outcome::Login, Place::Redirect, what))
}

/// What the body says.
fn by_page(answer: &Answer<'_>, page: &Page, form: Form) -> Option<Verdict> {
    if let Some(verdict) = page.refreshes.iter().find_map(|target| by_refresh(target, answer)) {
        return Some(verdict);
    }
    if let Some(verdict) = vendors::markup(answer, page, false) {
        return Some(verdict);
    }
    if form == Form::Json || !page.is_empty() {
        // A shell may be large.
        return if answer.is_success() && form == Form::Html { by_shell(page) } else { None };
    }
    if WALL_STATUSES.contains(&answer.status) {
        return by_refusal(answer, page);
    }
    if answer.is_success() && form == Form::Html {
        return by_success(answer, page);
    }
    None
}

/// A status of walls and an empty page.
fn by_refusal(answer: &Answer<'_>, page: &Page) -> Option<Verdict> {
    let (headline, text) = (&page.headline(), page.lower_text());
    let checks = words::checks(headline);
    if page.widget && (checks || page.is_bare()) || page.challenge_name && checks && page.is_bare() {
        return Some(Verdict::certain(
            Outcome::Challenged,
            Place::Words,
            "a captcha or proof of work instead of the page",
        ));
    }
    let blocks = words::blocks(headline);
    if (blocks || words::blocks(text)) && words::has_incident(text) {
        return Some(Verdict::certain(
            Outcome::Refused,
            Place::Words,
            "words of a refusal with the number of an incident",
        ));
    }
    if answer.status == 429 || page.site_links > 0 {
        return None;
    }
    let suspect = if checks {
        suspicion(Outcome::Challenged, Place::Words, "words of a check", text)
    } else if blocks {
        suspicion(Outcome::Refused, Place::Words, "words of a refusal", text)
    } else {
        return None;
    };
    Some(Verdict { suspect: Some(suspect), ..Verdict::plain(answer.status) })
}

/// A status of success and an empty page.
fn by_success(answer: &Answer<'_>, page: &Page) -> Option<Verdict> {
    let is_bare = page.is_bare();
    let headline = &if is_bare { page.headline() } else { String::new() };
    let checks = is_bare && words::checks(headline);
    if (page.widget || page.challenge_name) && checks {
        return Some(Verdict::certain(
            Outcome::Challenged,
            Place::Words,
            "a captcha or proof of work instead of the page",
        ));
    }
    if let Some(verdict) = vendors::markup(answer, page, true) {
        return Some(verdict);
    }
    if page.is_shell() {
        return by_shell(page);
    }
    let (title, text) = (page.title.to_lowercase(), page.lower_text());
    let reloads = || page.refreshes.iter().any(|target| is_itself(target, answer.url));
    let is_elsewhere = || !target::split(answer.url).is_some_and(|parts| words::is_login_address(parts.path));
    let suspect = if checks && page.site_links == 0 {
        suspicion(Outcome::Challenged, Place::Words, "words of a check", text)
    } else if !page.has_text() && !page.has_media && page.links() == 0 && reloads() {
        suspicion(Outcome::Challenged, Place::Refresh, "a refresh of itself and no text", text)
    } else if is_bare && words::blocks(&title) && words::has_incident(text) {
        suspicion(Outcome::Refused, Place::Words, "words of a refusal with the number of an incident", text)
    } else if page.is_sign_in() && is_elsewhere() {
        suspicion(Outcome::Login, Place::Shape, "a form for a password and nothing else", text)
    } else if is_bare && page.has_accept && words::asks_consent(&title) {
        suspicion(Outcome::Consent, Place::Words, "words of a consent wall and a button", text)
    } else if is_bare && page.site_links == 0 && words::has_no_site(headline) {
        suspicion(Outcome::Placeholder, Place::Words, "words of a site that isn't there", text)
    } else {
        return by_shell(page);
    };
    Some(Verdict { suspect: Some(suspect), ..Verdict::plain(answer.status) })
}

fn by_shell(page: &Page) -> Option<Verdict> {
    if page.is_shell() {
        return Some(Verdict::certain(Outcome::Shell, Place::Shape, "nothing to read without scripts"));
    }
    page.is_likely_shell().then(|| Verdict {
        suspect: Some(suspicion(
            Outcome::Shell,
            Place::Shape,
            "hardly anything to read without scripts",
            page.lower_text(),
        )),
        ..Verdict::plain(200)
    })
}

/// A refusing status and the name of an edge server.
fn by_server(answer: &Answer<'_>, page: Option<&Page>) -> Option<Suspicion> {
    let is_edge =
        answer.values("server").any(|server| EDGE_SERVERS.contains(&server.to_ascii_lowercase().as_str()));
    let is_empty = page.is_some_and(Page::is_empty);
    (WALL_STATUSES.contains(&answer.status) && is_edge && is_empty).then(|| {
        let text = page.map_or("", Page::lower_text);
        suspicion(Outcome::Refused, Place::Header, "the name of an edge server", text)
    })
}

/// Whether the target of a refresh is the page itself.
fn is_itself(target: &str, url: &str) -> bool {
    let without_fragment = |text: &str| text.split('#').next().unwrap_or_default().to_owned();
    let target = without_fragment(target);
    if target.is_empty() || target == without_fragment(url) {
        return true;
    }
    let (Some(own), Some(other)) = (target::split(url), target::split(&target)) else { return false };
    other.host.is_none_or(|host| own.host == Some(host)) && other.path == own.path && other.query == own.query
}

fn suspicion(outcome: Outcome, place: Place, what: &'static str, text: &str) -> Suspicion {
    Suspicion { outcome, signal: Signal { place, what }, text: mark(text) }
}

/// A mark of a text without its digits.
fn mark(text: &str) -> u64 {
    let mut hasher = SipHasher13::new();
    for piece in text.split(|c: char| c.is_ascii_digit()) {
        hasher.write(piece.as_bytes());
    }
    hasher.finish()
}
