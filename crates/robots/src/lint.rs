//! Mistakes that only show across lines, or that don't change how the file is read: reported to its author only.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::bytes::{classes, normalise, trim, words};
use crate::encoding::Body;
use crate::field::Field;
use crate::lex::{Content, Line, Lines};
use crate::warning::{Notes, WarningKind as Kind};
use crate::{Options, Warning};

/// Looks for what the author of a file should know beside [`Robots::warnings`](crate::Robots::warnings): rules without effect,
/// a `*` at the end of a path, regular expressions, names in several groups. In line order, at most 201.
///
/// Not used in a crawl: the file is read again, every group of it and not only ours.
///
/// ```
/// use robots::{Options, WarningKind, lint};
///
/// let warnings = lint(b"User-agent: *\nDisallow: /tmp/*\n", &Options::default());
/// assert_eq!((warnings[0].line, warnings[0].kind), (2, WarningKind::TrailingStar));
/// ```
pub fn lint(body: &[u8], options: &Options) -> Vec<Warning> {
    let body = Body::open(body, options.max_bytes);
    let (text, _) = body.text();
    // An HTML page is reported as a whole.
    let is_page = text.trim_ascii_start().first() == Some(&b'<');
    let mut lint = Lint::default();
    for line in Lines::new(&text, false) {
        if let Content::Pair { name, value, .. } = line.content
            && let Some((field, _)) = Field::read(name)
        {
            lint.pair(&line, field, value);
        }
        if !is_page && (line.raw.first() == Some(&b'<') || has_tag(line.raw)) {
            lint.notes.add(line.number, Kind::HtmlTag, line.raw);
        }
    }
    lint.end_group();
    hashes(&text, &mut lint.notes);
    lint.notes.into_list()
}

#[derive(Default)]
struct Lint<'a> {
    notes: Notes,
    group: Option<Group<'a>>,
    /// The first group that names a robot.
    named: HashMap<Vec<u8>, u32>,
    groups: u32,
}

#[derive(Default)]
struct Group<'a> {
    rules: Vec<Rule<'a>>,
    empty: Vec<(u32, &'a [u8])>,
}

struct Rule<'a> {
    line: u32,
    allow: bool,
    path: Cow<'a, [u8]>,
    raw: &'a [u8],
}

/// Rules of one kind that are compared with those of the other kind.
const COMPARED: usize = 1000;

impl<'a> Lint<'a> {
    fn pair(&mut self, line: &Line<'a>, field: Field, value: &'a [u8]) {
        match field {
            Field::UserAgent => self.agent(line, value),
            Field::Allow | Field::Disallow => self.rule(line, field == Field::Allow, value),
            _ if field.is_of_group() && self.group.is_none() => {
                self.notes.add(line.number, Kind::RuleBeforeAgent, line.raw);
            }
            _ => {}
        }
    }

    fn agent(&mut self, line: &Line<'a>, value: &[u8]) {
        if self.group.as_ref().is_none_or(|group| !group.rules.is_empty() || !group.empty.is_empty()) {
            self.end_group();
            self.group = Some(Group::default());
            self.groups += 1;
        }
        let name = words(value).next().and_then(|word| word.split(|&b| b == b'/').next()).unwrap_or_default();
        if name.is_empty() {
            return;
        }
        let group = *self.named.entry(name.to_ascii_lowercase()).or_insert(self.groups);
        if group != self.groups {
            self.notes.add(line.number, Kind::RepeatedAgent, line.raw);
        }
    }

    fn rule(&mut self, line: &Line<'a>, allow: bool, value: &'a [u8]) {
        self.inspect_path(line, value);
        let Some(group) = &mut self.group else { return };
        if value.is_empty() {
            if !allow {
                group.empty.push((line.number, line.raw));
            }
        } else {
            let path = normalise(value, classes(value));
            group.rules.push(Rule { line: line.number, allow, path, raw: line.raw });
        }
    }

    fn inspect_path(&mut self, line: &Line<'a>, value: &[u8]) {
        let mut add = |kind| self.notes.add(line.number, kind, line.raw);
        let body = value.strip_suffix(b"$").unwrap_or(value);
        if body.ends_with(b"*") {
            add(Kind::TrailingStar);
        }
        if looks_like_expression(value) {
            add(Kind::RegularExpression);
        } else if value.contains(&b'\\') {
            add(Kind::Backslash);
        }
        // `/.jpg$`: nearly always `/*.jpg$` is meant.
        if body.len() < value.len()
            && body.starts_with(b"/.")
            && !body.contains(&b'*')
            && !body[1..].contains(&b'/')
        {
            add(Kind::BareExtension);
        }
    }

    fn end_group(&mut self) {
        let Some(group) = self.group.take() else { return };
        let (allows, denies): (Vec<_>, Vec<_>) = group.rules.iter().partition(|rule| rule.allow);
        for (line, raw) in group.empty.iter().filter(|_| !group.rules.is_empty()) {
            self.notes.add(*line, Kind::EmptyDisallow, raw);
        }
        if allows.len() > COMPARED || denies.len() > COMPARED {
            return;
        }
        for allow in allows {
            if denies.iter().any(|deny| deny.path == allow.path) {
                self.notes.add(allow.line, Kind::AllowedAndDisallowed, allow.raw);
            } else if !denies.iter().any(|deny| may_override(&allow.path, &deny.path)) {
                self.notes.add(allow.line, Kind::AllowWithoutEffect, allow.raw);
            }
        }
    }
}

/// Returns whether an Allow may win over a Disallow for some URL: both can match it, and the Allow isn't shorter.
fn may_override(allow: &[u8], deny: &[u8]) -> bool {
    let literal = |path: &[u8]| path.iter().take_while(|&&b| b != b'*').count();
    let shared = literal(allow).min(literal(deny));
    allow.len() >= deny.len() && allow[..shared] == deny[..shared]
}

/// Patterns of other languages: `.*`, `\.`, `^/`, `(a|b)`, `[0-9]`.
fn looks_like_expression(value: &[u8]) -> bool {
    let has = |part: &[u8]| memchr::memmem::find(value, part).is_some();
    // `[0-9]` and `[^a]`, but not `filter[price]`.
    let has_set = || {
        value.windows(4).any(|part| matches!(part, [b'[', b'^', ..]) || part[0] == b'[' && part[2] == b'-')
    };
    has(b".*") && !has(b"/.*")
        || has(b"\\.")
        || has(b"\\d")
        || has(b".+")
        || value.first() == Some(&b'^')
        || has(b"(") && has(b"|")
        || has_set()
}

/// Returns whether a line holds an HTML tag.
fn has_tag(line: &[u8]) -> bool {
    memchr::memchr_iter(b'<', line).any(|at| {
        let rest = &line[at + 1..];
        let rest = rest.strip_prefix(b"/").unwrap_or(rest);
        rest.first().is_some_and(u8::is_ascii_alphabetic) && memchr::memchr(b'>', rest).is_some()
    })
}

/// Warns of a `#` within a path: it starts a comment.
fn hashes(text: &[u8], notes: &mut Notes) {
    let end = |b: &u8| matches!(b, b'\n' | b'\r');
    let mut number = 1;
    let mut lines = text.split_inclusive(end).peekable();
    while let Some(line) = lines.next() {
        let is_rule = memchr::memchr(b':', line)
            .and_then(|colon| Field::read(trim(&line[..colon])))
            .is_some_and(|(field, _)| matches!(field, Field::Allow | Field::Disallow));
        if is_rule
            && let Some(hash) = memchr::memchr(b'#', line)
            && line[..hash].last().is_some_and(|&b| !crate::bytes::is_blank(b) && b != b':')
            && line.get(hash + 1).is_some_and(|b| !b.is_ascii_whitespace())
        {
            notes.add(number, Kind::HashInPath, line.strip_suffix(b"\n").unwrap_or(line));
        }
        let is_crlf = line.ends_with(b"\r") && lines.peek().is_some_and(|next| *next == b"\n");
        number += u32::from(!is_crlf);
    }
}
