//! The versions of robots.txt that a crawl has had from an origin, and which of them was in force.

use robots::{Agent, Options, Robots};

use crate::record::RobotsRecord;
use crate::store::{Store, StoreError, Tree};

/// What was in force for an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// What the answer meant: `rules`, `stored`, `allow_all` or `deny_all`.
    pub access: String,
    /// Digest of the version with the rules, where there are rules.
    pub digest: Option<String>,
}

impl InForce {
    /// True if this decides as the other does: the same rules, or none of the same kind.
    pub fn is_same(&self, access: &str, digest: Option<&str>) -> bool {
        let has_rules = |access: &str| matches!(access, "rules" | "stored");
        match (has_rules(&self.access), has_rules(access)) {
            (true, true) => self.digest.as_deref() == digest,
            (false, false) => self.access == access,
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
    match last.access.as_str() {
        "rules" | "allow_all" | "deny_all" => Ok(Some(of(&last))),
        _ => Ok(among(&versions(store, origin)?)),
    }
}

/// As [`in_force`], at the end of these versions.
pub fn among(versions: &[RobotsRecord]) -> Option<InForce> {
    let last = versions.iter().rev().find(|version| version.access != "defer")?;
    if last.access != "stored" {
        return Some(of(last));
    }
    let rules = versions.iter().rev().find(|version| version.access == "rules");
    Some(InForce { access: last.access.clone(), digest: rules.and_then(|version| version.digest.clone()) })
}

fn of(version: &RobotsRecord) -> InForce {
    let digest = version.digest.clone().filter(|_| version.access == "rules");
    InForce { access: version.access.clone(), digest }
}

fn read(value: &[u8]) -> Result<RobotsRecord, StoreError> {
    RobotsRecord::read(value)
        .map_err(|error| StoreError::Form { tree: Tree::Robots.name(), detail: error.to_string() })
}

/// The rules at the end of these versions, as a robot reads them, and the version they come from; none if there is none.
pub fn rules(versions: &[RobotsRecord], agent: &Agent, options: &Options) -> Option<(Robots, RobotsRecord)> {
    let last = versions.last()?;
    let parse =
        |version: &RobotsRecord| Robots::parse(&version.octets(), agent, options, Some(&version.origin));
    let robots = match last.access.as_str() {
        "rules" => parse(last),
        "stored" => versions.iter().rev().find(|version| version.access == "rules").map(parse)?,
        "allow_all" => Robots::allow_all(last.reason.as_str()).with_dialect(options.dialect),
        _ => Robots::deny_all(last.reason.as_str()).with_dialect(options.dialect),
    };
    Some((robots, last.clone()))
}
