//! The versions of an origin's robots.txt during a crawl, and which of them was in effect.

use robots::{Agent, Options, Robots};

use crate::record::{RobotsAccess, RobotsRecord};
use crate::store::{Store, StoreError, Tree};

/// What was in force for an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// What the answer meant: never that nothing may be fetched until one comes.
    pub access: RobotsAccess,
    /// Digest of the version with the rules, where there are rules.
    pub digest: Option<String>,
}

impl InForce {
    /// True if this decides as the other does: the same rules, or none of the same kind.
    pub fn is_same(&self, access: &RobotsAccess, digest: Option<&str>) -> bool {
        match (self.access.has_rules(), access.has_rules()) {
            (true, true) => self.digest.as_deref() == digest,
            (false, false) => self.access == *access,
            _ => false,
        }
    }
}

/// Every stored version of an origin's robots.txt, the oldest first.
pub fn versions<S: Store>(store: &S, origin: &str) -> Result<Vec<RobotsRecord>, StoreError> {
    store.scan(Tree::Robots, &RobotsRecord::prefix(origin)).map(|pair| read(&pair?.1)).collect()
}

/// What was last in force for an origin; none if it never gave an answer that can be used. One look-up as a rule.
pub fn in_force<S: Store>(store: &S, origin: &str) -> Result<Option<InForce>, StoreError> {
    let Some((_, value)) = store.last(Tree::Robots, &RobotsRecord::prefix(origin))? else { return Ok(None) };
    let last = read(&value)?;
    match last.access {
        RobotsAccess::Rules | RobotsAccess::AllowAll | RobotsAccess::DenyAll => Ok(Some(of(&last))),
        RobotsAccess::Stored | RobotsAccess::Defer | RobotsAccess::Other(_) => {
            Ok(among(&versions(store, origin)?))
        }
    }
}

/// As [`in_force`], at the end of these versions.
pub fn among(versions: &[RobotsRecord]) -> Option<InForce> {
    let last = versions.iter().rev().find(|version| version.access != RobotsAccess::Defer)?;
    if last.access != RobotsAccess::Stored {
        return Some(of(last));
    }
    let rules = versions.iter().rev().find(|version| version.access == RobotsAccess::Rules);
    Some(InForce { access: last.access.clone(), digest: rules.and_then(|version| version.digest.clone()) })
}

fn of(version: &RobotsRecord) -> InForce {
    let digest = version.digest.clone().filter(|_| version.access == RobotsAccess::Rules);
    InForce { access: version.access.clone(), digest }
}

fn read(value: &[u8]) -> Result<RobotsRecord, StoreError> {
    RobotsRecord::read(value)
        .map_err(|error| StoreError::Unreadable { tree: Tree::Robots.name(), source: error.into() })
}

/// The rules at the end of these versions, as a robot reads them, and the version they come from; none if there is none.
pub fn rules(versions: &[RobotsRecord], agent: &Agent, options: &Options) -> Option<(Robots, RobotsRecord)> {
    let last = versions.last()?;
    let parse =
        |version: &RobotsRecord| Robots::parse(&version.bytes(), agent, options, Some(&version.origin));
    let robots = match last.access {
        RobotsAccess::Rules => parse(last),
        RobotsAccess::Stored => {
            versions.iter().rev().find(|version| version.access == RobotsAccess::Rules).map(parse)?
        }
        RobotsAccess::AllowAll => Robots::allow_all(last.reason.as_str()).with_dialect(options.dialect),
        RobotsAccess::DenyAll | RobotsAccess::Defer | RobotsAccess::Other(_) => {
            Robots::deny_all(last.reason.as_str()).with_dialect(options.dialect)
        }
    };
    Some((robots, last.clone()))
}
