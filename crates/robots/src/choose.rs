//! Which groups bind us, and which other reading must allow as well.

use crate::conner::{self, Version};
use crate::field::Field;
use crate::read::{Group, Reading};
use crate::{Additions, Dialect, Options};

/// The groups whose rules bind us.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// Ascending.
    pub(crate) groups: Vec<u32>,
    /// The identity that was named; none where `*` binds us.
    pub(crate) identity: Option<u32>,
    pub(crate) version: Version,
    pub(crate) also_star: bool,
}

impl Chosen {
    pub(crate) fn has(&self, group: u32) -> bool {
        self.groups.binary_search(&group).is_ok()
    }
}

/// The reading that `hardened` asks as well, so that a repaired line never opens what is closed without the repair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Guard {
    /// None: the same groups bind us without any repair, and every other addition only denies.
    #[default]
    None,
    /// The dialect whose reading must allow too.
    Dialect(Dialect),
}

pub(crate) fn star_groups(reading: &Reading<'_>) -> Vec<u32> {
    groups(reading, |group| group.named.star)
}

fn groups(reading: &Reading<'_>, is_meant: impl Fn(&Group<'_>) -> bool) -> Vec<u32> {
    (0..).zip(&reading.groups).filter(|(_, group)| is_meant(group)).map(|(i, _)| i).collect()
}

/// Picks the groups: those of our name, else those of the first alias that is named, else those of `*`.
pub(crate) fn choose(reading: &Reading<'_>, identities: u32, dialect: Dialect, options: &Options) -> Chosen {
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
    let of_identity = |identity: u32| -> Vec<u32> {
        let mut named = groups(reading, |group| group.named.us >> identity & 1 == 1);
        named.retain(usable);
        named
    };
    let ours = (0..identities)
        .map(|identity| (identity, of_identity(identity)))
        .find(|(_, groups)| !groups.is_empty());
    let stars = || star_groups(reading).into_iter().filter(usable).collect::<Vec<_>>();
    let (identity, mut groups) = match ours {
        Some((identity, groups)) => (Some(identity), groups),
        None => (None, stars()),
    };
    let mut chosen_version = Version::One;
    let mut also_star = false;
    match dialect {
        Dialect::Koster1994 | Dialect::Koster1996 => groups.truncate(1),
        Dialect::Conner1996 => {
            if let Some(&second) = groups.iter().find(|&&group| version(group) == Version::Two) {
                chosen_version = Version::Two;
                groups = vec![second];
            }
            groups.truncate(1);
        }
        Dialect::Hardened if options.additions.contains(Additions::H7) && identity.is_some() => {
            let more: Vec<_> = stars().into_iter().filter(|group| !groups.contains(group)).collect();
            also_star = !more.is_empty();
            groups.extend(more);
            groups.sort_unstable();
        }
        Dialect::Rfc9309 | Dialect::Hardened | Dialect::Strictest => {}
    }
    Chosen { groups, identity, version: chosen_version, also_star }
}

/// Returns the groups that restrict us though they don't bind us: those that one of the names tried would select if it were cut (H8).
pub(crate) fn restricting(reading: &Reading<'_>, chosen: &Chosen) -> Vec<u32> {
    let tried = chosen.identity.map_or(u32::MAX, |identity| u32::MAX >> (31 - identity));
    let mut restricting = groups(reading, |group| group.named.restricts & tried != 0);
    restricting.retain(|&group| !chosen.has(group));
    restricting
}

/// Says which other reading must allow as well.
///
/// The only exception to "never more than RFC 9309 allows": a list of plain names separated by spaces is the form of the standard of
/// 1994 (`User-agent: Copernicus Fred`). Where such lists alone name us, the author wrote for that standard, and its reading is
/// asked in place of the RFC's, which sees only the first name of each and would bind us by `*`.
pub(crate) fn guard(reading: &Reading<'_>, identities: u32, chosen: &Chosen) -> Guard {
    let rfc = Guard::Dialect(Dialect::Rfc9309);
    // A cut line may name other robots or match other URLs than the whole one.
    if reading.has_cut_line || chosen.also_star {
        return rfc;
    }
    if !reading.additions.contains(Additions::H2) && !reading.additions.contains(Additions::H3) {
        return Guard::None;
    }
    let plain = (0..identities)
        .map(|identity| groups(reading, |group| group.named.plain >> identity & 1 == 1))
        .find(|groups| !groups.is_empty());
    let is_named = plain.is_some();
    if plain.unwrap_or_else(|| groups(reading, |group| group.named.plain_star)) == chosen.groups {
        return Guard::None;
    }
    let is_list = chosen.identity.is_some_and(|identity| {
        chosen.groups.iter().all(|&group| reading.groups[group as usize].named.listed >> identity & 1 == 1)
    });
    if is_list && !is_named { Guard::Dialect(Dialect::Koster1994) } else { rfc }
}
