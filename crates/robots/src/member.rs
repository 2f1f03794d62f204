//! One dialect's reading of a file, prepared for one agent.

use std::sync::Arc;

use crate::conner::{self, Conner, Version};
use crate::field::Field;
use crate::longest::Longest;
use crate::pattern::Subject;
use crate::prefix::{FirstPrefix, decode};
use crate::read::{Group, OtherLine, Reader, Reading, RuleLine, Site};
use crate::select::Selector;
use crate::warning::{Notes, lossy};
use crate::{Additions, Agent, Dialect, Options, Reason, Signals, Timing, Verdict, signals, timing};

/// Decides for one agent by one dialect.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    dialect: Dialect,
    rules: Rules,
    /// The deciding lines, in the order of the rules' numbers.
    lines: Box<[Evidence]>,
    text: Box<[u8]>,
    groups: Box<[Arc<str>]>,
    /// The answer where no rule matches.
    otherwise: Reason,
}

#[derive(Debug, Clone)]
enum Rules {
    Longest(Longest),
    First(FirstPrefix),
    Conner(Conner),
}

/// Where a rule stands.
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
}

impl Member {
    /// Reads the octets by one dialect. Warnings go to `notes` unless `own` is quiet.
    pub(crate) fn prepare(
        octets: &[u8],
        agent: &Agent,
        options: &Options,
        dialect: Dialect,
        site: Site<'_>,
        own: Notes,
        notes: &mut Notes,
    ) -> (Member, Beside) {
        let additions = match dialect {
            Dialect::Hardened => options.additions,
            Dialect::Rfc9309 => Additions::H5,
            _ => Additions::NONE,
        };
        let hardened = dialect == Dialect::Hardened;
        let mut reader = Reader::new(Selector::new(agent, dialect, additions, options), dialect, additions);
        reader.rules_before_agent = options.rules_before_agent && hardened;
        reader.site = site;
        reader.notes = own;
        let identities = reader.selector.identities();
        let (mut reading, mut own) = reader.read(octets);
        for line in &reading.others {
            timing::inspect(line, &mut own);
            signals::inspect(line, &mut own);
        }
        *notes = own;

        let chosen = choose(&reading, identities, dialect, options);
        let mut used = reading.additions;
        let mut lines = std::mem::take(&mut reading.rules);
        lines.retain(|rule| chosen.has(rule.group));
        let rules = match dialect {
            Dialect::Koster1994 => Rules::First(FirstPrefix::koster1994(&lines)),
            Dialect::Conner1996 if chosen.version == Version::Two => {
                Rules::Conner(Conner::prepare(&lines, options.conner1996_prefix))
            }
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
        let beside = Beside {
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
            ),
            signals: Signals::read(
                reading.others.iter().filter(|line| !line.field.is_of_group() || of(line, &chosen.groups)),
            ),
            additions: used,
        };
        (Self::assemble(dialect, rules, &lines, &reading, &chosen), beside)
    }

    fn assemble(
        dialect: Dialect,
        rules: Rules,
        lines: &[RuleLine<'_>],
        reading: &Reading<'_>,
        chosen: &Chosen,
    ) -> Member {
        let mut text = Vec::with_capacity(lines.iter().map(|line| line.raw.len()).sum());
        let mut evidence = Vec::with_capacity(lines.len());
        for line in lines {
            let start = text.len() as u32;
            text.extend_from_slice(line.raw);
            let group = chosen.groups.binary_search(&line.group).unwrap_or_default() as u32;
            evidence.push(Evidence { line: line.line, group, start, end: text.len() as u32 });
        }
        let groups =
            chosen.groups.iter().map(|&group| label(&reading.groups[group as usize], chosen.identity));
        let otherwise = match &rules {
            _ if reading.groups.is_empty() => Reason::NoRules,
            _ if chosen.groups.is_empty() => Reason::NoGroup,
            Rules::Conner(conner) if conner.only_allow => Reason::OnlyAllowLines,
            _ if lines.iter().all(|line| line.value.is_empty()) => Reason::NoRulesInGroup,
            _ => Reason::NoRuleMatches,
        };
        Member {
            dialect,
            rules,
            lines: evidence.into(),
            text: text.into(),
            groups: groups.collect(),
            otherwise,
        }
    }

    /// The lines whose rules bind us, in file order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u32, Arc<str>)> + '_ {
        let text = |evidence: &Evidence| shown(&self.text[evidence.start as usize..evidence.end as usize]);
        self.lines.iter().map(move |evidence| (evidence.line, text(evidence)))
    }

    /// Decides a path with query; `subject` is the same, normalised.
    pub(crate) fn verdict(&self, path: &str, subject: &Subject<'_>) -> Verdict {
        let decided = match &self.rules {
            Rules::Longest(longest) => longest.decide(subject),
            Rules::First(first) => first.decide(&decode(path.as_bytes())),
            Rules::Conner(conner) => conner.decide(&decode(path.as_bytes())),
        };
        let Some((allowed, rule)) = decided else {
            let allowed = self.otherwise != Reason::OnlyAllowLines;
            let verdict = Verdict::bare(allowed, self.dialect, self.otherwise.clone());
            return Verdict { group: self.groups.first().cloned(), ..verdict };
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

/// The groups whose rules bind us.
struct Chosen {
    /// Ascending.
    groups: Vec<u32>,
    /// The identity that was named; none where `*` binds us.
    identity: Option<u32>,
    version: Version,
    also_star: bool,
}

impl Chosen {
    fn has(&self, group: u32) -> bool {
        self.groups.binary_search(&group).is_ok()
    }
}

fn star_groups(reading: &Reading<'_>) -> Vec<u32> {
    (0..reading.groups.len() as u32).filter(|&i| reading.groups[i as usize].star).collect()
}

/// Picks the groups: those of our name, else those of the first alias that is named, else those of `*`.
fn choose(reading: &Reading<'_>, identities: u32, dialect: Dialect, options: &Options) -> Chosen {
    let conner = dialect == Dialect::Conner1996;
    let mut versions = vec![Version::One; if conner { reading.groups.len() } else { 0 }];
    for line in reading.others.iter().filter(|line| conner && line.field == Field::RobotVersion) {
        if let Some(group) = line.group {
            versions[group as usize] = conner::version(line.value);
        }
    }
    let version = |group: u32| versions.get(group as usize).copied().unwrap_or(Version::One);
    // A record of a higher version is skipped as if it were not there.
    let usable = |group: &u32| !conner || version(*group) != Version::Higher;
    let named = |identity: u32| -> Vec<u32> {
        (0..reading.groups.len() as u32)
            .filter(|&i| reading.groups[i as usize].us >> identity & 1 == 1)
            .filter(usable)
            .collect()
    };
    let ours =
        (0..identities).map(|identity| (identity, named(identity))).find(|(_, groups)| !groups.is_empty());
    let stars = || star_groups(reading).into_iter().filter(usable).collect::<Vec<_>>();
    let (identity, mut groups) = match ours {
        Some((identity, groups)) => (Some(identity), groups),
        None => (None, stars()),
    };
    let mut chosen_version = Version::One;
    let mut also_star = false;
    match dialect {
        Dialect::Koster1994 if options.koster1994_all_records && identity.is_some() => {}
        Dialect::Koster1994 | Dialect::Koster1996 => groups.truncate(1),
        Dialect::Conner1996 => {
            if let Some(&second) = groups.iter().find(|&&group| version(group) == Version::Two) {
                chosen_version = Version::Two;
                groups = vec![second];
            }
            groups.truncate(1);
        }
        Dialect::Hardened if options.also_star && identity.is_some() => {
            let more: Vec<_> = stars().into_iter().filter(|group| !groups.contains(group)).collect();
            also_star = !more.is_empty();
            groups.extend(more);
            groups.sort_unstable();
        }
        Dialect::Rfc9309 | Dialect::Hardened | Dialect::Strictest => {}
    }
    Chosen { groups, identity, version: chosen_version, also_star }
}

/// Gives a line as people may read it.
fn shown(raw: &[u8]) -> Arc<str> {
    match std::str::from_utf8(raw) {
        Ok(text) if text.len() <= 2048 && raw.iter().all(|b| (b' '..=b'~').contains(b)) => text.into(),
        _ => lossy(raw, 2048).into(),
    }
}

/// Gives the user-agent value that selected a group.
fn label(group: &Group<'_>, identity: Option<u32>) -> Arc<str> {
    let named = identity.and_then(|identity| group.names.iter().find(|(us, _)| us >> identity & 1 == 1));
    let value = named.map(|&(_, value)| value).or(group.star_value).unwrap_or_default();
    lossy(value, 200).into()
}
