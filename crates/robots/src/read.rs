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

/// Takes the lines of a file as they are read.
pub(crate) trait Lists<'a> {
    /// Takes a rule of a group that may bind us; `group` holds all user-agent lines of it.
    fn rule(&mut self, line: RuleLine<'a>, group: &Group<'a>);

    /// Takes any other known line.
    fn other(&mut self, line: OtherLine<'a>);

    /// Takes a group to whose user-agent lines and rules nothing is added any more. In order, each once.
    fn group(&mut self, group: Group<'a>);
}

impl<'a> Lists<'a> for Reading<'a> {
    fn rule(&mut self, line: RuleLine<'a>, _: &Group<'a>) {
        self.rules.push(line);
    }

    fn other(&mut self, line: OtherLine<'a>) {
        self.others.push(line);
    }

    fn group(&mut self, group: Group<'a>) {
        self.groups.push(group);
    }
}

/// The site that full URLs are compared with: host, and port where it isn't the default one.
pub(crate) type Site<'s> = Option<&'s str>;

pub(crate) struct Reader<'a, 's> {
    pub(crate) selector: Selector<'s>,
    pub(crate) dialect: Dialect,
    pub(crate) additions: Additions,
    pub(crate) site: Site<'s>,
    /// Lines also end where [`separators`](crate::separators) has put its byte.
    pub(crate) is_separated: bool,
    pub(crate) notes: Notes,
    /// The last group, and its number.
    group: Option<(u32, Group<'a>)>,
    /// More lines may be added to it.
    is_open: bool,
    blank_before: bool,
    facts: Facts,
}

/// What a file is as a whole.
#[derive(Debug, Default)]
struct Facts {
    known_fields: usize,
    additions: Additions,
    has_cut_line: bool,
}

impl<'a, 's> Reader<'a, 's> {
    pub(crate) fn new(selector: Selector<'s>, dialect: Dialect, additions: Additions) -> Self {
        Self {
            selector,
            dialect,
            additions,
            site: None,
            is_separated: false,
            notes: Notes::default(),
            group: None,
            is_open: false,
            blank_before: true,
            facts: Facts::default(),
        }
    }

    /// Reads every line, and keeps what may bind us.
    pub(crate) fn read(mut self, bytes: &'a [u8]) -> (Reading<'a>, Notes) {
        let mut reading = Reading::default();
        // About a rule in 40 bytes; bounded, because junk has none.
        reading.rules.reserve((bytes.len() / 40).min(1000));
        self.read_to(bytes, &mut reading);
        let Facts { known_fields, additions, has_cut_line } = self.facts;
        (Reading { known_fields, additions, has_cut_line, ..reading }, self.notes)
    }

    /// Reads every line, and gives away what may bind us.
    pub(crate) fn read_to(&mut self, bytes: &'a [u8], lists: &mut impl Lists<'a>) {
        let limit = self.additions.contains(Additions::H6);
        for line in Lines::new(bytes, limit).separated(self.is_separated) {
            self.facts.has_cut_line |= line.cut;
            match line.content {
                Content::Blank => self.blank(),
                Content::Comment => {}
                Content::Junk => self.notes.add(line.number, Kind::NotAPair, line.raw),
                Content::Pair { name, value, colon } => self.pair(&line, name, value, colon, lists),
            }
        }
        if let Some((_, last)) = self.group.take() {
            if !last.has_rule {
                self.notes.add(last.line, Kind::GroupWithoutRules, b"");
            }
            lists.group(last);
        }
    }

    fn is_record_dialect(&self) -> bool {
        matches!(self.dialect, Dialect::Koster1994 | Dialect::Koster1996 | Dialect::Conner1996)
    }

    fn blank(&mut self) {
        self.blank_before = true;
        if self.is_record_dialect() && self.open_group().is_some_and(|group| group.has_rule) {
            self.is_open = false;
        }
    }

    fn open_group(&self) -> Option<&Group<'a>> {
        self.group.as_ref().filter(|_| self.is_open).map(|(_, group)| group)
    }

    fn pair(
        &mut self,
        line: &Line<'a>,
        name: &'a [u8],
        value: &'a [u8],
        colon: bool,
        lists: &mut impl Lists<'a>,
    ) {
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
        self.facts.known_fields += 1;
        match field {
            Field::UserAgent => self.user_agent(line, value, lists),
            Field::Disallow => self.rule(line, false, value, lists),
            Field::Allow => self.rule(line, true, value, lists),
            _ => self.other(line, field, value, lists),
        }
    }

    fn user_agent(&mut self, line: &Line<'a>, value: &'a [u8], lists: &mut impl Lists<'a>) {
        let named = self.selector.read(value);
        let joins = self.open_group().is_some_and(|group| !group.has_rule);
        if !joins {
            if self.open_group().is_some() && !self.blank_before {
                self.notes.add(line.number, Kind::NoBlankBetweenGroups, line.raw);
            }
            let mut number = 0;
            if let Some((last, group)) = self.group.take() {
                number = last + 1;
                lists.group(group);
            }
            self.group = Some((number, Group { line: line.number, ..Group::default() }));
            self.is_open = true;
        }
        self.inspect_agent(line, value);
        if let Some((_, group)) = &mut self.group {
            group.named = group.named.with(named);
            let bits = named.us | named.restricts;
            if bits != 0 {
                group.names.push((bits, value));
            }
            if named.star && group.star_value.is_none() {
                group.star_value = Some(value);
            }
        }
        self.facts.additions = self.facts.additions.with(named.by);
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

    fn rule(&mut self, line: &Line<'a>, allow: bool, value: &'a [u8], lists: &mut impl Lists<'a>) {
        let classes = classes(value);
        if classes & (BLANK | DOLLAR | HIGH | PERCENT | ENCODE) != 0
            || !matches!(value.first(), Some(b'/' | b'*'))
        {
            self.inspect_rule(line, allow, value, classes);
        }
        let Some((number, group)) = self.group.as_mut().filter(|_| self.is_open) else {
            return self.notes.add(line.number, Kind::RuleBeforeAgent, line.raw);
        };
        if !group.has_rule && self.blank_before {
            self.notes.add(line.number, Kind::BlankInGroup, line.raw);
        }
        self.blank_before = false;
        if allow && self.dialect == Dialect::Koster1994 {
            return;
        }
        group.has_rule = true;
        if group.named.binds() {
            let rule = RuleLine {
                line: line.number,
                group: *number,
                allow,
                value,
                classes,
                raw: line.raw,
                cut: line.cut,
            };
            lists.rule(rule, group);
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

    fn other(&mut self, line: &Line<'a>, field: Field, value: &'a [u8], lists: &mut impl Lists<'a>) {
        if field == Field::Sitemap {
            if value.is_empty() {
                self.notes.add(line.number, Kind::EmptySitemap, line.raw);
            } else if memchr::memmem::find(value, b"://").is_none() {
                self.notes.add(line.number, Kind::RelativeSitemap, line.raw);
            }
        }
        let group = self.group.as_ref().filter(|_| self.is_open && field.is_of_group());
        let group = group.map(|&(number, _)| number);
        lists.other(OtherLine { line: line.number, group, field, value });
    }
}
