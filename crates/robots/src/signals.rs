//! What a file says beside rules, timing and sitemaps.

use serde::Serialize;

use crate::bytes::{classes, trim, words};
use crate::field::Field;
use crate::memory;
use crate::pattern::{Pattern, Subject};
use crate::read::OtherLine;
use crate::target::path_and_query;
use crate::timing::join;
use crate::warning::{Notes, WarningKind, lossy};

/// Holds what the file says beside rules, timing and sitemaps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Signals {
    usage: Vec<SignalLine>,
    signal: Vec<SignalLine>,
    noindex: Vec<(u32, String)>,
    clean_params: Vec<CleanParam>,
    hosts: Vec<String>,
    licenses: Vec<String>,
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

impl Signals {
    /// Returns the line of the `Noindex` field that covers a path. Google ended the field in 2019; we treat it as a page's noindex.
    pub fn noindex(&self, path_and_query: &str) -> Option<u32> {
        self.noindex.iter().find(|(_, path)| covers(path, path_and_query)).map(|&(line, _)| line)
    }

    /// Returns the Content-Usage lines of our group, in file order.
    pub fn content_usage(&self) -> &[SignalLine] {
        &self.usage
    }

    /// Returns the Content-Signal lines of our group, in file order.
    pub fn content_signal(&self) -> &[SignalLine] {
        &self.signal
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
        let params = |clean: &CleanParam| {
            memory::texts(&clean.params, clean.params.capacity()) + memory::block(clean.path.capacity())
        };
        lines(&self.usage)
            + lines(&self.signal)
            + memory::list::<(u32, String)>(self.noindex.capacity())
            + self.noindex.iter().map(|(_, path)| memory::block(path.capacity())).sum::<usize>()
            + memory::list::<CleanParam>(self.clean_params.capacity())
            + self.clean_params.iter().map(params).sum::<usize>()
            + memory::texts(&self.hosts, self.hosts.capacity())
            + memory::texts(&self.licenses, self.licenses.capacity())
            + memory::texts(&self.comments, self.comments.capacity())
    }

    /// Takes the statements of another reading of the same file that this one doesn't have.
    pub(crate) fn join(&mut self, other: Signals) {
        join(&mut self.usage, other.usage);
        join(&mut self.signal, other.signal);
        join(&mut self.noindex, other.noindex);
    }

    /// Reads the lines of our group and of the whole file.
    pub(crate) fn read<'a>(lines: impl Iterator<Item = &'a OtherLine<'a>>) -> Signals {
        let mut signals = Signals::default();
        for line in lines {
            let value = || lossy(line.value, 2048);
            match line.field {
                Field::ContentUsage => signals.usage.push(SignalLine { raw: value(), line: line.line }),
                Field::ContentSignal => signals.signal.push(SignalLine { raw: value(), line: line.line }),
                Field::Noindex if !line.value.is_empty() => signals.noindex.push((line.line, value())),
                Field::CleanParam => signals.clean_params.extend(clean_param(line.value)),
                Field::Host if !line.value.is_empty() => signals.hosts.push(value()),
                Field::License if !line.value.is_empty() => signals.licenses.push(value()),
                Field::Comment if !line.value.is_empty() => signals.comments.push(value()),
                _ => {}
            }
        }
        signals
    }
}

/// Returns whether a path pattern covers a URL.
fn covers(pattern: &str, url: &str) -> bool {
    let (mut arena, mut patterns) = (Vec::new(), Vec::new());
    let bytes = pattern.as_bytes();
    Pattern::compile(bytes, classes(bytes), &mut arena, |pattern, _| patterns.push(pattern));
    let path = path_and_query(url);
    let subject = Subject::new(path.as_bytes());
    patterns.iter().any(|pattern| pattern.matches(&subject, &arena))
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
