//! What is stripped from a URL before it is known: session ids, marks of advertising, marks of where a reader came from.

use std::borrow::Cow;

use crate::class::Class;
use crate::kind::Kinds;
use crate::url::{Parts, decoded};

/// Names of parameters that hold a session id (Heritrix' `StripSessionIDs`, and the manuals of the frameworks). `ASPSESSIONID` is followed by
/// letters that differ.
const SESSIONS: &[&str] = &[
    "PHPSESSID",
    "JSESSIONID",
    "jsessionid",
    "osCsid",
    "zenid",
    "___SID",
    "sessionid",
    "session_id",
    "sid",
    "SID",
    "s",
];
const ASP: &str = "ASPSESSIONID";
/// Fewest characters of a session id.
const LEAST: usize = 16;
/// Characters of a session id of ASP.NET.
const ASP_NET: usize = 24;

/// Names of parameters that say which advertisement led to a page (the tracking parameters that `AdGuard` filters).
const TRACKING: &[&str] = &[
    "pk_campaign",
    "pk_kwd",
    "pk_source",
    "fbclid",
    "gclid",
    "gclsrc",
    "dclid",
    "gbraid",
    "wbraid",
    "msclkid",
    "yclid",
    "igshid",
    "ttclid",
    "twclid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "_hsenc",
    "_hsmi",
    "mkt_tok",
    "_ga",
    "_gl",
    "_openstat",
    "vero_id",
    "s_kwcid",
    "srsltid",
];
const TRACKING_PREFIXES: &[&str] = &["utm_", "mtm_", "oly_"];
const TRACKING_WHOLE: &str = "wt_mc";

/// Names of parameters that sign the others.
const SIGNATURES: &[&str] = &["X-Amz-Signature", "Signature", "sig", "hmac", "Key-Pair-Id", "cHash", "token"];

/// A URL without what is stripped, and the class of the first thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stripped {
    pub(crate) url: String,
    pub(crate) class: Class,
}

/// The URL without session ids, marks and the parameters that `also` names. None if it has none of them. One pass over it.
pub(crate) fn stripped(
    parts: &Parts<'_>,
    allows: impl Fn(Class) -> bool,
    also: impl Fn(&str) -> bool,
) -> Option<Stripped> {
    let mut first = None;
    let mut is_stripped = |class: Class| {
        let allowed = allows(class);
        if allowed {
            first.get_or_insert(class);
        }
        allowed
    };
    let path = bare_path(parts.path).filter(|_| is_stripped(Class::Session));
    let pairs = || parts.query.into_iter().flat_map(|query| query.split('&')).map(pair);
    let is_signed =
        || pairs().any(|(name, _)| SIGNATURES.iter().any(|known| known.eq_ignore_ascii_case(&name)));
    let mut query = None;
    if let Some(whole) = parts.query
        && !whole.is_empty()
        && !is_signed()
    {
        let has = |wanted: &str| pairs().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let has_cold_fusion = has("CFID") && has("CFTOKEN");
        let mut class = |piece: &str| {
            let (name, value) = pair(piece);
            let is_of_pair = name.eq_ignore_ascii_case("CFID") || name.eq_ignore_ascii_case("CFTOKEN");
            if is_session(&name, &value) || has_cold_fusion && is_of_pair {
                is_stripped(Class::Session)
            } else if is_tracking(&name) {
                is_stripped(Class::Tracking)
            } else if matches!(&*name, "highlight" | "hilit") || &*name == "is-external" && &*value == "true"
            {
                is_stripped(Class::Variant)
            } else {
                also(&name) && is_stripped(Class::Tracking)
            }
        };
        let rest: Vec<&str> = whole.split('&').filter(|piece| !class(piece)).collect();
        let rest = rest.join("&");
        query = (rest.len() < whole.len()).then_some(rest);
    }
    let class = first?;
    let mut url = parts.origin.to_owned();
    url.push_str(path.as_deref().unwrap_or(parts.path));
    let rest = query.as_deref().or(parts.query);
    // Of a query that was nothing but marks no `?` remains.
    if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
        url.push('?');
        url.push_str(rest);
    }
    Some(Stripped { url, class })
}

/// Every URL that normalising may make of this one, whatever a user's switches and the kinds of its host are: without session ids, without
/// marks of advertising, without both, and so on. None for most URLs. The last one has the least.
pub fn normal_forms(url: &str, kinds: &Kinds) -> Vec<String> {
    const CLASSES: [Class; 3] = [Class::Session, Class::Tracking, Class::Variant];
    /// What kinds strip is a choice of its own.
    const OF_KINDS: u8 = 1 << CLASSES.len();
    let mut forms: Vec<String> = Vec::new();
    let starts = [vec![url.to_owned()], shortened_forms(url, kinds)].concat();
    for (place, start) in starts.iter().enumerate() {
        if place > 0 && !forms.contains(start) {
            forms.push(start.clone());
        }
        let Some(parts) = Parts::new(start) else { continue };
        let strips = |name: &str| kinds.iter().any(|kind| kind.strips(name));
        if stripped(&parts, |_| true, strips).is_none() {
            continue;
        }
        for choice in 1..2 * OF_KINDS {
            let allows = |class| {
                let place = CLASSES.iter().position(|known| *known == class);
                place.is_some_and(|place| choice & (1 << place) != 0)
            };
            let of_kinds = |name: &str| choice & OF_KINDS != 0 && strips(name);
            if let Some(form) = stripped(&parts, allows, of_kinds).map(|stripped| stripped.url)
                && !forms.contains(&form)
            {
                forms.push(form);
            }
        }
    }
    forms
}

/// The URLs that a kind shortens this one to, wherever its site begins.
fn shortened_forms(url: &str, kinds: &Kinds) -> Vec<String> {
    let Some(parts) = Parts::new(url) else { return Vec::new() };
    let prefixes = || parts.path.match_indices('/').map(|(slash, _)| &parts.path[..=slash]);
    let kinds = kinds.iter().filter(|kind| kind.shortens());
    let paths = kinds.flat_map(|kind| prefixes().filter_map(|prefix| kind.shortened(&parts, prefix)));
    let query = parts.query.map(|query| format!("?{query}")).unwrap_or_default();
    paths.map(|path| format!("{}{path}{query}", parts.origin)).collect()
}

fn pair(piece: &str) -> (Cow<'_, str>, Cow<'_, str>) {
    let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
    // What is encoded in a value isn't a session id.
    (decoded(name), Cow::Borrowed(value))
}

/// The path without session ids; none where it has none.
fn bare_path(path: &str) -> Option<String> {
    if !path.contains([';', '(']) {
        return None;
    }
    let mut bare = String::with_capacity(path.len());
    let mut is_bare = true;
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let start = bare.len();
        bare.push('/');
        for (place, part) in segment.split(';').enumerate() {
            if place > 0 && is_path_parameter(part) {
                is_bare = false;
                continue;
            }
            if place > 0 {
                bare.push(';');
            }
            bare.push_str(part);
        }
        if is_of_asp_net(&bare[start + 1..]) {
            is_bare = false;
            let is_last = segments.peek().is_none();
            bare.truncate(start + usize::from(is_last));
        }
    }
    (!is_bare).then_some(bare)
}

/// `jsessionid=...` or `sid=...`, in any case.
fn is_path_parameter(part: &str) -> bool {
    let name = part.split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| name.eq_ignore_ascii_case("jsessionid") || name.eq_ignore_ascii_case("sid"))
}

/// `(S(...))` or `(X(1)S(...))`.
fn is_of_asp_net(segment: &str) -> bool {
    let inner = segment.strip_prefix('(').and_then(|rest| rest.strip_suffix("))"));
    let inner = inner.map(|rest| rest.strip_prefix("X(1)").unwrap_or(rest));
    let id = inner.and_then(|rest| rest.strip_prefix("S("));
    id.is_some_and(|id| id.len() == ASP_NET && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

fn is_session(name: &str, value: &str) -> bool {
    (SESSIONS.contains(&name) || name.starts_with(ASP))
        && value.len() >= LEAST
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b',' | b'.' | b'_' | b'-'))
}

fn is_tracking(name: &str) -> bool {
    TRACKING.contains(&name)
        || name == TRACKING_WHOLE
        || TRACKING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
