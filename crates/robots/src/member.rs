//! One dialect's reading of a file, prepared for one agent.

use std::collections::HashMap;
use std::sync::Arc;

use crate::choice::{Case, Choice, Decided, Order, shown, shown_label};
use crate::choose::{Guard, choose, guard, restricting, star_groups};
use crate::conner::{self, Conner, Version};
use crate::encoding::Form;
use crate::field::Field;
use crate::group_set::GroupSet;
use crate::lex::Lines;
use crate::longest::{Expansion, Longest};
use crate::memory;
use crate::pattern::Subject;
use crate::prefix::{FirstPrefix, decode};
use crate::read::{OtherLine, Reader, Reading, RuleLine};
use crate::room::Room;
use crate::scan::{Scan, binding_lines};
use crate::select::Selector;
use crate::warning::{Notes, WarningKind};
use crate::{Additions, Dialect, Reason, Signals, Timing, Verdict, signals, timing};

/// Decides for one agent by one dialect.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    /// The dialect named in verdicts.
    dialect: Dialect,
    pub(crate) choice: Choice,
    /// Which form of the text it reads.
    pub(crate) form: Form,
    /// None where they would take too much memory: the text is read again for each verdict.
    prepared: Option<Box<Prepared>>,
}

/// A text that is read again: the text, the form of it that its lines are quoted from where that is another one, and for whom.
type Again<'a> = (&'a [u8], Option<&'a [u8]>, &'a Case<'a>);

#[derive(Debug, Clone)]
struct Prepared {
    rules: Rules,
    /// The Disallow lines of groups that restrict us and open nothing (H8), numbered behind those of `rules`.
    restrictions: Option<Restrictions>,
    /// The deciding lines, in the order of the rules' numbers.
    lines: Box<[Evidence]>,
    text: Box<[u8]>,
    groups: Box<[Arc<str>]>,
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

/// The lines that bind us and those that restrict us, with the groups of each.
struct Binding<'r, 'a> {
    reading: &'r Reading<'a>,
    lines: Vec<RuleLine<'a>>,
    groups: &'r [u32],
    restrictions: Vec<RuleLine<'a>>,
    restricting: &'r [u32],
}

impl Member {
    /// Reads a form of a text by one dialect. A quiet reading gives no warnings.
    pub(crate) fn prepare(
        text: &[u8],
        form: Form,
        case: &Case<'_>,
        dialect: Dialect,
        is_quiet: bool,
    ) -> (Member, Beside) {
        let additions = case.additions(dialect);
        let hardened = dialect == Dialect::Hardened;
        let mut reader = Reader::new(Selector::new(case.agent, dialect, additions), dialect, additions);
        reader.site = case.site;
        reader.notes = if is_quiet { Notes::quiet() } else { Notes::default() };
        let identities = reader.selector.identities();
        reader.is_separated = form.is_separated;
        let (mut reading, mut notes) = reader.read(text);
        for line in &reading.others {
            timing::inspect(line, &mut notes);
            signals::inspect(line, &mut notes);
        }

        inspect_whole(text, reading.known_fields, &mut notes);

        let chosen = choose(&reading, identities, dialect, case.options);
        let restricting = if hardened { restricting(&reading, &chosen) } else { Vec::new() };
        let guard = if hardened { guard(&reading, identities, &chosen) } else { Guard::None };
        let restricting_groups = GroupSet::of(&restricting);
        let mut lines = std::mem::take(&mut reading.rules);
        let restrictions: Vec<_> =
            lines.iter().filter(|rule| !rule.allow && restricting_groups.has(rule.group)).copied().collect();
        lines.retain(|rule| chosen.has(rule.group));
        let order = match dialect {
            Dialect::Conner1996 if chosen.version == Version::Two => Order::Conner,
            Dialect::Koster1994 | Dialect::Koster1996 | Dialect::Conner1996 => {
                Order::First { is_of_1994: dialect == Dialect::Koster1994 }
            }
            Dialect::Rfc9309 | Dialect::Hardened | Dialect::Strictest => Order::Longest,
        };
        let otherwise = match order {
            _ if reading.groups.is_empty() => Reason::NoRules,
            _ if chosen.groups.is_empty() => Reason::NoGroup,
            Order::Conner if conner::has_only_allow(&lines) => Reason::OnlyAllowLines,
            _ if lines.iter().all(|line| line.value.is_empty()) => Reason::NoRulesInGroup,
            _ => Reason::NoRuleMatches,
        };
        let bits = chosen.identity.map_or(0, |identity| 1 << identity);
        let mut choice = Choice {
            dialect,
            order,
            index_folder: case.options.index_folder && dialect == Dialect::Rfc9309,
            groups: GroupSet::of(&chosen.groups),
            bits,
            restricting: restricting_groups,
            otherwise,
            label: chosen.groups.first().map(|&group| shown_label(&reading.groups[group as usize], bits)),
            reads_escapes: false,
        };
        let binding = Binding {
            reading: &reading,
            lines,
            groups: &chosen.groups,
            restrictions,
            restricting: &restricting,
        };
        let (prepared, bore) = Prepared::of(&binding, &choice, case);
        let mut used = reading.additions.with(bore);
        if chosen.also_star {
            used = used.with(Additions::H7);
        }
        choice.reads_escapes = used.contains(Additions::H9);
        let of = |line: &&OtherLine<'_>, groups: &[u32]| {
            line.group.is_some_and(|group| groups.binary_search(&group).is_ok())
        };
        let stars = star_groups(&reading);
        let mut room = Room::of(text.len());
        let timing = Timing::read(
            reading.others.iter().filter(|line| of(line, &chosen.groups)),
            reading.others.iter().filter(|line| of(line, &stars)),
            reading.others.iter().filter(|line| of(line, &restricting)),
            &mut room,
        );
        let sitemaps =
            reading.others.iter().filter(|line| line.field == Field::Sitemap && !line.value.is_empty());
        let mut sitemaps: Vec<_> =
            sitemaps.filter_map(|line| room.text(String::from_utf8_lossy(line.value).into_owned())).collect();
        sitemaps.shrink_to_fit();
        let signals = Signals::read(
            reading.others.iter().filter(|line| !line.field.is_of_group() || of(line, &chosen.groups)),
            &mut room,
        );
        if room.is_used_up {
            notes.add(0, WarningKind::TooManyLines, b"");
        }
        let known_fields = reading.known_fields;
        let beside = Beside { known_fields, sitemaps, timing, signals, additions: used, guard, notes };
        (Member { dialect, choice, form, prepared: prepared.map(Box::new) }, beside)
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        let prepared = self
            .prepared
            .as_ref()
            .map_or(0, |prepared| memory::block(size_of::<Prepared>()) + prepared.memory());
        let label = self.choice.label.as_ref().map_or(0, |label| memory::shared(label));
        self.choice.groups.memory() + self.choice.restricting.memory() + label + prepared
    }

    /// Whether its rules are prepared; else its text is read for each verdict.
    pub(crate) fn is_prepared(&self) -> bool {
        self.prepared.is_some()
    }

    /// Drops the prepared rules.
    pub(crate) fn drop_prepared(&mut self) {
        self.prepared = None;
    }

    /// Drops the choice of groups, which is only needed to read the text again.
    pub(crate) fn drop_choice(&mut self) {
        self.choice.groups = GroupSet::default();
        self.choice.restricting = GroupSet::default();
    }

    /// Names another dialect in its verdicts: the one that asks for this reading.
    pub(crate) fn named(self, dialect: Dialect) -> Member {
        Member { dialect, ..self }
    }

    /// Returns whether the file names any robot: without, nothing in it binds us.
    pub(crate) fn has_groups(&self) -> bool {
        self.choice.otherwise != Reason::NoRules
    }

    /// Quotes the lines of another form of the same text.
    pub(crate) fn quote(&mut self, text: &[u8]) {
        if let Some(prepared) = &mut self.prepared {
            prepared.quote(text);
        }
    }

    /// The lines whose rules bind us, in file order.
    pub(crate) fn lines(&self, source: Option<Again<'_>>) -> Vec<(u32, Arc<str>)> {
        let mut lines = match (&self.prepared, source) {
            (Some(prepared), _) => prepared
                .lines
                .iter()
                .map(|line| (line.line, shown(&prepared.text[line.start as usize..line.end as usize])))
                .collect(),
            (None, Some((text, quoted, case))) => {
                binding_lines(&self.choice, (text, self.form.is_separated), quoted, case)
            }
            (None, None) => Vec::new(),
        };
        lines.sort_by_key(|&(line, _)| line);
        lines
    }

    /// Decides a path with query; `subject` is the same, normalised. `source`: the text and the one that it is quoted from, where the
    /// rules aren't prepared.
    pub(crate) fn verdict(&self, path: &str, subject: &Subject<'_>, source: Option<Again<'_>>) -> Verdict {
        let choice = &self.choice;
        let other = if choice.reads_escapes { subject.unescaped() } else { None };
        let decided = match (&self.prepared, source) {
            (Some(prepared), _) => prepared.decide(path, subject, other.as_ref()),
            (None, Some((text, quoted, case))) => {
                let scan = Scan::new(choice, case.expansion(choice), path, subject, other.as_ref());
                scan.decide((text, self.form.is_separated), quoted, case)
            }
            (None, None) => None,
        };
        let Some(Decided { allowed, line, rule, group }) = decided else {
            let allowed = choice.otherwise != Reason::OnlyAllowLines;
            let verdict = Verdict::bare(allowed, self.dialect, choice.otherwise.clone());
            let group = choice.label.clone().filter(|_| choice.otherwise != Reason::NoGroup);
            return Verdict { group, ..verdict };
        };
        let (line, rule) = (Some(line), Some(rule));
        Verdict { allowed, dialect: self.dialect, reason: Reason::Rule, line, rule, group }
    }
}

impl Prepared {
    /// Prepares rules where there is room for them; gives the additions that came to bear.
    fn of(binding: &Binding<'_, '_>, choice: &Choice, case: &Case<'_>) -> (Option<Self>, Additions) {
        let Binding { lines, restrictions, .. } = binding;
        let all = lines.iter().chain(restrictions);
        let labels = binding.groups.len() + binding.restricting.len();
        let evidence = all.map(|line| line.raw.len() + size_of::<Evidence>()).sum::<usize>()
            + labels * (size_of::<Arc<str>>() + memory::shared(""));
        let room = case.room.get().checked_sub(evidence);
        let mut used = Additions::NONE;
        let (left, expansion) = (room.unwrap_or_default(), case.expansion(choice));
        let rules = match choice.order {
            Order::Longest => {
                let (longest, bore) = Longest::prepare(lines, &expansion, left);
                used = bore;
                longest.map(Rules::Longest)
            }
            Order::First { is_of_1994 } => FirstPrefix::prepare(lines, is_of_1994, left).map(Rules::First),
            Order::Conner => Conner::prepare(lines, left).map(Rules::Conner),
        };
        let mut restrict = None;
        if !binding.restricting.is_empty() {
            let expansion = Expansion { index_folder: false, ..expansion };
            let (longest, bore) = Longest::prepare(restrictions, &expansion, left);
            used = used.with(bore);
            restrict = Some(longest);
        }
        let prepared = match (room, rules, restrict) {
            (None, ..) | (_, None, _) | (.., Some(None)) => None,
            (Some(_), Some(rules), restrict) => {
                let restrictions =
                    restrict.flatten().map(|longest| Restrictions { first: lines.len() as u32, longest });
                let mut prepared = Self {
                    rules,
                    restrictions,
                    lines: Box::default(),
                    text: Box::default(),
                    groups: Box::default(),
                };
                prepared.record(lines, binding.reading, binding.groups, choice.bits);
                prepared.record(&binding.restrictions, binding.reading, binding.restricting, u32::MAX);
                Some(prepared)
            }
        };
        let takes = prepared.as_ref().map_or(usize::MAX, Self::memory);
        let left = case.room.get().checked_sub(takes);
        // One reading that doesn't fit is enough: all are read again then.
        case.room.set(left.unwrap_or_default());
        (prepared.filter(|_| left.is_some()), used)
    }

    /// The bytes that this takes on the heap.
    fn memory(&self) -> usize {
        let restrictions = self.restrictions.as_ref().map_or(0, |restrictions| restrictions.longest.memory());
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
        labels.extend(groups.iter().map(|&group| shown_label(&reading.groups[group as usize], bits)));
        (self.text, self.lines, self.groups) = (text.into(), evidence.into(), labels.into());
    }

    fn quote(&mut self, text: &[u8]) {
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

    fn decide(&self, path: &str, subject: &Subject<'_>, other: Option<&Subject<'_>>) -> Option<Decided> {
        let mut decided = match &self.rules {
            Rules::Longest(longest) => longest.decide(subject, other),
            Rules::First(first) => first.decide(&decode(path.as_bytes())),
            Rules::Conner(conner) => conner.decide(&decode(path.as_bytes())),
        };
        if let Some(restrictions) = &self.restrictions
            && decided.is_none_or(|(allowed, _)| allowed)
            && let Some((_, rule)) = restrictions.longest.decide(subject, other)
        {
            decided = Some((false, restrictions.first + rule));
        }
        let (allowed, rule) = decided?;
        let Evidence { line, group, start, end } = self.lines[rule as usize];
        let rule = shown(&self.text[start as usize..end as usize]);
        Some(Decided { allowed, line, rule, group: self.groups.get(group as usize).cloned() })
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
