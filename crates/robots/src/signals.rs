//! What a file says beside rules, timing and sitemaps.

use std::collections::HashSet;

use serde::{Serialize, Serializer};

use crate::bytes::{classes, trim, words};
use crate::field::Field;
use crate::memory;
use crate::pattern::{Pattern, Subject};
use crate::read::OtherLine;
use crate::room::Room;
use crate::target::path_and_query;
use crate::timing::join;
use crate::warning::{Notes, WarningKind, lossy};

/// Content-Usage and Content-Signal lines that are kept whole.
const WHOLE_LINES: usize = 1_000;

/// Bytes of the values of those lines.
const WHOLE_TEXT: usize = 64 << 10;

/// Bytes of a value that are kept.
const VALUE: usize = 2_048;

/// Holds what the file says beside rules, timing and sitemaps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Signals {
    usage: Vec<SignalLine>,
    signal: Vec<SignalLine>,
    #[serde(skip_serializing_if = "LaterLines::is_empty")]
    later: LaterLines,
    noindex: Lines,
    clean_params: Vec<CleanParam>,
    hosts: Vec<String>,
    licenses: Vec<String>,
    /// The number of the line of each, from 1.
    #[serde(skip)]
    license_lines: Vec<u32>,
    comments: Vec<String>,
}

/// Holds one Content-Usage or Content-Signal line of our group, unread: what it permits is decided by the module `consent` of the
/// crate `page-directives`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SignalLine {
    /// The line's value as it was written, in lossy UTF-8, cut after 2,048 bytes.
    pub raw: String,
    /// The number of the line, from 1.
    pub line: u32,
}

/// Holds one Clean-param line: query parameters that don't change the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CleanParam {
    /// The names of the parameters.
    pub params: Vec<String>,
    /// The path prefix for which they count; `/` where none was given.
    pub path: String,
}

/// Values of lines, one behind the other: eight bytes a line beside its value, however many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Lines {
    /// The number of each line, and where its value ends.
    ends: Vec<(u32, u32)>,
    text: Vec<u8>,
}

impl Lines {
    fn push(&mut self, line: u32, value: &[u8]) {
        // One byte more than is shown tells that there is more.
        self.text.extend_from_slice(&value[..value.len().min(VALUE + 1)]);
        self.ends.push((line, self.text.len() as u32));
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&(_, end)| end));
        let places = starts.zip(&self.ends);
        places.map(|(start, &(line, end))| (line, &self.text[start as usize..end as usize]))
    }

    /// Takes the lines of another reading that this one doesn't have.
    fn join(&mut self, other: &Lines) {
        if self == other {
            return;
        }
        let known: HashSet<_> = self.iter().collect();
        let more: Vec<_> = other.iter().filter(|line| !known.contains(line)).collect();
        for (line, value) in more {
            self.push(line, value);
        }
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    fn memory(&self) -> usize {
        memory::list::<(u32, u32)>(self.ends.capacity()) + memory::block(self.text.capacity())
    }
}

/// As pairs of number and value.
impl Serialize for Lines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(line, value)| (line, lossy(value, VALUE))))
    }
}

/// The first words of Content-Usage and Content-Signal lines that aren't kept whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct LaterLines {
    usage: Lines,
    signal: Lines,
}

impl LaterLines {
    fn is_empty(&self) -> bool {
        self.usage.ends.is_empty() && self.signal.ends.is_empty()
    }
}

impl Signals {
    /// Returns the line of the `Noindex` field that covers a path. Google ended the field in 2019; we treat it as a page's noindex.
    pub fn noindex(&self, path_and_query: &str) -> Option<u32> {
        if self.noindex.ends.is_empty() {
            return None;
        }
        let path = self::path_and_query(path_and_query);
        let subject = Subject::new(path.as_bytes());
        let mut arena = Vec::new();
        self.noindex.iter().find(|(_, value)| covers(value, &subject, &mut arena)).map(|(line, _)| line)
    }

    /// Returns the Content-Usage lines of our group, in file order: of them and the Content-Signal lines together the first 1,000, and
    /// those that begin within the first 64 KiB of their values. [`later_usage`](Self::later_usage) gives the others.
    pub fn content_usage(&self) -> &[SignalLine] {
        &self.usage
    }

    /// Returns the Content-Signal lines of our group, in file order, within the limits of [`content_usage`](Self::content_usage).
    pub fn content_signal(&self) -> &[SignalLine] {
        &self.signal
    }

    /// Returns the number and the first word of each Content-Usage line beyond the limits of [`content_usage`](Self::content_usage):
    /// the path that it is for, where it begins with one.
    pub fn later_usage(&self) -> impl Iterator<Item = (u32, String)> {
        self.later.usage.iter().map(|(line, word)| (line, lossy(word, VALUE)))
    }

    /// As [`later_usage`](Self::later_usage), of Content-Signal lines.
    pub fn later_signal(&self) -> impl Iterator<Item = (u32, String)> {
        self.later.signal.iter().map(|(line, word)| (line, lossy(word, VALUE)))
    }

    /// Returns the Clean-param lines of the file.
    pub fn clean_params(&self) -> &[CleanParam] {
        &self.clean_params
    }

    /// Returns the preferred mirrors (`Host`), in file order.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Returns the licence URLs (`License`), in file order.
    pub fn licenses(&self) -> &[String] {
        &self.licenses
    }

    /// Returns the numbers of the lines, from 1, of [`licenses`](Self::licenses), in the same order.
    pub fn license_lines(&self) -> &[u32] {
        &self.license_lines
    }

    /// Returns the `Comment` lines of our group: they address the operator of the crawl.
    pub fn comments(&self) -> &[String] {
        &self.comments
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        let lines = |lines: &Vec<SignalLine>| {
            let texts = lines.iter().map(|line| memory::block(line.raw.capacity()));
            memory::list::<SignalLine>(lines.capacity()) + texts.sum::<usize>()
        };
        lines(&self.usage)
            + lines(&self.signal)
            + self.later.usage.memory()
            + self.later.signal.memory()
            + self.noindex.memory()
            + memory::list::<CleanParam>(self.clean_params.capacity())
            + self.clean_params.iter().map(CleanParam::memory).sum::<usize>()
            + memory::texts(&self.hosts, self.hosts.capacity())
            + memory::texts(&self.licenses, self.licenses.capacity())
            + memory::list::<u32>(self.license_lines.capacity())
            + memory::texts(&self.comments, self.comments.capacity())
    }

    /// Takes the statements of another reading of the same file that this one doesn't have.
    pub(crate) fn join(&mut self, other: Signals) {
        join(&mut self.usage, other.usage);
        join(&mut self.signal, other.signal);
        self.later.usage.join(&other.later.usage);
        self.later.signal.join(&other.later.signal);
        self.noindex.join(&other.noindex);
    }

    /// Reads the lines of our group and of the whole file, in file order. What addresses the operator or names mirrors, licences and
    /// parameters is kept as far as there is room.
    pub(crate) fn read<'a>(lines: impl Iterator<Item = &'a OtherLine<'a>>, room: &mut Room) -> Signals {
        let mut signals = Signals::default();
        let mut whole = Whole::default();
        for line in lines {
            let (number, value) = (line.line, line.value);
            let text = |room: &mut Room| room.text(lossy(value, VALUE));
            match line.field {
                Field::ContentUsage => whole.keep(&mut signals.usage, &mut signals.later.usage, line),
                Field::ContentSignal => whole.keep(&mut signals.signal, &mut signals.later.signal, line),
                Field::Noindex if !value.is_empty() => signals.noindex.push(number, value),
                Field::CleanParam => {
                    let clean = clean_param(value);
                    signals
                        .clean_params
                        .extend(clean.filter(|clean| room.take(size_of::<CleanParam>() + clean.memory())));
                }
                Field::Host if !value.is_empty() => signals.hosts.extend(text(room)),
                Field::License if !value.is_empty() => {
                    if let Some(url) = text(room) {
                        signals.licenses.push(url);
                        signals.license_lines.push(number);
                    }
                }
                Field::Comment if !value.is_empty() => signals.comments.extend(text(room)),
                _ => {}
            }
        }
        signals.shrink();
        signals
    }

    /// Gives back what the lists were ahead.
    fn shrink(&mut self) {
        self.usage.shrink_to_fit();
        self.signal.shrink_to_fit();
        self.later.usage.shrink();
        self.later.signal.shrink();
        self.noindex.shrink();
        self.clean_params.shrink_to_fit();
        self.hosts.shrink_to_fit();
        self.licenses.shrink_to_fit();
        self.license_lines.shrink_to_fit();
        self.comments.shrink_to_fit();
    }
}

impl CleanParam {
    fn memory(&self) -> usize {
        memory::texts(&self.params, self.params.capacity()) + memory::block(self.path.capacity())
    }
}

/// Counts the Content-Usage and Content-Signal lines that are kept whole.
#[derive(Default)]
struct Whole {
    lines: usize,
    text: usize,
}

impl Whole {
    fn keep(&mut self, whole: &mut Vec<SignalLine>, later: &mut Lines, line: &OtherLine<'_>) {
        if self.lines >= WHOLE_LINES || self.text > WHOLE_TEXT {
            let word = line.value.split(|b| matches!(b, b' ' | b'\t')).next().unwrap_or_default();
            return later.push(line.line, word);
        }
        let raw = lossy(line.value, VALUE);
        self.lines += 1;
        self.text += raw.len();
        whole.push(SignalLine { raw, line: line.line });
    }
}

/// Returns whether a path pattern covers a URL. `arena` is overwritten.
fn covers(value: &[u8], subject: &Subject<'_>, arena: &mut Vec<u8>) -> bool {
    let shown;
    let value = if value.len() <= VALUE && value.iter().all(|b| (b' '..=b'~').contains(b)) {
        value
    } else {
        shown = lossy(value, VALUE);
        shown.as_bytes()
    };
    arena.clear();
    Pattern::compile(value, classes(value), arena).is_some_and(|(pattern, _)| pattern.matches(subject, arena))
}

/// Returns the statement behind the path, which ends at the first blank.
fn statement(value: &[u8]) -> &[u8] {
    if !matches!(value.first(), Some(b'/' | b'*')) {
        return value;
    }
    let end = value.iter().position(|&b| crate::bytes::is_blank(b)).unwrap_or(value.len());
    trim(&value[end..])
}

/// Warns about statements that can't be read.
pub(crate) fn inspect(line: &OtherLine<'_>, notes: &mut Notes) {
    let is_readable = match line.field {
        Field::ContentUsage => is_dictionary(statement(line.value)),
        Field::ContentSignal => is_signal_list(statement(line.value)),
        _ => return,
    };
    if !is_readable {
        notes.add(
            line.line,
            WarningKind::BadSignal,
            &[line.field.name().as_bytes(), b": ", line.value].concat(),
        );
    }
}

/// Returns whether a value is a dictionary of structured fields (RFC 9651 section 3.2).
fn is_dictionary(value: &[u8]) -> bool {
    let mut rest = trim(value);
    while !rest.is_empty() {
        let Some(after) = member(rest) else { return false };
        rest = match after.split_first() {
            None => after,
            // A comma must have a member behind it.
            Some((b',', next)) if !trim(next).is_empty() => trim(next),
            Some(_) => return false,
        };
    }
    true
}

/// Skips one member of a dictionary, and the blanks behind it.
fn member(value: &[u8]) -> Option<&[u8]> {
    let key_end = value
        .iter()
        .position(|b| {
            !(b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'.' | b'*'))
        })
        .unwrap_or(value.len());
    let (key, after) = value.split_at(key_end);
    if !key.first().is_some_and(|b| b.is_ascii_lowercase() || *b == b'*') {
        return None;
    }
    let after = match after.strip_prefix(b"=") {
        Some(value) => item(value)?,
        // A key alone is the Boolean true.
        None => after,
    };
    Some(trim(parameters(after)?))
}

/// Skips one item: a token, a string, a number, a Boolean, a byte sequence or an inner list.
fn item(value: &[u8]) -> Option<&[u8]> {
    let end = match value.first()? {
        b'"' => {
            let mut at = 1;
            while *value.get(at)? != b'"' {
                at += if value[at] == b'\\' { 2 } else { 1 };
            }
            at + 1
        }
        b':' => 2 + memchr::memchr(b':', &value[1..])?,
        b'(' => 1 + memchr::memchr(b')', value)?,
        b'?' => 2,
        b if b.is_ascii_alphanumeric() || matches!(b, b'*' | b'-' | b'@') => value
            .iter()
            .position(|b| !(b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/@".contains(b)))
            .unwrap_or(value.len()),
        _ => return None,
    };
    value.get(end..)
}

/// Skips `;key=value` parameters.
fn parameters(mut rest: &[u8]) -> Option<&[u8]> {
    while let Some(parameter) = rest.strip_prefix(b";") {
        let parameter = trim(parameter);
        let end = parameter
            .iter()
            .position(|b| !(b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-.*".contains(b)))
            .unwrap_or(parameter.len());
        if end == 0 {
            return None;
        }
        rest = match parameter[end..].strip_prefix(b"=") {
            Some(value) => item(value)?,
            None => &parameter[end..],
        };
    }
    Some(rest)
}

/// Returns whether every part of `search=yes, ai-train=no, use=reference` is of that form.
fn is_signal_list(value: &[u8]) -> bool {
    let is_good = |part: &[u8]| {
        let Some(equals) = memchr::memchr(b'=', part) else { return false };
        let one_of = |words: &[&[u8]]| {
            let value = trim(&part[equals + 1..]);
            words.iter().any(|word| value.eq_ignore_ascii_case(word))
        };
        match trim(&part[..equals]).to_ascii_lowercase().as_slice() {
            b"search" | b"ai-input" | b"ai-train" => one_of(&[b"yes", b"no"]),
            b"use" => one_of(&[b"immediate", b"reference", b"full"]),
            _ => true,
        }
    };
    let mut parts = value.split(|b| matches!(b, b',' | b';')).map(trim).filter(|part| !part.is_empty());
    !trim(value).is_empty() && parts.all(is_good)
}

fn clean_param(value: &[u8]) -> Option<CleanParam> {
    let mut words = words(value);
    let params: Vec<_> = words
        .next()?
        .split(|&b| b == b'&')
        .filter(|name| !name.is_empty())
        .map(|name| lossy(name, 500))
        .collect();
    let path = words.next().map_or_else(|| "/".to_owned(), |path| lossy(path, 500));
    (!params.is_empty()).then_some(CleanParam { params, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Source: RFC 9651, sections 3.2 and 4.2.2.
    #[test]
    fn dictionaries_of_structured_fields_are_told_from_what_is_none() {
        for value in [
            "",
            "train-ai=n",
            "train-ai=n, search=y",
            "train-ai=n ,\tsearch=y",
            "train-ai=n;exception",
            "train-ai=n;exception;until=2027, search=y",
            "train-ai=n;of=\"a;b, c\", search=y",
            "train-ai;x=1",
            "train-ai=n;x1_y-z.w*=1",
            "a=\"x \\\" y\"",
            "a=(1 2);q=0.5",
            "a=?1, b=:YQ==:, c=-4.5, d=@1659578233",
            "*a=1, a_b-c.d*=2",
        ] {
            assert!(is_dictionary(value.as_bytes()), "{value}");
        }
        for value in [
            "Train-AI=n",
            "train-ai=",
            "=n",
            "1a=n",
            "train-ai=n,",
            "train-ai=n search=y",
            "train-ai=n; search y",
            "train-ai=n;",
            "train-ai=n;=1",
            "train-ai=n;X",
            "train-ai=n;x=",
            "a=\"x",
            "a=\"x\\",
            "a=(1 2",
            "a=:YQ==",
        ] {
            assert!(!is_dictionary(value.as_bytes()), "{value}");
        }
    }
}
