//! Which robots a user-agent line names, in each dialect.

use crate::agent::{is_token, leading_token, same_name, same_name_in_latin1};
use crate::bytes::{is_blank, trim, words};
use crate::{Additions, Agent, Dialect};

/// The robots that one user-agent value names. Bit 0 of a set is our name, bit n our n-th alias.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// The names of ours that the value holds.
    pub(crate) us: u32,
    /// Those of them that RFC 9309 finds, without any addition.
    pub(crate) plain: u32,
    /// Those of them that are found in a list of plain names separated by spaces (the form of 1994).
    pub(crate) listed: u32,
    /// The names of ours that the value would hold if they were cut, or all where it means every robot: the group restricts us, it never
    /// opens anything.
    pub(crate) restricts: u32,
    /// Every robot that no group names.
    pub(crate) star: bool,
    /// As `star`, without any addition.
    pub(crate) plain_star: bool,
    /// The additions without which less would be named.
    pub(crate) by: Additions,
}

impl Named {
    /// Joins what two lines of one group name.
    pub(crate) fn with(self, other: Named) -> Named {
        let us = self.us | other.us;
        Named {
            us,
            plain: self.plain | other.plain,
            listed: self.listed | other.listed,
            restricts: (self.restricts | other.restricts) & !us,
            star: self.star | other.star,
            plain_star: self.plain_star | other.plain_star,
            by: self.by.with(other.by),
        }
    }

    /// Returns whether rules of the group may bind us.
    pub(crate) fn binds(&self) -> bool {
        self.us | self.restricts != 0 || self.star
    }
}

/// Reads user-agent values for one robot in one dialect.
#[derive(Debug)]
pub(crate) struct Selector<'a> {
    identities: Vec<&'a Agent>,
    dialect: Dialect,
    additions: Additions,
    /// H8 can bear on one of the names.
    has_odd_name: bool,
}

impl<'a> Selector<'a> {
    pub(crate) fn new(agent: &'a Agent, dialect: Dialect, additions: Additions) -> Self {
        // One bit of `Named::us` each.
        let identities: Vec<_> = std::iter::once(agent).chain(agent.aliases()).take(32).collect();
        let has_odd_name = additions.contains(Additions::H8)
            && identities.iter().any(|agent| !agent.cut_token().is_empty() || !agent.token().is_ascii());
        Self { identities, dialect, additions, has_odd_name }
    }

    /// Counts our name and our aliases.
    pub(crate) fn identities(&self) -> u32 {
        self.identities.len() as u32
    }

    pub(crate) fn read(&self, value: &[u8]) -> Named {
        match self.dialect {
            Dialect::Koster1994 => self.koster1994(value),
            Dialect::Koster1996 | Dialect::Conner1996 => self.whole_value(value),
            Dialect::Rfc9309 | Dialect::Hardened | Dialect::Strictest => self.rfc9309(value),
        }
    }

    fn us(&self, is_us: impl Fn(&Agent) -> bool) -> u32 {
        self.identities
            .iter()
            .enumerate()
            .filter(|(_, agent)| is_us(agent))
            .fold(0, |bits, (i, _)| bits | 1 << i)
    }

    /// The first word, or the token at its start (Google's form), is our whole token; additions H2, H3, H8 and H11.
    fn rfc9309(&self, value: &[u8]) -> Named {
        if value.is_empty() {
            let star = self.additions.contains(Additions::H3);
            let by = if star { Additions::H3 } else { Additions::NONE };
            return Named { star, by, ..Named::default() };
        }
        let us = self.word(first_word(value));
        let star = value[0] == b'*' && value.get(1).is_none_or(|&b| is_blank(b));
        let mut named = Named { us, plain: us, star, plain_star: star, ..Named::default() };
        if star && value.len() == 1 {
            return named;
        }
        // A lone token can only say more than itself where it has other characters.
        if self.additions.contains(Additions::H2) && !is_token(value) {
            self.list(value, &mut named);
        }
        if self.has_odd_name {
            self.restrict(value, &mut named);
        }
        if self.additions.contains(Additions::H11) && means_every_robot(value, named.star) {
            named.restricts = u32::MAX >> (32 - self.identities()) & !named.us;
            named.by = named.by.with(Additions::H11);
        }
        named
    }

    /// The names of ours that one word is, without its version.
    fn word(&self, word: &[u8]) -> u32 {
        let token = leading_token(word);
        self.us(|agent| {
            let ours = agent.token();
            !ours.is_empty()
                && (same_name(word, ours)
                    || token.len() < word.len() && token.eq_ignore_ascii_case(ours.as_bytes()))
        })
    }

    /// H2: every word of a list counts.
    fn list(&self, value: &[u8], named: &mut Named) {
        let is_list = || {
            !value.contains(&b',') && words(value).all(|word| word == b"*" || is_token(before_slash(word)))
        };
        for word in split(value) {
            let us = self.word(before_slash(word)) & !named.us;
            let star = word == b"*" && !named.star;
            if us != 0 || star {
                named.us |= us;
                named.listed |= if is_list() { us } else { 0 };
                named.star |= star;
                named.by = named.by.with(Additions::H2);
            }
        }
    }

    /// H8: a word that our name would select if it were cut, or that is our name in Latin-1.
    fn restrict(&self, value: &[u8], named: &mut Named) {
        for word in split(value).map(before_slash) {
            let token = leading_token(word);
            named.restricts |= self.us(|agent| {
                let cut = agent.cut_token().as_bytes();
                !cut.is_empty() && token.eq_ignore_ascii_case(cut) || same_name_in_latin1(word, agent.token())
            });
        }
        named.restricts &= !named.us;
        if named.restricts != 0 {
            named.by = named.by.with(Additions::H8);
        }
    }

    /// Every word of the value, version cut off, that occurs in our name.
    fn koster1994(&self, value: &[u8]) -> Named {
        let mut named = Named { star: value.is_empty(), ..Named::default() };
        for word in words(value) {
            let word = before_slash(word);
            named.star |= word == b"*";
            named.us |= self.us(|agent| word != b"*" && occurs_in(word, agent.name().as_bytes()));
        }
        named
    }

    /// The whole value as one name, version cut off: it names us where it occurs in our name ("HTTP: The Definitive Guide", 9.4;
    /// the draft of 1996 has it the other way round).
    fn whole_value(&self, value: &[u8]) -> Named {
        let name = before_slash(value);
        let star = value.is_empty() || name == b"*";
        let us = self.us(|agent| !star && occurs_in(name, agent.name().as_bytes()));
        Named { us, star, ..Named::default() }
    }
}

/// Returns whether a value, or a part of a list with commas or semicolons, means every robot (H11): a word for all of them, or
/// asterisks, with any quotes, brackets and punctuation around. `is_star`: a lone `*` is read already.
fn means_every_robot(value: &[u8], is_star: bool) -> bool {
    const WORDS: [&str; 8] = ["bot", "bots", "robot", "robots", "crawler", "crawlers", "spider", "spiders"];
    value.split(|&b| matches!(b, b',' | b';')).map(trim).any(|part| {
        let is_read = is_star && part.first() == Some(&b'*') && part.get(1).is_none_or(|&b| is_blank(b));
        let name = before_slash(part);
        if memchr::memchr(b'*', part).is_some() {
            // `*bot` means some robots.
            return !is_read
                && (unwrapped(part).is_empty() || unwrapped(name).is_empty() && name.contains(&b'*'));
        }
        let word = unwrapped(name);
        WORDS.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
    })
}

/// Takes off what is neither a letter, a digit, `-` nor `_` at both ends: quotes, brackets, punctuation, blanks. Nothing is left of a name without
/// letters and digits.
fn unwrapped(name: &[u8]) -> &[u8] {
    if let Ok(text) = std::str::from_utf8(name) {
        let bare = text.trim_matches(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')));
        return if bare.chars().any(char::is_alphanumeric) { bare.as_bytes() } else { b"" };
    }
    // In Latin-1 and its kin, letters are from C0 on.
    let is_letter = |b: &u8| b.is_ascii_alphanumeric() || *b >= 0xc0;
    let is_kept = |b: &u8| is_letter(b) || matches!(b, b'-' | b'_');
    let (Some(start), Some(end)) = (name.iter().position(is_kept), name.iter().rposition(is_kept)) else {
        return b"";
    };
    let bare = &name[start..=end];
    if bare.iter().any(is_letter) { bare } else { b"" }
}

/// Returns what is before the first blank or `/`.
fn first_word(value: &[u8]) -> &[u8] {
    let end = value.iter().position(|&b| is_blank(b) || b == b'/').unwrap_or(value.len());
    &value[..end]
}

/// Splits a value at blanks and commas.
fn split(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| is_blank(b) || b == b',').filter(|word| !word.is_empty())
}

fn before_slash(value: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'/', value).unwrap_or(value.len());
    trim(&value[..end])
}

fn occurs_in(part: &[u8], whole: &[u8]) -> bool {
    !part.is_empty() && whole.windows(part.len()).any(|window| window.eq_ignore_ascii_case(part))
}
