//! One dialect's reading of a file, prepared for one agent.

use std::collections::HashMap;
use std::sync::Arc;

use crate::choose::{Chosen, Guard, choose, guard, restricting, star_groups};
use crate::conner::{Conner, Version};
use crate::field::Field;
use crate::lex::Lines;
use crate::longest::Longest;
use crate::memory;
use crate::pattern::Subject;
use crate::prefix::{FirstPrefix, decode};
use crate::read::{Group, OtherLine, Reader, Reading, RuleLine, Site};
use crate::select::Selector;
use crate::warning::{Notes, WarningKind, lossy};
use crate::{Additions, Agent, Dialect, Options, Reason, Signals, Timing, Verdict, signals, timing};

/// Decides for one agent by one dialect.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    dialect: Dialect,
    rules: Rules,
    /// The Disallow lines of groups that restrict us and open nothing (H8), numbered behind those of `rules`.
    restrictions: Option<Box<Restrictions>>,
    /// The deciding lines, in the order of the rules' numbers.
    lines: Box<[Evidence]>,
    text: Box<[u8]>,
    groups: Box<[Arc<str>]>,
    /// The answer where no rule matches.
    otherwise: Reason,
    /// A rule holds a literal `$`: URLs with escapes have two readings (H9).
    reads_escapes: bool,
}

#[derive(Debug, Clone)]
enum Rules {
    Longest(Longest),
    First(FirstPrefix),
    Conner(Conner),
}

#[derive(Debug, Clone)]
struct Restrictions {
    /// The place of the first of their lines among all lines.
    first: u32,
    longest: Longest,
}

/// The place of a rule.
#[derive(Debug, Clone, Copy)]
struct Evidence {
    line: u32,
    group: u32,
    start: u32,
    end: u32,
}

/// What a reading says beside its rules.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    pub(crate) known_fields: usize,
    pub(crate) sitemaps: Vec<String>,
    pub(crate) timing: Timing,
    pub(crate) signals: Signals,
    pub(crate) additions: Additions,
    /// The reading that must allow as well.
    pub(crate) guard: Guard,
    pub(crate) notes: Notes,
}

/// The agent for which, and the options with which, a file is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) options: &'a Options,
    pub(crate) site: Site<'a>,
}

impl Member {
    /// Reads a text by one dialect. A quiet reading gives no warnings.
    pub(crate) fn prepare(
        text: &[u8],
        case: &Case<'_>,
        dialect: Dialect,
        is_quiet: bool,
    ) -> (Member, Beside) {
        let Case { agent, options, site } = *case;
        let additions = match dialect {
            Dialect::Hardened => options.additions,
            Dialect::Rfc9309 => Additions::H5,
            _ => Additions::NONE,
        };
        let hardened = dialect == Dialect::Hardened;
        let mut reader = Reader::new(Selector::new(agent, dialect, additions), dialect, additions);
        reader.site = site;
        reader.notes = if is_quiet { Notes::quiet() } else { Notes::default() };
        let identities = reader.selector.identities();
        let (mut reading, mut notes) = reader.read(text);
        for line in &reading.others {
            timing::inspect(line, &mut notes);
            signals::inspect(line, &mut notes);
        }

        inspect_whole(text, reading.known_fields, &mut notes);

        let chosen = choose(&reading, identities, dialect, options);
        let restricting = if hardened { restricting(&reading, &chosen) } else { Vec::new() };
        let guard = if hardened { guard(&reading, identities, &chosen) } else { Guard::None };
        let mut used = reading.additions;
        let mut lines = std::mem::take(&mut reading.rules);
        let restrictions: Vec<_> =
            lines.iter().filter(|rule| !rule.allow && restricting.contains(&rule.group)).copied().collect();
        lines.retain(|rule| chosen.has(rule.group));
        let rules = match dialect {
            Dialect::Koster1994 => Rules::First(FirstPrefix::koster1994(&lines)),
            Dialect::Conner1996 if chosen.version == Version::Two => Rules::Conner(Conner::prepare(&lines)),
            Dialect::Koster1996 | Dialect::Conner1996 => Rules::First(FirstPrefix::koster1996(&lines)),
            Dialect::Rfc9309 | Dialect::Hardened | Dialect::Strictest => {
                let folder = options.index_folder && dialect == Dialect::Rfc9309;
                let (longest, bore) = Longest::prepare(&lines, additions, site, folder);
                used = used.with(bore);
                Rules::Longest(longest)
            }
        };
        if chosen.also_star {
            used = used.with(Additions::H7);
        }
        let of = |line: &&OtherLine<'_>, groups: &[u32]| {
            line.group.is_some_and(|group| groups.binary_search(&group).is_ok())
        };
        let stars = star_groups(&reading);
        let mut beside = Beside {
            known_fields: reading.known_fields,
            sitemaps: reading
                .others
                .iter()
                .filter(|line| line.field == Field::Sitemap && !line.value.is_empty())
                .map(|line| String::from_utf8_lossy(line.value).into_owned())
                .collect(),
            timing: Timing::read(
                reading.others.iter().filter(|line| of(line, &chosen.groups)),
                reading.others.iter().filter(|line| of(line, &stars)),
                reading.others.iter().filter(|line| of(line, &restricting)),
            ),
            signals: Signals::read(
                reading.others.iter().filter(|line| !line.field.is_of_group() || of(line, &chosen.groups)),
            ),
            additions: used,
            guard,
            notes,
        };
        let mut member = Self::assemble(dialect, rules, &lines, &reading, &chosen);
        if !restricting.is_empty() {
            let bore = member.restrict(&restrictions, additions, site, &reading, &restricting);
            beside.additions = beside.additions.with(Additions::H8).with(bore);
        }
        member.reads_escapes = beside.additions.contains(Additions::H9);
        (member, beside)
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        let restrictions = self.restrictions.as_ref().map_or(0, |restrictions| {
            memory::block(size_of::<Restrictions>()) + restrictions.longest.memory()
        });
        let rules = match &self.rules {
            Rules::Longest(longest) => longest.memory(),
            Rules::First(first) => first.memory(),
            Rules::Conner(conner) => conner.memory(),
        };
        rules
            + restrictions
            + memory::list::<Evidence>(self.lines.len())
            + memory::block(self.text.len())
            + memory::list::<Arc<str>>(self.groups.len())
            + self.groups.iter().map(|group| memory::shared(group)).sum::<usize>()
    }

    /// Names another dialect in its verdicts: the one that asks for this reading.
    pub(crate) fn named(self, dialect: Dialect) -> Member {
        Member { dialect, ..self }
    }

    /// Returns whether the file names any robot: without, nothing in it binds us.
    pub(crate) fn has_groups(&self) -> bool {
        self.otherwise != Reason::NoRules
    }

    /// Quotes the lines of another form of the same text.
    pub(crate) fn quote(&mut self, text: &[u8]) {
        let mut quoted: HashMap<u32, &[u8]> = self.lines.iter().map(|line| (line.line, &b""[..])).collect();
        for line in Lines::new(text, true) {
            quoted.entry(line.number).and_modify(|quoted| *quoted = line.raw);
        }
        let mut out = Vec::with_capacity(self.text.len());
        for line in &mut self.lines {
            line.start = out.len() as u32;
            out.extend_from_slice(quoted.get(&line.line).copied().unwrap_or_default());
            line.end = out.len() as u32;
        }
        self.text = out.into();
    }

    fn assemble(
        dialect: Dialect,
        rules: Rules,
        lines: &[RuleLine<'_>],
        reading: &Reading<'_>,
        chosen: &Chosen,
    ) -> Member {
        let otherwise = match &rules {
            _ if reading.groups.is_empty() => Reason::NoRules,
            _ if chosen.groups.is_empty() => Reason::NoGroup,
            Rules::Conner(conner) if conner.only_allow => Reason::OnlyAllowLines,
            _ if lines.iter().all(|line| line.value.is_empty()) => Reason::NoRulesInGroup,
            _ => Reason::NoRuleMatches,
        };
        let mut member = Member {
            dialect,
            rules,
            restrictions: None,
            lines: Box::default(),
            text: Box::default(),
            groups: Box::default(),
            otherwise,
            reads_escapes: false,
        };
        let bits = chosen.identity.map_or(0, |identity| 1 << identity);
        member.record(lines, reading, &chosen.groups, bits);
        member
    }

    /// Keeps lines and the values of their groups as evidence, behind those that are kept already.
    fn record(&mut self, lines: &[RuleLine<'_>], reading: &Reading<'_>, groups: &[u32], bits: u32) {
        let mut text = std::mem::take(&mut self.text).into_vec();
        let mut evidence = std::mem::take(&mut self.lines).into_vec();
        let mut labels = std::mem::take(&mut self.groups).into_vec();
        text.reserve_exact(lines.iter().map(|line| line.raw.len()).sum());
        evidence.reserve_exact(lines.len());
        let before = labels.len();
        for line in lines {
            let start = text.len() as u32;
            text.extend_from_slice(line.raw);
            let group = (before + groups.binary_search(&line.group).unwrap_or_default()) as u32;
            evidence.push(Evidence { line: line.line, group, start, end: text.len() as u32 });
        }
        labels.extend(groups.iter().map(|&group| label(&reading.groups[group as usize], bits)));
        (self.text, self.lines, self.groups) = (text.into(), evidence.into(), labels.into());
    }

    /// Adds the Disallow lines of groups that restrict us (H8); gives the additions that came to bear on them.
    fn restrict(
        &mut self,
        lines: &[RuleLine<'_>],
        additions: Additions,
        site: Site<'_>,
        reading: &Reading<'_>,
        groups: &[u32],
    ) -> Additions {
        let (longest, bore) = Longest::prepare(lines, additions, site, false);
        self.restrictions = Some(Box::new(Restrictions { first: self.lines.len() as u32, longest }));
        self.record(lines, reading, groups, u32::MAX);
        bore
    }

    /// The lines whose rules bind us, in file order.
    pub(crate) fn lines(&self) -> Vec<(u32, Arc<str>)> {
        let text = |evidence: &Evidence| shown(&self.text[evidence.start as usize..evidence.end as usize]);
        let mut lines: Vec<_> = self.lines.iter().map(|evidence| (evidence.line, text(evidence))).collect();
        lines.sort_by_key(|&(line, _)| line);
        lines
    }

    /// Decides a path with query; `subject` is the same, normalised.
    pub(crate) fn verdict(&self, path: &str, subject: &Subject<'_>) -> Verdict {
        let other = if self.reads_escapes { subject.unescaped() } else { None };
        let mut decided = match &self.rules {
            Rules::Longest(longest) => longest.decide(subject, other.as_ref()),
            Rules::First(first) => first.decide(&decode(path.as_bytes())),
            Rules::Conner(conner) => conner.decide(&decode(path.as_bytes())),
        };
        if let Some(restrictions) = &self.restrictions
            && decided.is_none_or(|(allowed, _)| allowed)
            && let Some((_, rule)) = restrictions.longest.decide(subject, other.as_ref())
        {
            decided = Some((false, restrictions.first + rule));
        }
        let Some((allowed, rule)) = decided else {
            let allowed = self.otherwise != Reason::OnlyAllowLines;
            let verdict = Verdict::bare(allowed, self.dialect, self.otherwise.clone());
            let group = self.groups.first().filter(|_| self.otherwise != Reason::NoGroup);
            return Verdict { group: group.cloned(), ..verdict };
        };
        let Evidence { line, group, start, end } = self.lines[rule as usize];
        Verdict {
            allowed,
            dialect: self.dialect,
            reason: Reason::Rule,
            line: Some(line),
            rule: Some(shown(&self.text[start as usize..end as usize])),
            group: self.groups.get(group as usize).cloned(),
        }
    }
}

/// Warns about the text as a whole.
fn inspect_whole(text: &[u8], known_fields: usize, notes: &mut Notes) {
    let start = crate::bytes::trim(&text[..text.len().min(1024)]).trim_ascii_start();
    if start.first() == Some(&b'<') {
        notes.add(0, WarningKind::Html, b"");
    } else if known_fields == 0 && !text.trim_ascii().is_empty() {
        notes.add(0, WarningKind::NoKnownField, b"");
    }
}

/// Returns a line as people may read it.
fn shown(raw: &[u8]) -> Arc<str> {
    match std::str::from_utf8(raw) {
        Ok(text) if text.len() <= 2048 && raw.iter().all(|b| (b' '..=b'~').contains(b)) => text.into(),
        _ => lossy(raw, 2048).into(),
    }
}

/// Returns the user-agent value that selected a group: the first one that names one of these identities, else that of `*`.
fn label(group: &Group<'_>, bits: u32) -> Arc<str> {
    let named = group.names.iter().find(|(named, _)| named & bits != 0);
    let value = named.map(|&(_, value)| value).or(group.star_value).unwrap_or_default();
    lossy(value, 200).into()
}
