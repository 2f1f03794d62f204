//! The walk over a list of terms: pieces between separators, dates that hold separators, agent scopes.

use jiff::Timestamp;

use crate::agent::product_token;
use crate::term::Term;
use crate::{Scope, parse_date};

/// Octets of one value that are read; the rest is left out with a remark. (Google's successor field asks for
/// at least 8 KiB.)
pub(crate) const VALUE_LIMIT: usize = 64 * 1024;
/// Longest text that is tried as a date, in octets.
const DATE_LIMIT: usize = 96;
/// Separators that a date may hold.
const DATE_SEPARATORS: usize = 8;

/// Is what the walk found at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A term of section 4.4.
    Term(Term),
    /// A term whose value or date can't be used.
    BadValue(&'a str),
    /// Something that is no term.
    Unknown(&'a str),
    /// The value was longer than what is read.
    Cut,
}

/// Says how a value is divided.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// Ends a piece.
    pub separators: &'static [char],
    /// Ends the name of an agent whose terms follow; empty = no scopes.
    pub openers: &'static [u8],
}

/// The content of a meta tag.
pub(crate) const CONTENT: Form = Form { separators: &[',', ';', '，', '、', '；'], openers: &[] };
/// A line of `X-Robots-Tag`.
pub(crate) const X_ROBOTS_TAG: Form = Form { separators: CONTENT.separators, openers: b":" };
/// One part of a `Robots-Tag` line; the parts are split at `;` before.
pub(crate) const ROBOTS_TAG_PART: Form = Form { separators: &[',', '，', '、'], openers: b"=:" };

/// Walks over a value in one pass and reports what it finds with the scope in force.
///
/// Cost: linear in the value, which is read up to [`VALUE_LIMIT`].
pub(crate) fn walk<'a>(value: &'a str, form: Form, found: &mut dyn FnMut(&Scope, Found<'a>)) {
    let mut scope = Scope::All;
    let mut rest = cut(value, VALUE_LIMIT);
    loop {
        let end = until(rest, form.separators).len();
        let mut next = end;
        let mut piece = rest[..end].trim_start_matches(is_padding);
        while let Some((opened, after)) = opened_scope(piece, form.openers) {
            scope = opened;
            piece = piece[after..].trim_start_matches(is_padding);
        }
        let (name, colon) = split_name(piece, b":=");
        if let Some(colon) = colon.filter(|_| Term::is_date_name(name)) {
            let value_at = end - piece.len() + colon;
            if let Some((date, length)) = date(&rest[value_at..], form.separators) {
                found(&scope, Found::Term(Term::UnavailableAfter(date)));
                next = value_at + length;
            } else {
                found(&scope, Found::BadValue(piece));
            }
        } else {
            read_piece(piece, &mut |what| found(&scope, what));
        }
        let mut chars = rest[next..].chars();
        if chars.next().is_none() {
            break;
        }
        rest = chars.as_str();
    }
    if value.len() > VALUE_LIMIT {
        found(&Scope::All, Found::Cut);
    }
}

/// Reads one piece: a valued term, a term with a remark, a term with blanks or hyphens in it, or several terms.
fn read_piece<'a>(piece: &'a str, found: &mut dyn FnMut(Found<'a>)) {
    let piece = trim(piece);
    if piece.is_empty() {
        return;
    }
    if let Some(read) = pair(piece) {
        return found(read);
    }
    let (name, colon) = split_name(piece, b":");
    if let (Some(term), Some(_)) = (Term::from_word(name), colon) {
        return found(Found::Term(term));
    }
    if let Some(term) = Term::from_word(piece) {
        return found(Found::Term(term));
    }
    for word in piece.split_whitespace() {
        let read = pair(word).or_else(|| Term::from_word(trim(word)).map(Found::Term));
        found(read.unwrap_or(Found::Unknown(word)));
    }
}

/// Reads `name:value` or `name=value` of a valued term: nothing if the name is no such term's.
fn pair(piece: &str) -> Option<Found<'_>> {
    let (name, colon) = split_name(piece, b":=");
    let term = Term::from_pair(trim(name), trim(&piece[colon?..]))?;
    Some(term.map_or(Found::BadValue(piece), Found::Term))
}

/// Finds the longest stretch up to a separator or the end that is a date; gives it with its length.
fn date(rest: &str, separators: &[char]) -> Option<(Timestamp, usize)> {
    let window = cut(rest, DATE_LIMIT);
    let mut ends: Vec<usize> =
        window.match_indices(separators).map(|(at, _)| at).take(DATE_SEPARATORS).collect();
    if window.len() == rest.len() && ends.len() < DATE_SEPARATORS {
        ends.push(rest.len());
    }
    ends.into_iter().rev().find_map(|end| Some((parse_date(trim(&rest[..end]))?, end)))
}

/// Tells whether a piece begins with an agent's name, and where its terms begin.
fn opened_scope(piece: &str, openers: &[u8]) -> Option<(Scope, usize)> {
    let (name, after) = split_name(piece, openers);
    let after = after?;
    let name = trim(name);
    let is_agent = |c: char| c.is_alphanumeric() || "-_./*+!~".contains(c);
    if name.is_empty() || !name.chars().all(is_agent) || Term::is_name(name) {
        return None;
    }
    let token = product_token(name);
    let scope = if token == "*" || token == "robots" { Scope::All } else { Scope::Agent(token) };
    Some((scope, after))
}

/// Splits a piece at its first mark: the name, and where the value begins.
fn split_name<'a>(piece: &'a str, marks: &[u8]) -> (&'a str, Option<usize>) {
    match piece.bytes().position(|octet| marks.contains(&octet)) {
        Some(at) => (&piece[..at], Some(at + 1)),
        None => (piece, None),
    }
}

/// Gives the text up to the first separator.
fn until<'a>(text: &'a str, separators: &[char]) -> &'a str {
    text.find(separators).map_or(text, |end| &text[..end])
}

/// Cuts a text at a number of octets, at a character's edge.
pub(crate) fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Trims blanks and quote marks, straight and typographic: some articles print `content=”noindex”`.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_padding)
}

fn is_padding(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '"' | '\'' | '`' | '\u{b4}' | '«' | '»' | '\u{2018}'..='\u{201f}' | '\u{2032}' | '\u{2033}'
        )
        || matches!(c, '\u{2039}' | '\u{203a}' | '\u{ff02}' | '\u{ff07}' | '\u{200b}' | '\u{feff}' | '\0')
}
