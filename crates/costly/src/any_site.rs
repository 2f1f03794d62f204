//! Rules that hold on any site.

use crate::class::Class;
use crate::glob::is_value;
use crate::url::{Parts, decoded, pieces};

/// A month, after which the future begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Month {
    /// The year, in the Gregorian calendar.
    pub year: u16,
    /// The month, 1 to 12.
    pub month: u8,
}

/// What a rule says of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Skip(Class),
    Budget(Class),
}

/// Segments of documentation: behind them words such as `logout` are titles.
const DOCUMENTATION: &[&str] = &[
    "docs",
    "doc",
    "guide",
    "guides",
    "help",
    "wiki",
    "manual",
    "man",
    "kb",
    "learn",
    "tutorial",
    "faq",
    "reference",
];

/// G1. Names of parameters that change something (robots.txt of shops, measured on 216,647 links of real pages).
const EFFECT_NAMES: &[&str] = &[
    "add-to-cart",
    "add_to_cart",
    "remove_item",
    "undo_item",
    "add_to_wishlist",
    "add-to-compare",
    "wc-ajax",
    "like_comment",
    "remove-from-cart",
];
const ACTIONS: &[&str] = &["action", "do", "op", "task", "cmd"];
const EFFECTS: &[&str] = &[
    "delete",
    "rollback",
    "logout",
    "add_to_cart",
    "add-to-cart",
    "subscribe",
    "unsubscribe",
    "vote",
    "rate",
    "watch",
    "unwatch",
    "purge",
    "markpatrolled",
    "report",
];
const LOGOUTS: &[&str] = &["logout", "log-out", "signout", "sign_out", "sign-out"];

/// Path segments of sign-in, registration and account pages (rule G2).
const LOGINS: &[&str] = &[
    "login",
    "signin",
    "sign-in",
    "sign_in",
    "register",
    "signup",
    "wp-login.php",
    "lost-password",
    "log-in",
];
const ACCOUNTS: &[&str] = &["user", "users", "account", "accounts", "auth", "admin", "member"];
const RETURNS: &[&str] = &[
    "next",
    "destination",
    "dest",
    "continue",
    "goto",
    "back",
    "target",
    "service",
    "came_from",
    "referer",
    "referrer",
    "forward",
    "backurl",
    "origin",
];

/// G5. Names of networks that `share=` takes (Jetpack's sharing buttons).
const NETWORKS: &[&str] = &[
    "facebook",
    "twitter",
    "x",
    "linkedin",
    "pinterest",
    "reddit",
    "tumblr",
    "whatsapp",
    "jetpack-whatsapp",
    "telegram",
    "pocket",
    "email",
    "mail",
    "mastodon",
    "bluesky",
    "threads",
    "google-plus-1",
    "googleplus",
    "skype",
    "stumbleupon",
    "digg",
    "delicious",
    "press-this",
    "xing",
    "vk",
    "line",
    "nextdoor",
];

/// Query parameters that only sort a list (rule G7).
const SORT_NAMES: &[&str] = &[
    "sort",
    "order",
    "orderby",
    "order_by",
    "sort_by",
    "sortby",
    "sort_order",
    "dir",
    "direction",
    "sort_dir",
    "sort_field",
];
const SIZE_NAMES: &[&str] = &["per_page", "perpage", "page_size", "rpp", "limit"];
const FORM_NAMES: &[&str] = &["view", "mode", "display", "layout"];
const SORT_WORDS: &[&str] = &[
    "asc",
    "desc",
    "ascending",
    "descending",
    "up",
    "down",
    "a",
    "d",
    "az",
    "za",
    "by",
    "sort",
    "title",
    "name",
    "label",
    "date",
    "time",
    "year",
    "created",
    "updated",
    "modified",
    "changed",
    "published",
    "added",
    "newest",
    "oldest",
    "new",
    "old",
    "latest",
    "recent",
    "first",
    "last",
    "price",
    "cost",
    "popularity",
    "popular",
    "rating",
    "rated",
    "score",
    "relevance",
    "relevancy",
    "best",
    "top",
    "rank",
    "views",
    "hits",
    "downloads",
    "comments",
    "size",
    "type",
    "author",
    "creator",
    "subject",
    "random",
    "rand",
    "alpha",
    "alphabetical",
    "default",
    "position",
    "sales",
    "low",
    "high",
];
const FORM_WORDS: &[&str] = &[
    "list",
    "grid",
    "gallery",
    "table",
    "tiles",
    "tile",
    "cards",
    "card",
    "compact",
    "full",
    "brief",
    "short",
    "long",
    "details",
    "detailed",
    "summary",
    "thumbs",
    "thumbnails",
    "thumbnail",
    "masonry",
    "slideshow",
    "icons",
    "columns",
    "rows",
    "simple",
    "extended",
];

/// Verbs of OAI-PMH 2.0, section 4 (rule G12).
const OAI_VERBS: &[&str] =
    &["Identify", "ListMetadataFormats", "ListSets", "ListIdentifiers", "ListRecords", "GetRecord"];
const MAP_SERVICES: &[&str] = &["wms", "wfs", "wmts", "wcs"];
const MAP_REQUESTS: &[&str] = &["getmap", "getfeature", "gettile", "getcapabilities"];

/// Years ahead that a calendar has: a larger number is no year.
const AHEAD: u16 = 50;

/// What the rules say of a URL, without those that need other URLs.
pub(crate) fn find(parts: &Parts<'_>, now: Month) -> Option<Finding> {
    if let Some(query) = parts.query
        && let Some(finding) = by_query(parts, query, now)
    {
        return Some(finding);
    }
    by_path(parts, now).map(Finding::Skip)
}

/// No allocation for most paths: they end in none of the words.
fn by_path(parts: &Parts<'_>, now: Month) -> Option<Class> {
    let path = parts.path.trim_end_matches('/');
    let mut tail = path.rsplit('/');
    let last = tail.next().unwrap_or_default();
    let before = tail.next().unwrap_or_default();
    let is_one = |words: &[&str], text: &str| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    let is_vote = is_one(&["up", "down"], last) && before.eq_ignore_ascii_case("vote");
    if is_vote || last.eq_ignore_ascii_case("add") && before.eq_ignore_ascii_case("cart") {
        return Some(Class::Effect);
    }
    let is_documentation =
        || path.rsplit('/').skip(1).any(|segment| is_one(DOCUMENTATION, &decoded(segment)));
    if is_one(LOGOUTS, last) && !is_documentation() {
        return Some(Class::Effect);
    }
    if path.split('/').any(|segment| segment.eq_ignore_ascii_case("shibboleth.sso")) {
        return Some(Class::Login);
    }
    if is_one(LOGINS, last) {
        let returns = || {
            parts.pairs().any(|(name, _)| {
                let name = name.to_lowercase();
                name.contains("return") || name.contains("redirect") || RETURNS.contains(&name.as_str())
            })
        };
        let is_at_root = path.len() == last.len() + 1 && !is_one(&["register", "signup"], last);
        if (is_at_root || is_one(ACCOUNTS, before)) && !is_documentation() || returns() {
            return Some(Class::Login);
        }
    }
    // `/2031/05/`, `/events/2031-05/`
    let mut year = None;
    for segment in path.split('/') {
        if is_month_ahead(segment, now) {
            return Some(Class::Calendar);
        }
        if segment.len() == 2 && year.is_some() && is_ahead(year, number(segment), now) {
            return Some(Class::Calendar);
        }
        year = if segment.len() == 4 { number(segment) } else { None };
    }
    None
}

fn by_query(parts: &Parts<'_>, query: &str, now: Month) -> Option<Finding> {
    if is_autoindex(query) {
        return Some(Finding::Skip(Class::Sort));
    }
    let last = parts.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_cart = last.eq_ignore_ascii_case("cart");
    let mut facets = 0;
    let mut found = None;
    let mut find = |class| {
        // An effect counts before anything else.
        if found != Some(Class::Effect) && (found.is_none() || class == Class::Effect) {
            found = Some(class);
        }
    };
    let (mut year, mut month) = (None, None);
    for (name, value) in parts.pairs() {
        let lower = name.to_lowercase();
        let low_value = value.to_lowercase();
        let (lower, low_value) = (lower.as_str(), low_value.as_str());
        if EFFECT_NAMES.contains(&lower)
            || ACTIONS.contains(&lower) && EFFECTS.contains(&low_value)
            || lower == "add" && is_cart
        {
            find(Class::Effect);
        }
        match lower {
            "samlrequest" => find(Class::Login),
            "replytocom" => find(Class::Reply),
            "share" if NETWORKS.contains(&low_value) => find(Class::Share),
            "print" if matches!(low_value, "1" | "yes" | "true") => find(Class::Variant),
            "printable" if low_value == "yes" => find(Class::Variant),
            "view" | "format" if low_value == "print" => find(Class::Variant),
            "ical" | "outlook-ical" if low_value == "1" => find(Class::Calendar),
            "verb" if OAI_VERBS.contains(&&*value) => find(Class::Api),
            "service" if MAP_SERVICES.contains(&low_value) => find(Class::Api),
            "request" if MAP_REQUESTS.contains(&low_value) => find(Class::Api),
            "year" => year = number(low_value),
            "month" => month = number(low_value),
            _ => {}
        }
        if is_month_ahead(low_value, now) {
            find(Class::Calendar);
        }
        facets += usize::from(is_facet(lower));
    }
    if is_ahead(year, month, now) {
        find(Class::Calendar);
    }
    match (found, facets) {
        (Some(class), _) => Some(Finding::Skip(class)),
        (None, 0) => None,
        (None, 1) => Some(Finding::Budget(Class::Facet)),
        (None, _) => Some(Finding::Skip(Class::Facet)),
    }
}

/// `C=N;O=D` of Apache, `N=D` of older ones.
fn is_autoindex(query: &str) -> bool {
    let parts: Vec<&str> = query.split([';', '&']).take(3).collect();
    match *parts.as_slice() {
        [one, two] => {
            let is = |one: &str, two: &str| {
                matches!(one, "C=N" | "C=M" | "C=S" | "C=D") && matches!(two, "O=A" | "O=D")
            };
            is(one, two) || is(two, one)
        }
        [one] => matches!(one.as_bytes(), [b'N' | b'M' | b'S' | b'D', b'=', b'A' | b'D']),
        _ => false,
    }
}

fn is_facet(name: &str) -> bool {
    matches!(name, "fq" | "facet")
        || ["f[*", "filter[*", "filters[*", "refinementlist[*", "filter_*", "facet[*", "fq[*", "facet.*"]
            .iter()
            .any(|pattern| is_value(pattern, name))
}

/// `2031-05` or `2031-05-17` more than 12 months ahead.
fn is_month_ahead(text: &str, now: Month) -> bool {
    let bytes = text.as_bytes();
    let is_form = matches!(bytes.len(), 7 | 10) && bytes[4] == b'-' && (bytes.len() == 7 || bytes[7] == b'-');
    let day_is_number =
        bytes.len() == 7 || bytes.get(8..10).is_some_and(|day| day.iter().all(u8::is_ascii_digit));
    is_form && day_is_number && is_ahead(text.get(..4).and_then(number), text.get(5..7).and_then(number), now)
}

fn is_ahead(year: Option<u16>, month: Option<u16>, now: Month) -> bool {
    let (Some(year), Some(month)) = (year, month) else { return false };
    let months = |year: u16, month: u16| u32::from(year) * 12 + u32::from(month);
    (1..=12).contains(&month)
        && year <= now.year.saturating_add(AHEAD)
        && months(year, month) > months(now.year, u16::from(now.month)) + 12
}

fn number(text: &str) -> Option<u16> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// G7. The URL without its order, its number of entries and its form, if it has any of them and nothing speaks against it.
pub(crate) fn without_order(parts: &Parts<'_>) -> Option<(String, Class)> {
    let query = parts.query?;
    let mut class = None;
    let mut rest = Vec::new();
    for piece in pieces(Some(query)) {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        let (name, value) = (decoded(name).to_lowercase(), decoded(value).to_lowercase());
        if matches!(name.as_str(), "offset" | "start") {
            return None;
        }
        let this = order_class(&name, &value);
        match this {
            Some(this) => class = class.or(Some(this)),
            None => rest.push(piece),
        }
    }
    let class = class?;
    let mut url = format!("{}{}", parts.origin, parts.path);
    if !rest.is_empty() {
        url.push('?');
        url.push_str(&rest.join("&"));
    }
    Some((url, class))
}

fn order_class(name: &str, value: &str) -> Option<Class> {
    if SORT_NAMES.contains(&name) {
        let words = || value.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        return (words().next().is_some() && words().all(|word| SORT_WORDS.contains(&word)))
            .then_some(Class::Sort);
    }
    if SIZE_NAMES.contains(&name) {
        return (!value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()))
            .then_some(Class::Variant);
    }
    (FORM_NAMES.contains(&name) && FORM_WORDS.contains(&value)).then_some(Class::Variant)
}
