//! Further metadata of a page: description, keywords, revisit-after, document-state, url.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fold::words;
use crate::refresh::Refresh;
use crate::tag::tag_name;
use crate::walk::{cut, trim};
use crate::{DirectiveSource, Directives, MetaTag, Source, SourceKind, Warning};

/// Bytes of a value that are read. The caller bounds what is stored of it.
const TEXT_LIMIT: usize = 64 * 1024;
/// Keywords that are read.
const KEYWORD_LIMIT: usize = 201;
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// Whether a page changes with every visit (`document-state`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentState {
    /// The page stays as it is.
    Static,
    /// The page changes with every visit: nothing of it is stored.
    Dynamic,
}

/// Reads what the headers say beside directives.
pub(crate) fn read_headers(headers: &[(String, String)], directives: &mut Directives) {
    for (name, value) in headers {
        let value = cut(value, TEXT_LIMIT);
        if name.eq_ignore_ascii_case("link") {
            keep_first(&mut directives.canonical, crate::link::canonical(value));
        } else if name.eq_ignore_ascii_case("refresh") {
            keep_first(&mut directives.refresh, Refresh::parse(value));
        } else if name.eq_ignore_ascii_case("content-language") {
            keep_first(&mut directives.language, language(value));
        }
    }
}

/// Reads what the meta tags say beside directives. Of several values the first one counts, except that
/// the longest revisit time and `dynamic` do, since they ask us to do less.
pub(crate) fn read_metas(metas: &[MetaTag], directives: &mut Directives) {
    for tag in metas {
        let Some(content) = tag.content.as_deref().map(|content| cut(content, TEXT_LIMIT)) else { continue };
        let attributes =
            [(&tag.name, Kind::Name), (&tag.http_equiv, Kind::HttpEquiv), (&tag.property, Kind::Property)];
        for (name, kind) in attributes.into_iter().filter_map(|(name, kind)| Some((name.as_deref()?, kind))) {
            let name = tag_name(name);
            if kind != Kind::Property || name.starts_with("og:") || name.starts_with("twitter:") {
                read_meta(&name, kind, content, tag.position, directives);
            }
        }
    }
}

/// The attribute that holds a tag's name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Name,
    HttpEquiv,
    Property,
}

fn read_meta(name: &str, kind: Kind, content: &str, position: u32, directives: &mut Directives) {
    let source = || Source::new(SourceKind::Meta, position, name, content);
    match name {
        "description" => keep_first(&mut directives.description, plain_text(content)),
        "og:title" => keep_first(&mut directives.og_title, plain_text(content)),
        "og:description" => keep_first(&mut directives.og_description, plain_text(content)),
        "twitter:title" => keep_first(&mut directives.twitter_title, plain_text(content)),
        "twitter:description" => keep_first(&mut directives.twitter_description, plain_text(content)),
        "content-language" | "language" => keep_first(&mut directives.language, language(content)),
        "refresh" if kind == Kind::HttpEquiv => keep_first(&mut directives.refresh, Refresh::parse(content)),
        "url" => keep_first(&mut directives.meta_url, absolute_url(content)),
        "keywords" => add_keywords(&mut directives.keywords, content),
        "revisit-after" => match revisit_after(content) {
            Some(time) => {
                directives.revisit_after = directives.revisit_after.max(Some(time));
                let directive = format!("revisit-after:{}h", time.as_secs() / HOUR);
                directives.because.push(DirectiveSource { directive, source: source() });
            }
            None => directives.warnings.push(Warning::new("not a time to revisit after", source())),
        },
        "document-state" => {
            let state = match trim(content).to_lowercase().as_str() {
                "static" => DocumentState::Static,
                "dynamic" => DocumentState::Dynamic,
                _ if says_dynamic(content) => {
                    directives.warnings.push(Warning::new("malformed document state, applied", source()));
                    DocumentState::Dynamic
                }
                _ => return directives.warnings.push(Warning::new("not a document state", source())),
            };
            directives.document_state = directives.document_state.max(Some(state));
            if state == DocumentState::Dynamic {
                let directive = "document-state:dynamic".to_owned();
                directives.because.push(DirectiveSource { directive, source: source() });
            }
        }
        _ => {}
    }
}

/// Returns whether a value that is neither state contains the stricter one as a whole word.
fn says_dynamic(content: &str) -> bool {
    [false, true].iter().any(|loose| words(content, *loose).iter().any(|word| word.text() == "dynamic"))
}

fn keep_first<T>(kept: &mut Option<T>, value: Option<T>) {
    if kept.is_none() {
        *kept = value;
    }
}

/// Removes tags from a text and collapses whitespace; `None` if no text remains.
fn plain_text(text: &str) -> Option<String> {
    let last_end = text.rfind('>').unwrap_or(0);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        plain.push_str(&rest[..open]);
        let at = text.len() - rest.len() + open;
        let is_tag =
            rest[open + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        rest = &rest[open + 1..];
        if is_tag && at < last_end {
            rest = rest.split_once('>').map_or("", |(_, after)| after);
            plain.push(' ');
        } else {
            plain.push('<');
        }
    }
    plain.push_str(rest);
    let plain = fold_blanks(&plain);
    (!plain.is_empty()).then_some(plain)
}

/// Adds the words of a comma-separated list that aren't in it yet, ignoring case.
fn add_keywords(keywords: &mut Vec<String>, content: &str) {
    for word in content.split([',', '，', '、']).map(fold_blanks) {
        let is_new = !word.is_empty() && !keywords.iter().any(|kept| is_same_word(kept, &word));
        if is_new && keywords.len() < KEYWORD_LIMIT {
            keywords.push(word);
        }
    }
}

fn is_same_word(a: &str, b: &str) -> bool {
    a.chars().flat_map(char::to_lowercase).eq(b.chars().flat_map(char::to_lowercase))
}

/// Trims a text and collapses each run of whitespace into one space.
fn fold_blanks(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// Reads the first language tag of a list.
fn language(value: &str) -> Option<String> {
    let tag = trim(value.split([',', ';']).next()?);
    let is_tag = (1..=35).contains(&tag.len()) && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    is_tag.then(|| tag.to_lowercase())
}

/// Parses an absolute http or https URL.
fn absolute_url(content: &str) -> Option<String> {
    let url = trim(content);
    let is_http = ["http://", "https://"].iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && url.len() > scheme.len()
    });
    (is_http && !url.contains(char::is_whitespace)).then(|| url.to_owned())
}

/// Reads `10 days`, `2 weeks`, `12 hours`, `7` (days): between 1 hour and 365 days. A month is 30 days, a year 365.
fn revisit_after(content: &str) -> Option<Duration> {
    let text = trim(content).to_lowercase();
    let unit_at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.parse().ok()?;
    let unit = trim(unit).trim_end_matches('.');
    let seconds = match unit.strip_suffix('s').filter(|unit| !unit.is_empty()).unwrap_or(unit) {
        "hour" | "h" | "hr" => HOUR,
        "" | "day" | "d" => DAY,
        "week" | "w" => 7 * DAY,
        "month" => 30 * DAY,
        "year" | "y" => 365 * DAY,
        _ => return None,
    };
    let seconds = number * seconds as f64;
    Some(Duration::from_secs_f64(seconds.clamp(HOUR as f64, (365 * DAY) as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, content: &str) -> Directives {
        let mut directives = Directives::default();
        let tag =
            MetaTag { name: Some(name.to_owned()), content: Some(content.to_owned()), ..MetaTag::default() };
        read_metas(&[tag], &mut directives);
        directives
    }

    #[test]
    fn revisit_times_are_clamped() {
        let hours = |content| read("Revisit-After", content).revisit_after.map(|time| time.as_secs() / HOUR);
        for (content, expected) in [
            ("10 days", Some(240)),
            ("2 weeks", Some(336)),
            ("7", Some(168)),
            ("12Hours", Some(12)),
            ("1 month", Some(720)),
            ("3 years", Some(8760)),
            ("0 days", Some(1)),
            ("99999999999999999999999999 days", Some(8760)),
            ("1.5 days", Some(36)),
            ("soon", None),
            ("-3 days", None),
            ("3 fortnights", None),
            ("", None),
        ] {
            assert_eq!(hours(content), expected, "{content}");
        }
    }

    #[test]
    fn each_text_about_the_page_has_its_own_place_and_the_first_counts() {
        let names = ["description", "og:title", "og:description", "twitter:title", "twitter:description"];
        let tag = |name: &str, content: String| MetaTag {
            name: Some(name.to_owned()),
            content: Some(content),
            ..MetaTag::default()
        };
        let mut tags: Vec<_> = names.iter().map(|name| tag(name, format!("of {name}"))).collect();
        tags.extend(names.iter().map(|name| tag(name, "later".to_owned())));
        let mut d = Directives::default();
        read_metas(&tags, &mut d);
        let found = [d.description, d.og_title, d.og_description, d.twitter_title, d.twitter_description];
        assert_eq!(found, names.map(|name| Some(format!("of {name}"))));
    }

    #[test]
    fn the_longest_revisit_time_and_dynamic_win() {
        let tag = |name: &str, content: &str| MetaTag {
            http_equiv: Some(name.to_owned()),
            content: Some(content.to_owned()),
            ..MetaTag::default()
        };
        let mut directives = Directives::default();
        let tags = ["1 day", "3 days", "2 days"].map(|time| tag("revisit-after", time));
        read_metas(&tags, &mut directives);
        read_metas(&[tag("document-state", "Dynamic"), tag("document-state", "static")], &mut directives);
        assert_eq!(directives.revisit_after, Some(Duration::from_secs(3 * DAY)));
        assert_eq!(directives.document_state, Some(DocumentState::Dynamic));
        assert!(directives.warnings.is_empty(), "{:?}", directives.warnings);
        assert_eq!(read("document-state", " Static ").document_state, Some(DocumentState::Static));
    }

    #[test]
    fn a_dynamic_page_is_one_in_a_value_malformed_too() {
        for content in ["dynamic.", "static, dynamic", "\u{200b}DYNAMIC|x", "ｄｙｎａｍｉｃ", "state=dynamic"]
        {
            let read = read("document-state", content);
            assert_eq!(read.document_state, Some(DocumentState::Dynamic), "{content}");
            assert_eq!(read.warnings.len(), 1, "{content}");
        }
        for content in ["dynamics", "nodynamic", "", "static."] {
            assert_eq!(read("document-state", content).document_state, None, "{content}");
        }
    }

    #[test]
    fn markup_is_taken_out_of_a_description() {
        let text = |content| read("description", content).description;
        assert_eq!(text(" a <b>bold</b>\n word ").as_deref(), Some("a bold word"));
        assert_eq!(text("1 < 2 and 3 > 2, <unclosed").as_deref(), Some("1 < 2 and 3 > 2, <unclosed"));
        assert_eq!(text("x <!-- c --> y").as_deref(), Some("x y"));
        assert_eq!(text("<i></i>"), None);
    }

    #[test]
    fn keywords_are_a_list_whose_case_does_not_matter() {
        assert_eq!(
            read("KEYWORDS", "antiques, Mary's  shop,,Antiques，furniture").keywords,
            ["antiques", "Mary's shop", "furniture"]
        );
    }

    #[test]
    fn the_url_of_the_original_is_absolute() {
        assert_eq!(read("url", " http://a.example/x ").meta_url.as_deref(), Some("http://a.example/x"));
        for bad in ["/x", "ftp://a.example/", "javascript:alert(1)", "http://", "http://a b"] {
            assert_eq!(read("url", bad).meta_url, None, "{bad}");
        }
    }

    #[test]
    fn refresh_counts_as_http_equiv_only() {
        assert_eq!(read("refresh", "0;url=/x").refresh, None);
        assert_eq!(read("Content-Language", "DE-at, en").language.as_deref(), Some("de-at"));
        assert_eq!(read("og:title", "T").og_title.as_deref(), Some("T"));
    }
}
