//! Which standard a file is read by, and the choices that a standard leaves open.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Additions;

/// Names the standard by which a file is read and decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// A Standard for Robot Exclusion, 1994: Disallow alone.
    Koster1994,
    /// The Internet draft of 1996: Allow, the first matching line decides.
    Koster1996,
    /// The extended standard 2.0 of 1996: patterns, timing, versions.
    Conner1996,
    /// RFC 9309 with the detail of Google's open parser: the longest match decides.
    Rfc9309,
    /// RFC 9309 and additions H1 to H7 that forbid more or repair a clear slip.
    #[default]
    Hardened,
    /// Allows only what 1994, 1996, 2.0 and `hardened` all allow.
    Strictest,
}

impl Dialect {
    /// Lists every dialect, oldest first.
    pub const ALL: [Dialect; 6] = [
        Dialect::Koster1994,
        Dialect::Koster1996,
        Dialect::Conner1996,
        Dialect::Rfc9309,
        Dialect::Hardened,
        Dialect::Strictest,
    ];

    /// Gives the name used in configuration, on the command line and in outputs.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Koster1994 => "koster1994",
            Dialect::Koster1996 => "koster1996",
            Dialect::Conner1996 => "conner1996",
            Dialect::Rfc9309 => "rfc9309",
            Dialect::Hardened => "hardened",
            Dialect::Strictest => "strictest",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Says that a word names no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dialect `{0}` (one of koster1994, koster1996, conner1996, rfc9309, hardened, strictest)")]
pub struct UnknownDialect(pub String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let wanted = name.trim();
        Dialect::ALL
            .into_iter()
            .find(|dialect| dialect.name().eq_ignore_ascii_case(wanted))
            .ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

/// Says how the name on a line and the name of the robot are compared in `koster1996`, where the sources disagree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentRelation {
    /// The value on the line occurs in our name ("HTTP: The Definitive Guide", 9.4).
    #[default]
    Book,
    /// Our name occurs in the value on the line (draft of 1996, 3.2.1).
    Draft,
    /// One of the two.
    Either,
}

/// Holds the choices by which a file is read. The default is the dialect `hardened` with every option off.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each named in the configuration")]
pub struct Options {
    /// The standard.
    pub dialect: Dialect,
    /// The agent relation of `koster1996` (also as a member of `strictest`).
    pub koster1996_relation: AgentRelation,
    /// The additions H1 to H6 that `hardened` makes. Default: all. Without any, it decides as `rfc9309` does.
    pub additions: Additions,
    /// H7: rules of `*` also bind us when a group names us. `hardened` and `strictest` only.
    pub also_star: bool,
    /// Reads rules before any user-agent line as rules for `*`, as `WWW::RobotRules` does. `hardened` and `strictest` only.
    pub rules_before_agent: bool,
    /// Reads a plain path of a 2.0 record as a prefix and not as a whole path. `conner1996` and `strictest` only.
    pub conner1996_prefix: bool,
    /// Lets `Allow: /x/index.html` also allow exactly `/x/`, as Google does. `rfc9309` only.
    pub index_folder: bool,
    /// In `strictest`: tests every matching record of 1994, where the standard leaves the choice to the robot.
    pub koster1994_all_records: bool,
    /// Bytes read of a file; the rest is dropped with the cut line. Default 512,000 (RFC 9309 section 2.5).
    pub max_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            dialect: Dialect::Hardened,
            koster1996_relation: AgentRelation::Book,
            additions: Additions::HARDENED,
            also_star: false,
            rules_before_agent: false,
            conner1996_prefix: false,
            index_folder: false,
            koster1994_all_records: false,
            max_bytes: 512_000,
        }
    }
}

impl From<Dialect> for Options {
    fn from(dialect: Dialect) -> Self {
        Self { dialect, ..Self::default() }
    }
}
