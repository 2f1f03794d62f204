//! What the `rel` of a link asks for, and the canonical URL of a `Link` header.

use serde::{Deserialize, Serialize};

use crate::fold::{Word, words};

/// Says what a link's `rel` changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RelEffects {
    /// The word that keeps the link out of the queue: `nofollow`, `ugc` or `sponsored`.
    pub nofollow: Option<NoFollow>,
    /// No Referer may be sent when this link is followed.
    pub noreferrer: bool,
    /// A word that counts was read from a value that isn't words split at blanks (`nofollow,noopener`).
    #[serde(default)]
    pub malformed: bool,
}

/// The keyword of a `rel` that keeps a link out of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoFollow {
    /// `nofollow`: the author doesn't endorse the link.
    NoFollow,
    /// `ugc`: content of users.
    Ugc,
    /// `sponsored`: the link is paid for.
    Sponsored,
}

impl NoFollow {
    /// Returns the word as it's written.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoFollow => "nofollow",
            Self::Ugc => "ugc",
            Self::Sponsored => "sponsored",
        }
    }
}

impl RelEffects {
    /// Returns whether the link may be queued through this page.
    pub fn may_queue(self) -> bool {
        self.nofollow.is_none()
    }
}

/// Reads a `rel` attribute: words split at blanks, case ignored. In a value of another form the words that restrict
/// count too, where they are bounded by anything but letters and hyphens: `nofollow,noopener`, `no-follow`, `no follow`.
///
/// ```
/// assert!(!meta::link_rel("UGC noopener").may_queue());
/// assert!(meta::link_rel("noopener noreferrer").noreferrer);
/// assert!(!meta::link_rel("nofollow,noopener").may_queue());
/// ```
pub fn link_rel(rel: &str) -> RelEffects {
    let mut effects = RelEffects::default();
    for word in rel.split_ascii_whitespace() {
        for nofollow in [NoFollow::NoFollow, NoFollow::Ugc, NoFollow::Sponsored] {
            if word.eq_ignore_ascii_case(nofollow.word()) {
                effects.nofollow.get_or_insert(nofollow);
            }
        }
        effects.noreferrer |= word.eq_ignore_ascii_case("noreferrer");
    }
    if effects.nofollow.is_none() && !is_plain(rel) {
        let read = malformed(rel);
        effects.malformed = read.nofollow.is_some() || read.noreferrer && !effects.noreferrer;
        effects.nofollow = read.nofollow;
        effects.noreferrer |= read.noreferrer;
    }
    effects
}

/// Returns whether a value is words of letters and hyphens split at blanks, none of which is `no` or begins with `no-`.
fn is_plain(rel: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'-' || byte.is_ascii_whitespace();
    let is_negation = |word: &str| word.eq_ignore_ascii_case("no") || word.eq_ignore_ascii_case("not");
    let begins = |word: &str| word.split('-').next().is_some_and(is_negation);
    rel.bytes().all(is_letter) && !rel.split_ascii_whitespace().any(begins)
}

/// Reads the words of a value that isn't split at blanks. A word with hyphens is one: `no-follow` is `nofollow`, and
/// `nofollow-not` is not.
fn malformed(rel: &str) -> RelEffects {
    let mut effects = RelEffects::default();
    let mut read = |word: &str| match word {
        "nofollow" => effects.nofollow = effects.nofollow.or(Some(NoFollow::NoFollow)),
        "ugc" => effects.nofollow = effects.nofollow.or(Some(NoFollow::Ugc)),
        "sponsored" => effects.nofollow = effects.nofollow.or(Some(NoFollow::Sponsored)),
        "noreferrer" => effects.noreferrer = true,
        _ => {}
    };
    for loose in [false, true] {
        let words = words(rel, loose);
        let mut before = "";
        for unit in words.chunk_by(|_, next| next.is_hyphenated()) {
            let [word] = unit else {
                read(&unit.iter().map(Word::text).collect::<String>());
                before = "";
                continue;
            };
            word.readings().for_each(&mut read);
            let is_negated = matches!(before, "no" | "not") && word.is_near();
            before = word.text();
            match before {
                "follow" if is_negated => read("nofollow"),
                "referrer" if is_negated => read("noreferrer"),
                _ => {}
            }
        }
    }
    effects
}

/// Finds the target of the first `rel=canonical` in a `Link` header line (RFC 8288 section 3, RFC 6596).
/// A link with an `anchor` is about another resource and passed over. The target is as written.
pub(crate) fn canonical(value: &str) -> Option<String> {
    let mut rest = value;
    while let Some((_, after)) = rest.split_once('<') {
        let (target, params) = after.split_once('>')?;
        let end = end_of_link(params);
        let (params, next) = params.split_at(end);
        let mut rel = None;
        let mut is_other = false;
        for param in split_outside_quotes(params, ';') {
            let (name, value) = param.split_once('=').unwrap_or((param, ""));
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "rel" if rel.is_none() => rel = Some(value),
                "anchor" => is_other = true,
                _ => {}
            }
        }
        let is_canonical = rel.is_some_and(|rel| {
            rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("canonical"))
        });
        if is_canonical && !is_other && !target.trim().is_empty() {
            return Some(target.trim().to_owned());
        }
        rest = next;
    }
    None
}

/// Finds the comma that ends a link value, outside of quoted strings.
fn end_of_link(params: &str) -> usize {
    split_outside_quotes(params, ',').next().map_or(params.len(), str::len)
}

/// Splits at a mark outside of quoted strings.
fn split_outside_quotes(text: &str, mark: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    text.split(move |c: char| {
        if is_escaped {
            is_escaped = false;
            return false;
        }
        match c {
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ => return c == mark && !is_quoted,
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rel_words_keep_links_out_of_the_queue() {
        for (rel, may_queue, noreferrer) in [
            ("", true, false),
            ("noopener", true, false),
            ("NoFollow", false, false),
            ("UGC noopener", false, false),
            ("sponsored\tnoreferrer", false, true),
            ("noreferrer", true, true),
            ("nofollows", true, false),
            ("follow", true, false),
            ("no one follows", true, false),
            ("x-nofollows dns-prefetch", true, false),
            // Words of letters and hyphens are what they are, but for a negation.
            ("u-gc spon-sored", true, false),
            ("no, follow", true, false),
            ("no-follow", false, false),
            ("no follow", false, false),
            ("not-follow", true, false),
            ("nofollow-not", true, false),
            ("no_follow external", false, false),
            ("nofollow,ugc", false, false),
            ("nofollow,noopener", false, false),
            ("noopener;nofollow", false, false),
            ("external|nofollow", false, false),
            ("\"nofollow\"", false, false),
            ("nofollow.", false, false),
            ("rel=nofollow", false, false),
            ("nofollow\u{a0}noopener", false, false),
            ("no\u{ad}follow", false, false),
            ("nofollow&nbsp;", false, false),
            ("ｎｏｆｏｌｌｏｗ", false, false),
            ("nоfоllоw", false, false),
            ("ugc,sponsored", false, false),
            ("noopener,noreferrer", true, true),
            ("noopener/sponsored, no-referrer", false, true),
        ] {
            let effects = link_rel(rel);
            assert_eq!((effects.may_queue(), effects.noreferrer), (may_queue, noreferrer), "{rel}");
        }
        assert_eq!(link_rel("ugc nofollow").nofollow, Some(NoFollow::Ugc));
        assert!(link_rel("ugc,nofollow").malformed && link_rel("no follow").malformed);
        assert!(!link_rel("nofollow noopener").malformed && !link_rel("a,b").malformed);
    }

    #[test]
    fn the_canonical_url_of_a_link_header() {
        for (value, expected) in [
            ("<http://a.example/x>; rel=canonical", Some("http://a.example/x")),
            ("</a,b;c>; title=\"x, <y>; rel=canonical\"; rel=next, </z>;rel=\"Next CANONICAL\"", Some("/z")),
            ("</a>; rel=next; rel=canonical", None),
            ("</a>; rel=canonical; anchor=\"/other\"", None),
            ("<>; rel=canonical", None),
            ("</a; rel=canonical", None),
            ("rel=canonical", None),
        ] {
            assert_eq!(canonical(value).as_deref(), expected, "{value}");
        }
    }
}
