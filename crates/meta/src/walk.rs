//! Splits a list of terms: pieces between separators, dates that contain separators, agent scopes.

use jiff::Timestamp;

use crate::term::Term;
use crate::{Scope, malformed, parse_date};

/// Bytes of one value that are read as a list. (Google's successor field asks for at least 8 KiB.)
pub(crate) const VALUE_LIMIT: usize = 64 * 1024;
/// Bytes before the limit that are read again with what lies beyond: a term may span it.
const OVERLAP: usize = 64;
/// Longest text that is tried as a date, in bytes.
const DATE_LIMIT: usize = 96;
/// Places that are tried as the end of a date: separators, and where there are fewer of them the end of the text.
const DATE_SEPARATORS: usize = 8;

/// One element of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A term.
    Term(Term),
    /// A term that restricts, in a piece that is no list of terms.
    Malformed(Term),
    /// A term whose value or date can't be used.
    BadValue(&'a str),
    /// Something that is no term.
    Unknown(&'a str),
    /// Something before a colon that isn't one robot's name: what follows counts for everybody.
    BadScope(&'a str),
    /// The value was longer than what is read; of its end only what restricts.
    Cut,
}

/// How a value is split.
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
/// Cost: linear in the value. Of what lies beyond [`VALUE_LIMIT`] only terms that restrict are read, for everybody.
pub(crate) fn walk<'a>(value: &'a str, form: Form, found: &mut dyn FnMut(&Scope, Found<'a>)) {
    let mut scope = Scope::All;
    let mut rest = cut(value, VALUE_LIMIT);
    loop {
        let end = until(rest, form.separators).len();
        let mut next = end;
        let mut piece = rest[..end].trim_start_matches(is_padding);
        piece = &piece[open_scopes(piece, form.openers, &mut scope, found)..];
        let (name, colon) = split_name(piece, b":=");
        if let Some(colon) = colon.filter(|_| Term::is_date_name(name)) {
            let value_at = end - piece.len() + colon;
            if let Some((date, length)) = date(&rest[value_at..], form.separators) {
                found(&scope, Found::Term(Term::UnavailableAfter(date)));
                next = value_at + length;
            } else if let Some((date, length)) = malformed::date(&rest[value_at..]) {
                found(&scope, Found::Malformed(Term::UnavailableAfter(date)));
                next = value_at + length;
            } else {
                found(&scope, Found::BadValue(piece));
                read_malformed(&piece[colon..], form, &mut scope, found);
            }
        } else {
            read_piece(piece, form, &mut scope, found);
        }
        let mut chars = rest[next..].chars();
        // A malformed date may end before a separator.
        if next >= end && chars.next().is_none() {
            break;
        }
        rest = chars.as_str();
    }
    if value.len() > VALUE_LIMIT {
        found(&Scope::All, Found::Cut);
        let end = &value[cut(value, VALUE_LIMIT - OVERLAP).len()..];
        say_restrictions(end, &Scope::All, found);
    }
}

/// Reads the names that a piece begins with into the scope; gives where its terms begin.
fn open_scopes<'a>(
    piece: &'a str,
    openers: &[u8],
    scope: &mut Scope,
    found: &mut dyn FnMut(&Scope, Found<'a>),
) -> usize {
    let mut at = 0;
    let mut is_named = false;
    while let Some((opened, after)) = opened_scope(&piece[at..], openers) {
        let is_again = is_named && matches!(opened, Opened::Name(_));
        let is_bad = matches!(opened, Opened::Bad);
        *scope = match opened {
            Opened::Name(name) if !is_again => {
                is_named = true;
                name
            }
            _ => Scope::All,
        };
        if is_bad || is_again {
            found(scope, Found::BadScope(&piece[at..at + after]));
        }
        if is_bad {
            // It may be part of what is said.
            break;
        }
        at += after;
        at += piece[at..].len() - piece[at..].trim_start_matches(is_padding).len();
    }
    at
}

/// Reads one piece: a valued term, a term with a remark, a term with blanks or hyphens in it, or several terms. In
/// anything else restrictions count, and permissions don't.
fn read_piece<'a>(piece: &'a str, form: Form, scope: &mut Scope, found: &mut dyn FnMut(&Scope, Found<'a>)) {
    let piece = trim(piece);
    if piece.is_empty() {
        return;
    }
    if let Some(Found::Term(term)) = pair(piece) {
        return found(scope, Found::Term(term));
    }
    let is_for_one = *scope == Scope::All || second_name(piece, form.openers).is_none();
    let (name, colon) = split_name(piece, b":");
    if let (Some(term), Some(_)) = (Term::from_word(name), colon) {
        // What follows a prohibition is a remark; what follows a permission may take it back.
        if is_for_one && (!term.allows() || malformed::restrictions(piece).is_empty()) {
            return found(scope, Found::Term(term));
        }
        return read_malformed(piece, form, scope, found);
    }
    if let Some(term) = Term::from_word(piece) {
        return found(scope, Found::Term(term));
    }
    let read = |word| pair(word).or_else(|| Term::from_word(trim(word)).map(Found::Term));
    let is_known = |word| matches!(read(word), Some(Found::Term(_)));
    let is_list = piece.split_whitespace().all(is_known);
    let hidden = if is_list { Vec::new() } else { malformed::restrictions(piece) };
    let is_plain = |term: &Term| piece.split_whitespace().any(|word| read(word) == Some(Found::Term(*term)));
    let is_understood = is_list || is_for_one && hidden.iter().all(is_plain);
    for word in piece.split_whitespace() {
        match read(word).unwrap_or(Found::Unknown(word)) {
            Found::Term(term) if is_list || !term.allows() => found(scope, Found::Term(term)),
            what @ (Found::Unknown(_) | Found::BadValue(_)) if is_understood => found(scope, what),
            _ => {}
        }
    }
    if !is_understood {
        read_malformed(piece, form, scope, found);
    }
}

/// Reads what restricts in a piece that is no list of terms. After a second name, it is unclear which robot the rest addresses.
fn read_malformed<'a>(
    piece: &'a str,
    form: Form,
    scope: &mut Scope,
    found: &mut dyn FnMut(&Scope, Found<'a>),
) {
    let second = if *scope == Scope::All { None } else { second_name(piece, form.openers) };
    let (first, rest) = piece.split_at(second.unwrap_or(piece.len()));
    say_restrictions(first, scope, found);
    if second.is_some() {
        *scope = Scope::All;
        found(scope, Found::BadScope(rest));
        say_restrictions(rest, scope, found);
    }
}

fn say_restrictions<'a>(text: &str, scope: &Scope, found: &mut dyn FnMut(&Scope, Found<'a>)) {
    for term in malformed::restrictions(text) {
        found(scope, Found::Malformed(term));
    }
}

/// Finds where a piece names a robot once more: a word before a colon that is no term.
fn second_name(piece: &str, openers: &[u8]) -> Option<usize> {
    let is_name = |c: char| c.is_alphanumeric() || "-_./*".contains(c);
    let ends = piece.bytes().enumerate().filter(|(_, byte)| openers.contains(byte));
    ends.map(|(end, _)| {
        let before = piece[..end].trim_end_matches(is_padding);
        before.trim_end_matches(is_name).len()..before.len()
    })
    .find(|name| !name.is_empty() && !Term::is_name(&piece[name.clone()]))
    .map(|name| name.start)
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

/// What is before a colon.
enum Opened {
    /// One robot's name, or `*` or `robots`.
    Name(Scope),
    /// A word that is no robot's name, such as `content`: what follows is for everybody.
    NoRobot,
    /// Something else: which robot is meant is undetermined, so it applies to every robot.
    Bad,
}

/// Words that authors put before a colon and that no robot is named: parts of a pasted tag, line or sentence.
const NO_ROBOTS: [&str; 10] = [
    "content",
    "directive",
    "directives",
    "meta",
    "name",
    "robots-tag",
    "user-agent",
    "useragent",
    "value",
    "x-robots-tag",
];

/// Returns whether a piece begins with a name and a colon, and where its terms begin.
fn opened_scope(piece: &str, openers: &[u8]) -> Option<(Opened, usize)> {
    let (name, after) = split_name(piece, openers);
    let after = after?;
    let name = trim(name);
    if Term::is_name(name) || !malformed::restrictions(name).is_empty() {
        return None;
    }
    let is_part = |part: &str| part.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let (token, version) = name.split_once('/').unwrap_or((name, ""));
    let opened = match token.to_ascii_lowercase().as_str() {
        "*" | "robots" if version.is_empty() => Opened::Name(Scope::All),
        "no" | "not" => Opened::Bad,
        word if NO_ROBOTS.contains(&word) => Opened::NoRobot,
        token
            if token.contains(|c: char| c.is_ascii_alphanumeric()) && is_part(token) && is_part(version) =>
        {
            Opened::Name(Scope::Agent(token.to_owned()))
        }
        _ => Opened::Bad,
    };
    Some((opened, after))
}

/// Splits a piece at its first mark: the name, and where the value begins.
fn split_name<'a>(piece: &'a str, marks: &[u8]) -> (&'a str, Option<usize>) {
    match piece.bytes().position(|byte| marks.contains(&byte)) {
        Some(at) => (&piece[..at], Some(at + 1)),
        None => (piece, None),
    }
}

/// Returns the text up to the first separator.
fn until<'a>(text: &'a str, separators: &[char]) -> &'a str {
    text.find(separators).map_or(text, |end| &text[..end])
}

/// Cuts a text at a number of bytes, at a character's edge.
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
