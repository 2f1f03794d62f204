//! Table `duplicates`: pages with the same or nearly the same content.

use std::collections::{HashMap, HashSet};

use super::open::{View, ViewError};
use super::pages::simhash_text;
use super::row::row;
use super::row_sorter::{RowSorter, host_of};
use super::value::Value;
use crate::page_store;
use crate::record::PageRecord;
use crate::sorter::{self, Sorter};

row! {
    /// A page with the same or nearly the same content as another one.
    DuplicateRow {
        /// URL of the first page of the group, by host and URL. A group is a chain of near duplicates.
        group_url: String,
        /// URL of the page; the first page of the group has a row too.
        url: String,
        /// The body is identical to that of the group's first page.
        exact: bool,
        /// Bits in which the simhash differs from that of the group's first page.
        distance: Option<u32> [null = "one of them has too little text for a simhash"],
        /// As in `pages`.
        digest: String,
        /// As in `pages`.
        simhash: Option<String> [null = "the text has fewer than 16 words"],
        /// The host.
        host: String [names],
    }
}

/// Bits in which the fingerprints of near duplicates may differ.
const NEAR: u32 = 3;

/// Parts that a fingerprint is cut into: two that differ in `NEAR` bits at most have one in common.
const PARTS: u32 = 4;

/// Fingerprints with a part in common that each is compared with: those that follow it in numerical order.
const COMPARED: usize = 256;

/// What duplicates have in common: the simhash, or the digest if there is none.
fn mark(record: &PageRecord) -> Option<(bool, u64)> {
    let digest = record.digest.as_deref()?;
    let of_digest = || sorter::number(blake3::hash(digest.as_bytes()).as_bytes(), 0, 8);
    Some(record.simhash.map_or_else(|| (false, of_digest()), |simhash| (true, simhash)))
}

/// The groups that marks belong to.
#[derive(Debug, Default)]
struct Groups {
    /// Marks that more than one page has.
    repeated: HashSet<(bool, u64)>,
    /// Fingerprints that are near to another one, each with one of its group.
    parents: HashMap<u64, u64>,
}

impl Groups {
    fn root(&mut self, mark: u64) -> u64 {
        let mut root = mark;
        while let Some(parent) = self.parents.get(&root).filter(|parent| **parent != root) {
            root = *parent;
        }
        let mut next = mark;
        while let Some(parent) =
            self.parents.insert(next, root).filter(|parent| *parent != root && *parent != next)
        {
            next = parent;
        }
        root
    }

    fn join(&mut self, one: u64, two: u64) {
        let (one, two) = (self.root(one), self.root(two));
        self.parents.insert(one.max(two), one.min(two));
    }

    /// The group of a mark; none where a single page has it and no other is near.
    fn of(&mut self, mark: (bool, u64)) -> Option<(bool, u64)> {
        match mark {
            (true, simhash) if self.parents.contains_key(&simhash) => Some((true, self.root(simhash))),
            mark => self.repeated.contains(&mark).then_some(mark),
        }
    }
}

impl View {
    /// The rows of table `duplicates`, by group, host and URL. All page records are read twice before the first row; marks
    /// and rows are sorted in temporary files. Memory: about 50 bytes per text that several pages share.
    ///
    /// Near duplicates differ in at most 3 bits of 64. Where more than 256 different texts have a quarter of their fingerprint in common, each is compared
    /// with the 256 that follow it.
    pub fn duplicates(
        &self,
    ) -> Result<impl Iterator<Item = Result<DuplicateRow, ViewError>> + '_, ViewError> {
        let mut groups = self.groups()?;
        let mut rows = RowSorter::new(self.sorter());
        for record in self.content_records() {
            let record = record?;
            let Some((has_simhash, group)) = mark(&record).and_then(|mark| groups.of(mark)) else { continue };
            let mut key = vec![u8::from(has_simhash)];
            key.extend(group.to_be_bytes());
            let group_key = key.clone();
            key.extend(host_of(&record.url).as_bytes());
            key.push(0);
            key.extend(record.url.as_bytes());
            let number = |bytes: &[u8]| Value::Integer(sorter::number(bytes, 0, 8));
            let simhash = record.simhash.map_or(Value::Null, Value::Integer);
            let text = |text: String| Value::Text(text.into());
            let digest = record.digest.unwrap_or_default();
            let row = [
                number(&group_key[1..]),
                Value::Boolean(has_simhash),
                text(record.url),
                text(digest),
                simhash,
            ];
            rows.push(&key, &row)?;
        }
        let mut first: Option<Vec<Value>> = None;
        Ok(rows.sorted()?.map(move |row| {
            let row = row?;
            if first.as_ref().is_none_or(|first| first[..2] != row[..2]) {
                first = Some(row.clone());
            }
            let first = first.as_deref().unwrap_or_default();
            let texts = |row: &[Value], place: usize| row[place].as_str().unwrap_or_default().to_owned();
            let simhash = |row: &[Value]| match row[4] {
                Value::Integer(simhash) => Some(simhash),
                _ => None,
            };
            Ok(DuplicateRow {
                group_url: texts(first, 2),
                url: texts(&row, 2),
                exact: row[3] == first[3],
                distance: simhash(first).zip(simhash(&row)).map(|(a, b)| (a ^ b).count_ones()),
                digest: texts(&row, 3),
                simhash: simhash(&row).map(simhash_text),
                host: host_of(row[2].as_str().unwrap_or_default()).to_owned(),
            })
        }))
    }

    /// The records of pages whose content may be shown.
    fn content_records(&self) -> impl Iterator<Item = Result<PageRecord, ViewError>> + '_ {
        page_store::scan(self.store()).map(|page| Ok(self.shown(page?.record()?))).filter(|record| {
            record.as_ref().map_or(true, |record| record.status.is_some() && !record.is_withheld())
        })
    }

    fn groups(&self) -> Result<Groups, ViewError> {
        let mut marks = self.sorter();
        for record in self.content_records() {
            if let Some((has_simhash, mark)) = mark(&record?) {
                marks.push_parts(&[&[u8::from(has_simhash)], &mark.to_be_bytes()])?;
            }
        }
        let mut groups = Groups::default();
        let mut parts = self.sorter();
        let mut last = None;
        for record in marks.sorted()? {
            let record = record?;
            let mark = (record[0] == 1, sorter::number(&record, 1, 8));
            if last.replace(mark) == Some(mark) {
                groups.repeated.insert(mark);
            } else if mark.0 {
                add_parts(&mut parts, mark.1)?;
            }
        }
        join_near(parts, &mut groups)?;
        Ok(groups)
    }
}

/// A record for each part of a fingerprint: the part's place, the part, the fingerprint.
fn add_parts(parts: &mut Sorter, simhash: u64) -> Result<(), ViewError> {
    for place in 0..PARTS {
        let part = (simhash.rotate_left(place * 16) >> 48) as u16;
        parts.push_parts(&[&[place as u8], &part.to_be_bytes(), &simhash.to_be_bytes()])?;
    }
    Ok(())
}

fn join_near(parts: Sorter, groups: &mut Groups) -> Result<(), ViewError> {
    let mut before: Vec<u64> = Vec::new();
    let mut of: Option<[u8; 3]> = None;
    for record in parts.sorted()? {
        let record = record?;
        let part = [record[0], record[1], record[2]];
        if of.replace(part) != Some(part) {
            before.clear();
        }
        let simhash = sorter::number(&record, 3, 8);
        for other in before.iter().rev().take(COMPARED) {
            if (other ^ simhash).count_ones() <= NEAR {
                groups.join(*other, simhash);
            }
        }
        if before.len() >= 2 * COMPARED {
            before.drain(..COMPARED);
        }
        before.push(simhash);
    }
    Ok(())
}
