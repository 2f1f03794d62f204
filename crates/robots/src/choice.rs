//! What of a text binds us, for whom it is read, and what a decision names.

use std::cell::Cell;
use std::sync::Arc;

use crate::group_set::GroupSet;
use crate::longest::Expansion;
use crate::read::{Group, Site};
use crate::warning::lossy;
use crate::{Additions, Agent, Dialect, Options, Reason};

/// What of a text binds us, and how it decides.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    /// The dialect by which the text is read.
    pub(crate) dialect: Dialect,
    pub(crate) order: Order,
    pub(crate) index_folder: bool,
    /// The groups that bind us, and the bit of the identity that they name; none where they name everybody.
    pub(crate) groups: GroupSet,
    pub(crate) bits: u32,
    /// The groups whose Disallow lines restrict us and whose other lines open nothing (H8).
    pub(crate) restricting: GroupSet,
    /// The answer where no rule matches, and the group that it names.
    pub(crate) otherwise: Reason,
    pub(crate) label: Option<Arc<str>>,
    /// A rule holds a literal `$`: URLs with escapes have two readings (H9).
    pub(crate) reads_escapes: bool,
}

/// Which of several matching rules decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Longest,
    /// The first one, by the standard of 1994 or the draft of 1996.
    First {
        is_of_1994: bool,
    },
    Conner,
}

/// The agent for which, and the options with which, a file is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) options: &'a Options,
    pub(crate) site: Site<'a>,
    /// Bytes that rules may take yet, of all readings together.
    pub(crate) room: &'a Cell<usize>,
}

impl Case<'_> {
    /// The additions of `hardened` that a dialect makes.
    pub(crate) fn additions(&self, dialect: Dialect) -> Additions {
        match dialect {
            Dialect::Hardened => self.options.additions,
            Dialect::Rfc9309 => Additions::H5,
            _ => Additions::NONE,
        }
    }

    pub(crate) fn expansion(&self, choice: &Choice) -> Expansion<'_> {
        let additions = self.additions(choice.dialect);
        Expansion { additions, site: self.site, index_folder: choice.index_folder }
    }
}

/// What a rule decided, with its evidence.
pub(crate) struct Decided {
    pub(crate) allowed: bool,
    pub(crate) line: u32,
    pub(crate) rule: Arc<str>,
    pub(crate) group: Option<Arc<str>>,
}

/// Returns a line as people may read it.
pub(crate) fn shown(raw: &[u8]) -> Arc<str> {
    match std::str::from_utf8(raw) {
        Ok(text) if text.len() <= 2048 && raw.iter().all(|b| (b' '..=b'~').contains(b)) => text.into(),
        _ => lossy(raw, 2048).into(),
    }
}

/// Returns the user-agent value that selected a group: the first one that names one of these identities, else that of `*`.
pub(crate) fn label<'a>(group: &Group<'a>, bits: u32) -> &'a [u8] {
    let named = group.names.iter().find(|(named, _)| named & bits != 0);
    named.map(|&(_, value)| value).or(group.star_value).unwrap_or_default()
}

/// As [`label`], as people may read it.
pub(crate) fn shown_label(group: &Group<'_>, bits: u32) -> Arc<str> {
    lossy(label(group, bits), 200).into()
}
