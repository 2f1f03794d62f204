//! Fields beside the rules: parsed and kept, never wider than the rules.

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
    usage: Vec<PathSignal>,
    signal: Vec<PathSignal>,
    noindex: Vec<(u32, String)>,
    clean_params: Vec<CleanParam>,
    hosts: Vec<String>,
    licenses: Vec<String>,
    comments: Vec<String>,
}

/// Names what a page may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A search index that leads readers to the page.
    Search,
    /// Input of a model at the time of an answer.
    AiInput,
    /// Training of a model.
    AiTrain,
}

/// Says what a site lets a copy be kept as (`use=` of Content-Signal), the narrowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Store nothing.
    Immediate,
    /// Index, excerpt and link.
    Reference,
    /// No limit.
    Full,
}

/// Answers for one path what the file says about each purpose; `None` = nothing said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Consent {
    /// Search.
    pub search: Option<bool>,
    /// AI input.
    pub ai_input: Option<bool>,
    /// AI training.
    pub ai_train: Option<bool>,
    /// The grade of use.
    pub grade: Option<Grade>,
}

impl Consent {
    /// Gives the answer for one purpose.
    pub fn get(&self, purpose: Purpose) -> Option<bool> {
        match purpose {
            Purpose::Search => self.search,
            Purpose::AiInput => self.ai_input,
            Purpose::AiTrain => self.ai_train,
        }
    }

    /// Joins two statements about the same thing: any deny wins, else any allow; the narrower grade wins.
    #[must_use]
    pub fn join(self, other: Consent) -> Consent {
        fn join<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            }
        }
        Consent {
            search: join(self.search, other.search),
            ai_input: join(self.ai_input, other.ai_input),
            ai_train: join(self.ai_train, other.ai_train),
            grade: join(self.grade, other.grade),
        }
    }

    /// Reads a Content-Usage value without path, e.g. `train-ai=n, search=y` (also of the response header).
    ///
    /// Parsed as a dictionary of structured fields (RFC 9651): the last of equal keys counts, a value other than the tokens `y`
    /// and `n` is unknown, a failure to parse makes everything unknown.
    pub fn content_usage(value: &str) -> Consent {
        usage(value.as_bytes()).unwrap_or_default()
    }

    /// Reads a Content-Signal value without path, e.g. `search=yes, ai-train=no` (also of the response header).
    pub fn content_signal(value: &str) -> Consent {
        signal(value.as_bytes()).0
    }
}

/// Holds one Content-Usage or Content-Signal line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathSignal {
    /// The path for which it speaks, as a rule pattern; `/` where none was given.
    pub path: String,
    /// What it says.
    pub consent: Consent,
    /// The line's value as it was written.
    pub raw: String,
    /// The number of the line, from 1.
    pub line: u32,
}

/// Holds one Clean-param line: query parameters that don't change the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CleanParam {
    /// The names of the parameters.
    pub params: Vec<String>,
    /// The path prefix for which they count; `/` where none was given.
    pub path: String,
}

impl Signals {
    /// Answers for a path what the Content-Usage and Content-Signal lines of our group say.
    ///
    /// In each of the two fields the lines with the longest matching path speak; where they disagree, deny wins.
    pub fn consent(&self, path_and_query: &str) -> Consent {
        if self.usage.is_empty() && self.signal.is_empty() {
            return Consent::default();
        }
        longest(&self.usage, path_and_query).join(longest(&self.signal, path_and_query))
    }

    /// Gives the line of the `Noindex` field that covers a path. Google ended the field in 2019; we treat it as a page's noindex.
    pub fn noindex(&self, path_and_query: &str) -> Option<u32> {
        self.noindex.iter().find(|(_, path)| covered(path, path_and_query).is_some()).map(|&(line, _)| line)
    }

    /// Gives the Content-Usage lines of our group, in file order.
    pub fn content_usage(&self) -> &[PathSignal] {
        &self.usage
    }

    /// Gives the Content-Signal lines of our group, in file order.
    pub fn content_signal(&self) -> &[PathSignal] {
        &self.signal
    }

    /// Gives the Clean-param lines of the file.
    pub fn clean_params(&self) -> &[CleanParam] {
        &self.clean_params
    }

    /// Gives the preferred mirrors (`Host`), in file order.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Gives the licence URLs (`License`), in file order.
    pub fn licenses(&self) -> &[String] {
        &self.licenses
    }

    /// Gives the `Comment` lines of our group: they address the operator of the crawl.
    pub fn comments(&self) -> &[String] {
        &self.comments
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        let lines = |lines: &Vec<PathSignal>| {
            let line =
                |line: &PathSignal| memory::block(line.path.capacity()) + memory::block(line.raw.capacity());
            memory::list::<PathSignal>(lines.capacity()) + lines.iter().map(line).sum::<usize>()
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
                Field::ContentUsage => signals.usage.push(path_signal(line)),
                Field::ContentSignal => signals.signal.push(path_signal(line)),
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

fn longest(lines: &[PathSignal], path_and_query: &str) -> Consent {
    let mut best = (0, Consent::default());
    for line in lines {
        match covered(&line.path, path_and_query) {
            Some(length) if length > best.0 => best = (length, line.consent),
            Some(length) if length == best.0 => best.1 = best.1.join(line.consent),
            _ => {}
        }
    }
    best.1
}

/// Gives the length of a path pattern that covers a URL.
fn covered(pattern: &str, url: &str) -> Option<u32> {
    let (mut arena, mut patterns) = (Vec::new(), Vec::new());
    let bytes = pattern.as_bytes();
    Pattern::compile(bytes, classes(bytes), &mut arena, |pattern, length| patterns.push((pattern, length)));
    let path = path_and_query(url);
    let subject = Subject::new(path.as_bytes());
    patterns.iter().find(|(pattern, _)| pattern.matches(&subject, &arena)).map(|&(_, length)| length)
}

fn path_signal(line: &OtherLine<'_>) -> PathSignal {
    let (path, statement) = split_path(line.value);
    let consent = match line.field {
        Field::ContentUsage => usage(statement).unwrap_or_default(),
        _ => signal(statement).0,
    };
    PathSignal { path: lossy(path, 2048), consent, raw: lossy(line.value, 2048), line: line.line }
}

/// Parts the path, which ends at the first blank, from the statement. Without a path: `/`.
fn split_path(value: &[u8]) -> (&[u8], &[u8]) {
    if !matches!(value.first(), Some(b'/' | b'*')) {
        return (b"/", value);
    }
    let end = value.iter().position(|&b| crate::bytes::is_blank(b)).unwrap_or(value.len());
    (&value[..end], trim(&value[end..]))
}

/// Warns about statements that can't be read.
pub(crate) fn inspect(line: &OtherLine<'_>, notes: &mut Notes) {
    let statement = split_path(line.value).1;
    let good = match line.field {
        Field::ContentUsage => usage(statement).is_some(),
        Field::ContentSignal => signal(statement).1,
        _ => return,
    };
    if !good {
        notes.add(
            line.line,
            WarningKind::BadSignal,
            &[line.field.name().as_bytes(), b": ", line.value].concat(),
        );
    }
}

/// Reads a dictionary of structured fields as far as preferences need it. None where it can't be parsed.
fn usage(value: &[u8]) -> Option<Consent> {
    let mut consent = Consent::default();
    let mut rest = trim(value);
    while !rest.is_empty() {
        let key_end = rest
            .iter()
            .position(|b| {
                !(b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'.' | b'*'))
            })
            .unwrap_or(rest.len());
        let (key, after) = rest.split_at(key_end);
        if !key.first().is_some_and(|b| b.is_ascii_lowercase() || *b == b'*') {
            return None;
        }
        let (item, after) = match after.strip_prefix(b"=") {
            Some(value) => item(value)?,
            // A key alone is the Boolean true: neither `y` nor `n`.
            None => (&b""[..], after),
        };
        let after = trim(parameters(after)?);
        let said = match item {
            b"y" => Some(true),
            b"n" => Some(false),
            _ => None,
        };
        match key {
            b"train-ai" => consent.ai_train = said,
            b"ai-use" => consent.ai_input = said,
            b"search" => consent.search = said,
            _ => {}
        }
        rest = match after.split_first() {
            None => after,
            // A comma must have a member behind it.
            Some((b',', next)) => Some(trim(next)).filter(|next| !next.is_empty())?,
            Some(_) => return None,
        };
    }
    Some(consent)
}

/// Takes one item: a token, a string, a number, a Boolean, a byte sequence or an inner list. Strings come with their quotes.
fn item(value: &[u8]) -> Option<(&[u8], &[u8])> {
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
    (end <= value.len()).then(|| value.split_at(end))
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
            Some(value) => item(value)?.1,
            None => &parameter[end..],
        };
    }
    Some(rest)
}

/// Reads `search=yes, ai-train=no, use=reference`, and whether every part of it is of that form.
fn signal(value: &[u8]) -> (Consent, bool) {
    let mut consent = Consent::default();
    let mut good = !trim(value).is_empty();
    for part in value.split(|b| matches!(b, b',' | b';')).map(trim).filter(|part| !part.is_empty()) {
        let Some(equals) = memchr::memchr(b'=', part) else {
            good = false;
            continue;
        };
        let key = trim(&part[..equals]).to_ascii_lowercase();
        let said = trim(&part[equals + 1..]).to_ascii_lowercase();
        let answer = match said.as_slice() {
            b"yes" => Some(true),
            b"no" => Some(false),
            _ => None,
        };
        match key.as_slice() {
            b"search" => consent.search = answer,
            b"ai-input" => consent.ai_input = answer,
            b"ai-train" => consent.ai_train = answer,
            b"use" => {
                consent.grade = match said.as_slice() {
                    b"immediate" => Some(Grade::Immediate),
                    b"reference" => Some(Grade::Reference),
                    b"full" => Some(Grade::Full),
                    _ => None,
                };
                good &= consent.grade.is_some();
                continue;
            }
            _ => continue,
        }
        good &= answer.is_some();
    }
    (consent, good)
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
