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
    /// Prepares rules; gives the additions that came to bear as well. `rule` of an answer counts `lines`. None where they would take
    /// more than `room` bytes.
    pub(crate) fn prepare(
        lines: &[RuleLine<'_>],
        expansion: &Expansion<'_>,
        room: usize,
    ) -> (Option<Self>, Additions) {
        let (mut entries, mut arena) = (Vec::new(), Vec::new());
        let mut used = Additions::NONE;
        let mut fits = lines.len() * (size_of::<Pattern>() + size_of::<Place>()) <= room;
        if fits {
            entries.reserve(lines.len());
            arena.reserve(lines.len() * 16);
        }
        for (i, line) in lines.iter().enumerate() {
            let place = Place { allow: line.allow, rule: i as u32 };
            expansion.paths(line, &mut used, |path, classes| {
                if fits && let Some((pattern, length)) = Pattern::compile(path, classes, &mut arena) {
                    entries.push(Entry { length, place, pattern });
                    fits = entries.len() * (size_of::<Pattern>() + size_of::<Place>()) + arena.len() <= room;
                }
            });
        }
        if !fits {
            return (None, used);
        }
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
        (Some(longest), used)
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
    /// Cost: O(rules x pattern x URL / 64) at worst; most rules are refused by one comparison of eight bytes.
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

/// The best rule so far of those that match, where rules come in the order of the file.
#[derive(Debug)]
pub(crate) struct Best<T> {
    found: Option<(u32, bool, T)>,
}

impl<T> Default for Best<T> {
    fn default() -> Self {
        Self { found: None }
    }
}

impl<T> Best<T> {
    /// Returns whether a rule of this length would be the best one if it matched.
    pub(crate) fn wants(&self, length: u32, allow: bool) -> bool {
        self.found
            .as_ref()
            .is_none_or(|&(best, allows, _)| length > best || length == best && allow && !allows)
    }

    pub(crate) fn put(&mut self, length: u32, allow: bool, what: T) {
        self.found = Some((length, allow, what));
    }

    pub(crate) fn take(self) -> Option<(bool, T)> {
        self.found.map(|(_, allow, what)| (allow, what))
    }
}

/// How a line of rules becomes paths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expansion<'s> {
    pub(crate) additions: Additions,
    pub(crate) site: Site<'s>,
    pub(crate) index_folder: bool,
}

impl Expansion<'_> {
    /// Gives the paths that a line forbids or allows, with the classes of their bytes; adds to `used` what made them.
    pub(crate) fn paths(&self, line: &RuleLine<'_>, used: &mut Additions, mut give: impl FnMut(&[u8], u8)) {
        self.line(line, used, &mut give);
        if self.index_folder && line.allow {
            folder(line.value, &mut give);
        }
    }

    fn line(&self, line: &RuleLine<'_>, used: &mut Additions, give: &mut impl FnMut(&[u8], u8)) {
        let mut wants = |addition| {
            let wanted = self.additions.contains(addition);
            if wanted {
                *used = used.with(addition);
            }
            wanted
        };
        if line.cut && wants(Additions::H6) && line.allow {
            return;
        }
        let several = line.classes & BLANK != 0;
        if line.classes & DOLLAR != 0
            && memchr::memchr(b'$', line.value).is_some_and(|at| at + 1 < line.value.len())
        {
            wants(Additions::H9);
        }
        if several && wants(Additions::H1) {
            if line.allow {
                return;
            }
            words(line.value).for_each(|word| self.path(word, classes(word), line.allow, used, give));
        }
        // The value as a whole, which RFC 9309 alone would compare: so the addition never allows more.
        if several {
            give(line.value, line.classes);
        } else {
            self.path(line.value, line.classes, line.allow, used, give);
        }
    }

    /// H4.
    fn path(
        &self,
        value: &[u8],
        bytes: u8,
        allow: bool,
        used: &mut Additions,
        give: &mut impl FnMut(&[u8], u8),
    ) {
        if matches!(value.first(), None | Some(b'/' | b'*')) || !self.additions.contains(Additions::H4) {
            return give(value, bytes);
        }
        *used = used.with(Additions::H4);
        if allow {
            return;
        }
        let path = match std::str::from_utf8(value).ok().and_then(site_and_path) {
            Some((theirs, _)) if self.site.is_some_and(|ours| ours != theirs) => return,
            Some((_, path)) => Cow::Owned(path.into_owned().into_bytes()),
            None => Cow::Owned([b"/", value].concat()),
        };
        let path: Cow<'_, [u8]> = path;
        give(&path, classes(&path));
    }
}

/// Google's reading of `Allow: /x/index.html`: exactly `/x/` as well.
fn folder(value: &[u8], give: &mut impl FnMut(&[u8], u8)) {
    if let Some(slash) =
        value.iter().rposition(|&b| b == b'/').filter(|&slash| value[slash..].starts_with(b"/index.htm"))
    {
        let folder = [&value[..=slash], b"$"].concat();
        give(&folder, classes(&folder));
    }
}
