//! The decision of RFC 9309: the longest matching rule.

use std::borrow::Cow;
use std::cmp::Reverse;

use crate::Additions;
use crate::bytes::{BLANK, DOLLAR, classes, words};
use crate::memory;
use crate::pattern::{Pattern, Subject};
use crate::read::{RuleLine, Site};
use crate::target::site_and_path;

/// Holds the rules that bind us, in the order in which they are asked: the longest first, Allow before Disallow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Longest {
    patterns: Box<[Pattern]>,
    rules: Box<[Place]>,
    arena: Box<[u8]>,
}

/// The rule that a pattern comes from.
#[derive(Debug, Clone, Copy)]
struct Place {
    allow: bool,
    rule: u32,
}

struct Entry {
    length: u32,
    place: Place,
    pattern: Pattern,
}

impl Longest {
    /// Prepares rules; gives the additions that came to bear as well. `rule` of an answer counts `lines`.
    pub(crate) fn prepare(
        lines: &[RuleLine<'_>],
        additions: Additions,
        site: Site<'_>,
        index_folder: bool,
    ) -> (Self, Additions) {
        let mut build = Build {
            entries: Vec::with_capacity(lines.len()),
            arena: Vec::with_capacity(lines.len() * 16),
            used: Additions::NONE,
        };
        for (i, line) in lines.iter().enumerate() {
            let place = Place { allow: line.allow, rule: i as u32 };
            build.line(line, place, additions, site);
            if index_folder && line.allow {
                build.folder(line.value, place);
            }
        }
        let Build { entries, arena, used } = build;
        // The place in the file comes last, so the first of equal rules is named as the deciding one.
        let mut order: Vec<(Reverse<u32>, bool, u32)> =
            (0..).zip(&entries).map(|(i, entry)| (Reverse(entry.length), !entry.place.allow, i)).collect();
        order.sort_unstable();
        let entry = |&(_, _, i): &(Reverse<u32>, bool, u32)| &entries[i as usize];
        let longest = Self {
            patterns: order.iter().map(|key| entry(key).pattern).collect(),
            rules: order.iter().map(|key| entry(key).place).collect(),
            arena: arena.into(),
        };
        (longest, used)
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        memory::list::<Pattern>(self.patterns.len())
            + memory::list::<Place>(self.rules.len())
            + memory::block(self.arena.len())
    }

    /// Finds the deciding rule: whether it allows, and its number. Where the other reading of the URL is given, a denial by either
    /// decides.
    ///
    /// Cost: O(rules x (pattern + URL)) at worst; most rules are refused by one comparison of eight bytes.
    pub(crate) fn decide(&self, subject: &Subject<'_>, other: Option<&Subject<'_>>) -> Option<(bool, u32)> {
        let first = self.find(subject);
        let is_denial = |&(allowed, _): &(bool, u32)| !allowed;
        match other {
            Some(other) if !first.as_ref().is_some_and(is_denial) => {
                self.find(other).filter(is_denial).or(first)
            }
            _ => first,
        }
    }

    fn find(&self, subject: &Subject<'_>) -> Option<(bool, u32)> {
        let first = self.patterns.iter().position(|pattern| pattern.matches(subject, &self.arena))?;
        let Place { allow, rule } = self.rules[first];
        Some((allow, rule))
    }
}

struct Build {
    entries: Vec<Entry>,
    arena: Vec<u8>,
    used: Additions,
}

impl Build {
    fn push(&mut self, value: &[u8], classes: u8, place: Place) {
        let entries = &mut self.entries;
        Pattern::compile(value, classes, &mut self.arena, |pattern, length| {
            entries.push(Entry { length, place, pattern });
        });
    }

    fn line(&mut self, line: &RuleLine<'_>, place: Place, additions: Additions, site: Site<'_>) {
        let mut uses = |addition| {
            let wanted = additions.contains(addition);
            if wanted {
                self.used = self.used.with(addition);
            }
            wanted
        };
        if line.cut && uses(Additions::H6) && line.allow {
            return;
        }
        let several = line.classes & BLANK != 0;
        if line.classes & DOLLAR != 0
            && memchr::memchr(b'$', line.value).is_some_and(|at| at + 1 < line.value.len())
        {
            uses(Additions::H9);
        }
        if several && uses(Additions::H1) {
            if line.allow {
                return;
            }
            words(line.value).for_each(|word| self.path(word, classes(word), place, additions, site));
        }
        // The value as a whole, which RFC 9309 alone would compare: so the addition never allows more.
        if several {
            self.push(line.value, line.classes, place);
        } else {
            self.path(line.value, line.classes, place, additions, site);
        }
    }

    /// H4.
    fn path(&mut self, value: &[u8], bytes: u8, place: Place, additions: Additions, site: Site<'_>) {
        if matches!(value.first(), None | Some(b'/' | b'*')) || !additions.contains(Additions::H4) {
            return self.push(value, bytes, place);
        }
        self.used = self.used.with(Additions::H4);
        if place.allow {
            return;
        }
        let path = match std::str::from_utf8(value).ok().and_then(site_and_path) {
            Some((theirs, _)) if site.is_some_and(|ours| ours != theirs) => return,
            Some((_, path)) => Cow::Owned(path.into_owned().into_bytes()),
            None => Cow::Owned([b"/", value].concat()),
        };
        let path: Cow<'_, [u8]> = path;
        self.push(&path, classes(&path), place);
    }

    /// Google's reading of `Allow: /x/index.html`: exactly `/x/` as well.
    fn folder(&mut self, value: &[u8], place: Place) {
        if let Some(slash) =
            value.iter().rposition(|&b| b == b'/').filter(|&slash| value[slash..].starts_with(b"/index.htm"))
        {
            let folder = [&value[..=slash], b"$"].concat();
            self.push(&folder, classes(&folder), place);
        }
    }
}
