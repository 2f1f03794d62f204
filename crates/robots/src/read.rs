//! Lines to groups: what a file says to one agent. Total, linear, keeps only what can bind the agent.

use crate::bytes::{self, BLANK, DOLLAR, ENCODE, HIGH, PERCENT, classes, has_bad_escape};
use crate::field::{Field, Spelling, likely};
use crate::lex::{Content, Line, Lines};
use crate::select::{Named, Selector};
use crate::target::site_and_path;
use crate::warning::{Notes, WarningKind as Kind};
use crate::{Additions, Dialect};

/// A group of RFC 9309, or a record of the older dialects.
#[derive(Debug, Default)]
pub(crate) struct Group<'a> {
    /// The robots that its user-agent lines name.
    pub(crate) named: Named,
    /// The values that name us (with the bits), and the one that names everybody.
    pub(crate) names: Vec<(u32, &'a [u8])>,
    pub(crate) star_value: Option<&'a [u8]>,
    has_rule: bool,
    line: u32,
}

/// An Allow or Disallow line of a group that may bind us.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleLine<'a> {
    pub(crate) line: u32,
    pub(crate) group: u32,
    pub(crate) allow: bool,
    pub(crate) value: &'a [u8],
    /// The classes of the value's bytes.
    pub(crate) classes: u8,
    pub(crate) raw: &'a [u8],
    /// The line was longer than the limit; `value` is its start.
    pub(crate) cut: bool,
}

/// Any other known line. `group`: none before the first user-agent line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OtherLine<'a> {
    pub(crate) line: u32,
    pub(crate) group: Option<u32>,
    pub(crate) field: Field,
    pub(crate) value: &'a [u8],
}

/// What a file says to one agent in one dialect.
#[derive(Debug, Default)]
pub(crate) struct Reading<'a> {
    pub(crate) groups: Vec<Group<'a>>,
    pub(crate) rules: Vec<RuleLine<'a>>,
    pub(crate) others: Vec<OtherLine<'a>>,
    pub(crate) known_fields: usize,
    pub(crate) additions: Additions,
    /// A line was longer than the limit.
    pub(crate) has_cut_line: bool,
}

/// The site that full URLs are compared with: host, and port where it isn't the default one.
pub(crate) type Site<'s> = Option<&'s str>;

pub(crate) struct Reader<'a, 's> {
    pub(crate) selector: Selector<'s>,
    pub(crate) dialect: Dialect,
    pub(crate) additions: Additions,
    pub(crate) site: Site<'s>,
    pub(crate) notes: Notes,
    reading: Reading<'a>,
    open: Option<u32>,
    blank_before: bool,
}

impl<'a, 's> Reader<'a, 's> {
    pub(crate) fn new(selector: Selector<'s>, dialect: Dialect, additions: Additions) -> Self {
        Self {
            selector,
            dialect,
            additions,
            site: None,
            notes: Notes::default(),
            reading: Reading::default(),
            open: None,
            blank_before: true,
        }
    }

    /// Reads every line.
    pub(crate) fn read(mut self, bytes: &'a [u8]) -> (Reading<'a>, Notes) {
        let limit = self.additions.contains(Additions::H6);
        // About a rule in 40 bytes; bounded, because junk has none.
        self.reading.rules.reserve((bytes.len() / 40).min(1000));
        for line in Lines::new(bytes, limit) {
            self.reading.has_cut_line |= line.cut;
            match line.content {
                Content::Blank => self.blank(),
                Content::Comment => {}
                Content::Junk => self.notes.add(line.number, Kind::NotAPair, line.raw),
                Content::Pair { name, value, colon } => self.pair(&line, name, value, colon),
            }
        }
        self.finish()
    }

    fn finish(mut self) -> (Reading<'a>, Notes) {
        if let Some(last) = self.reading.groups.last().filter(|group| !group.has_rule) {
            self.notes.add(last.line, Kind::GroupWithoutRules, b"");
        }
        (self.reading, self.notes)
    }

    fn is_record_dialect(&self) -> bool {
        matches!(self.dialect, Dialect::Koster1994 | Dialect::Koster1996 | Dialect::Conner1996)
    }

    fn blank(&mut self) {
        self.blank_before = true;
        if self.is_record_dialect() && self.open_group().is_some_and(|group| group.has_rule) {
            self.open = None;
        }
    }

    fn open_group(&self) -> Option<&Group<'a>> {
        self.open.map(|open| &self.reading.groups[open as usize])
    }

    fn pair(&mut self, line: &Line<'a>, name: &'a [u8], value: &'a [u8], colon: bool) {
        let Some((field, spelling)) = Field::read(name) else {
            let kind = if !colon {
                Kind::NotAPair
            } else if likely(name).is_some() {
                Kind::LikelyTypo
            } else {
                Kind::UnknownField
            };
            self.notes.add(line.number, kind, line.raw);
            return;
        };
        if !colon || spelling == Spelling::Slip {
            let kind = if colon { Kind::Typo } else { Kind::MissingColon };
            self.notes.add(line.number, kind, line.raw);
            if self.is_record_dialect() || !self.additions.contains(Additions::H5) {
                return;
            }
        }
        if line.cut {
            self.notes.add(line.number, Kind::LongLine, line.raw);
        }
        self.reading.known_fields += 1;
        match field {
            Field::UserAgent => self.user_agent(line, value),
            Field::Disallow => self.rule(line, false, value),
            Field::Allow => self.rule(line, true, value),
            _ => self.other(line, field, value),
        }
    }

    fn user_agent(&mut self, line: &Line<'a>, value: &'a [u8]) {
        let named = self.selector.read(value);
        let joins = self.open_group().is_some_and(|group| !group.has_rule);
        if !joins {
            if self.open_group().is_some() && !self.blank_before {
                self.notes.add(line.number, Kind::NoBlankBetweenGroups, line.raw);
            }
            self.open = Some(self.reading.groups.len() as u32);
            self.reading.groups.push(Group { line: line.number, ..Group::default() });
        }
        self.inspect_agent(line, value);
        if let Some(group) = self.reading.groups.last_mut() {
            group.named = group.named.with(named);
            let bits = named.us | named.restricts;
            if bits != 0 {
                group.names.push((bits, value));
            }
            if named.star && group.star_value.is_none() {
                group.star_value = Some(value);
            }
        }
        self.reading.additions = self.reading.additions.with(named.by);
        self.blank_before = false;
    }

    fn inspect_agent(&mut self, line: &Line<'a>, value: &[u8]) {
        if value.iter().all(|&b| b.is_ascii_alphabetic() || matches!(b, b'-' | b'_' | b'*'))
            && !value.is_empty()
        {
            return;
        }
        let kind = if value.is_empty() {
            Kind::EmptyAgent
        } else if value.contains(&b',') || bytes::words(value).nth(1).is_some() {
            Kind::SeveralAgents
        } else {
            Kind::AgentCharacters
        };
        self.notes.add(line.number, kind, line.raw);
    }

    fn rule(&mut self, line: &Line<'a>, allow: bool, value: &'a [u8]) {
        let classes = classes(value);
        if classes & (BLANK | DOLLAR | HIGH | PERCENT | ENCODE) != 0
            || !matches!(value.first(), Some(b'/' | b'*'))
        {
            self.inspect_rule(line, allow, value, classes);
        }
        if self.open.is_none() {
            self.notes.add(line.number, Kind::RuleBeforeAgent, line.raw);
        }
        let Some(open) = self.open else { return };
        let group = &mut self.reading.groups[open as usize];
        if !group.has_rule && self.blank_before {
            self.notes.add(line.number, Kind::BlankInGroup, line.raw);
        }
        self.blank_before = false;
        if allow && self.dialect == Dialect::Koster1994 {
            return;
        }
        group.has_rule = true;
        if group.named.binds() {
            self.reading.rules.push(RuleLine {
                line: line.number,
                group: open,
                allow,
                value,
                classes,
                raw: line.raw,
                cut: line.cut,
            });
        }
    }

    fn inspect_rule(&mut self, line: &Line<'a>, allow: bool, value: &[u8], odd: u8) {
        let mut add = |kind| self.notes.add(line.number, kind, line.raw);
        match value.first() {
            None if allow => add(Kind::EmptyAllow),
            None | Some(b'/' | b'*') => {}
            Some(_) => match std::str::from_utf8(value).ok().and_then(site_and_path) {
                Some((site, _)) if self.site.is_some_and(|ours| ours != site) => add(Kind::OtherSite),
                Some(_) => add(Kind::FullUrl),
                None => add(Kind::NoSlash),
            },
        }
        if odd & BLANK != 0 {
            add(Kind::SeveralPaths);
        }
        if memchr::memchr(b'$', value).is_some_and(|at| at + 1 < value.len()) {
            add(Kind::DollarInside);
        }
        if has_bad_escape(value) {
            add(Kind::BadEscape);
        }
        if std::str::from_utf8(value).is_err() {
            add(Kind::NotUtf8);
        }
        if value.contains(&0) {
            add(Kind::Nul);
        }
    }

    fn other(&mut self, line: &Line<'a>, field: Field, value: &'a [u8]) {
        if field == Field::Sitemap {
            if value.is_empty() {
                self.notes.add(line.number, Kind::EmptySitemap, line.raw);
            } else if memchr::memmem::find(value, b"://").is_none() {
                self.notes.add(line.number, Kind::RelativeSitemap, line.raw);
            }
        }
        let group = self.open.filter(|_| field.is_of_group());
        self.reading.others.push(OtherLine { line: line.number, group, field, value });
    }
}
