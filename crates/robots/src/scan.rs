//! Decides by reading a text once more, for files whose rules would take too much memory if they were prepared.
//!
//! What decides is the same: the lines come from the same reader, the paths from the same expansion, and are compared by the same
//! patterns.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Additions;
use crate::bytes::{BLANK, DOLLAR, ENCODE, PERCENT, STAR};
use crate::choice::{Case, Choice, Decided, Order, label, shown};
use crate::conner;
use crate::lex::Lines;
use crate::longest::{Best, Expansion};
use crate::pattern::{Pattern, Subject};
use crate::places::Places;
use crate::prefix::{self, decode};
use crate::read::{Group, Lists, OtherLine, Reader, RuleLine};
use crate::select::Selector;
use crate::warning::{Notes, lossy};

/// The decision about one URL.
pub(crate) struct Scan<'t, 's> {
    choice: &'s Choice,
    expansion: Expansion<'s>,
    /// The URL, and its other reading (H9).
    subjects: [Option<&'s Subject<'s>>; 2],
    /// Its path as the older dialects compare it.
    symbols: Vec<u16>,
    places: Option<Places>,
    best: [Best<Found<'t>>; 2],
    first: Option<(bool, Found<'t>)>,
    conner: Option<(Rank, bool, Found<'t>)>,
    restriction: [Best<Found<'t>>; 2],
    /// Holds the text of one pattern.
    arena: Vec<u8>,
}

type Rank = (bool, std::cmp::Reverse<usize>, bool);

/// A line that matches.
#[derive(Debug, Clone, Copy)]
struct Found<'t> {
    line: u32,
    raw: &'t [u8],
    label: &'t [u8],
}

impl<'t, 's> Scan<'t, 's> {
    pub(crate) fn new(
        choice: &'s Choice,
        expansion: Expansion<'s>,
        path: &str,
        subject: &'s Subject<'s>,
        other: Option<&'s Subject<'s>>,
    ) -> Self {
        let symbols = if choice.order == Order::Longest { Vec::new() } else { decode(path.as_bytes()) };
        Self {
            choice,
            expansion,
            subjects: [Some(subject), other],
            symbols,
            places: None,
            best: Default::default(),
            first: None,
            conner: None,
            restriction: Default::default(),
            arena: Vec::new(),
        }
    }

    /// Reads the text, and whether it is separated. `quoted`: the form of it that lines are quoted from, where that is another one.
    pub(crate) fn decide(
        mut self,
        (text, is_separated): (&'t [u8], bool),
        quoted: Option<&[u8]>,
        case: &Case<'_>,
    ) -> Option<Decided> {
        reader(self.choice, is_separated, case).read_to(text, &mut self);
        let either = |[first, other]: [Best<Found<'t>>; 2]| {
            let first = first.take();
            let is_denial = |&(allowed, _): &(bool, Found<'t>)| !allowed;
            match other.take().filter(is_denial) {
                Some(other) if !first.as_ref().is_some_and(is_denial) => Some(other),
                _ => first,
            }
        };
        let mut decided = match self.choice.order {
            Order::Longest => either(self.best),
            Order::First { .. } => self.first,
            Order::Conner => self.conner.map(|(_, allow, found)| (allow, found)),
        };
        if decided.as_ref().is_none_or(|&(allowed, _)| allowed)
            && let Some((_, restriction)) = either(self.restriction)
        {
            decided = Some((false, restriction));
        }
        let (allowed, found) = decided?;
        let rule = match quoted {
            None => shown(found.raw),
            Some(text) => {
                let line = Lines::new(text, true).find(|line| line.number == found.line);
                shown(line.map(|line| line.raw).unwrap_or_default())
            }
        };
        Some(Decided { allowed, line: found.line, rule, group: Some(lossy(found.label, 200).into()) })
    }

    /// Compares the paths of a line with the URL in both readings.
    fn longest(&mut self, line: &RuleLine<'t>, found: Found<'t>, is_restriction: bool) {
        let expansion =
            Expansion { index_folder: self.expansion.index_folder && !is_restriction, ..self.expansion };
        let Self { subjects, best, restriction, arena, .. } = self;
        let best = if is_restriction { restriction } else { best };
        let mut used = Additions::NONE;
        expansion.paths(line, &mut used, |path, classes| {
            // A plain path is compared as it is written.
            let is_plain = classes & (ENCODE | PERCENT | DOLLAR | STAR | BLANK) == 0;
            if is_plain && !path.is_empty() && path[0] == b'/' {
                for (subject, best) in subjects.iter().zip(best.iter_mut()) {
                    if let Some(subject) = subject
                        && subject.bytes().starts_with(path)
                        && best.wants(path.len() as u32, line.allow)
                    {
                        best.put(path.len() as u32, line.allow, found);
                    }
                }
                return;
            }
            arena.clear();
            let Some((pattern, length)) = Pattern::compile(path, classes, arena) else { return };
            for (subject, best) in subjects.iter().zip(best.iter_mut()) {
                if let Some(subject) = subject
                    && best.wants(length, line.allow)
                    && pattern.matches(subject, arena)
                {
                    best.put(length, line.allow, found);
                }
            }
        });
    }
}

impl<'t> Lists<'t> for Scan<'t, '_> {
    fn rule(&mut self, line: RuleLine<'t>, group: &Group<'t>) {
        let is_restriction = !self.choice.groups.has(line.group);
        if is_restriction && (line.allow || !self.choice.restricting.has(line.group)) {
            return;
        }
        let bits = if is_restriction { u32::MAX } else { self.choice.bits };
        let found = Found { line: line.line, raw: line.raw, label: label(group, bits) };
        match self.choice.order {
            _ if is_restriction => self.longest(&line, found, true),
            Order::Longest => self.longest(&line, found, false),
            Order::First { is_of_1994 } => {
                let mut paths = prefix::paths(line.value, is_of_1994);
                if self.first.is_none()
                    && paths.any(|(add_slash, path)| prefix::is_prefix(add_slash, path, &self.symbols))
                {
                    self.first = Some((line.allow && !is_of_1994, found));
                }
            }
            Order::Conner => {
                let rank = conner::rank(&line);
                let is_better = self.conner.as_ref().is_none_or(|(best, ..)| rank < *best);
                if !line.value.is_empty()
                    && is_better
                    && conner::covers(line.value, &self.symbols, &mut self.places)
                {
                    self.conner = Some((rank, line.allow, found));
                }
            }
        }
    }

    fn other(&mut self, _: OtherLine<'t>) {}

    fn group(&mut self, _: Group<'t>) {}
}

fn reader<'a, 'c>(choice: &Choice, is_separated: bool, case: &Case<'c>) -> Reader<'a, 'c> {
    let additions = case.additions(choice.dialect);
    let mut reader =
        Reader::new(Selector::new(case.agent, choice.dialect, additions), choice.dialect, additions);
    reader.is_separated = is_separated;
    reader.notes = Notes::quiet();
    reader
}

/// Takes the lines whose rules bind us.
struct Binding<'t, 's> {
    choice: &'s Choice,
    /// The lines that bind us before those that restrict us.
    lines: [Vec<(u32, &'t [u8])>; 2],
}

impl<'t> Lists<'t> for Binding<'t, '_> {
    fn rule(&mut self, line: RuleLine<'t>, _: &Group<'t>) {
        if self.choice.groups.has(line.group) {
            self.lines[0].push((line.line, line.raw));
        } else if !line.allow && self.choice.restricting.has(line.group) {
            self.lines[1].push((line.line, line.raw));
        }
    }

    fn other(&mut self, _: OtherLine<'t>) {}

    fn group(&mut self, _: Group<'t>) {}
}

/// The lines whose rules bind us: those of our groups, then those that restrict us.
pub(crate) fn binding_lines(
    choice: &Choice,
    (text, is_separated): (&[u8], bool),
    quoted: Option<&[u8]>,
    case: &Case<'_>,
) -> Vec<(u32, Arc<str>)> {
    let mut binding = Binding { choice, lines: Default::default() };
    reader(choice, is_separated, case).read_to(text, &mut binding);
    let [lines, restrictions] = binding.lines;
    let lines = lines.into_iter().chain(restrictions);
    let Some(quoted) = quoted else { return lines.map(|(line, raw)| (line, shown(raw))).collect() };
    let quoted: HashMap<u32, &[u8]> = Lines::new(quoted, true).map(|line| (line.number, line.raw)).collect();
    lines.map(|(line, _)| (line, shown(quoted.get(&line).copied().unwrap_or_default()))).collect()
}

#[cfg(test)]
mod tests;
