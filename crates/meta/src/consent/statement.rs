//! What a site said about a use, and the sum of all that it said.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Consent, Grade, Purpose};
use crate::Source;

/// Names the system that a statement belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Signal {
    /// `Content-Usage` (IETF AIPREF drafts, "no consensus yet").
    ContentUsage,
    /// `Content-Signal`.
    ContentSignal,
    /// TDM Reservation Protocol: file, header or page.
    TdmRep,
    /// `/ai.txt`.
    AiTxt,
    /// The terms `noai`, `noml`, `noimageai`.
    NoAi,
    /// robots.txt closes the site to several AI crawlers.
    AiBlockHint,
}

impl Signal {
    /// Returns the name used in columns.
    pub fn name(self) -> &'static str {
        match self {
            Self::ContentUsage => "content-usage",
            Self::ContentSignal => "content-signal",
            Self::TdmRep => "tdm-rep",
            Self::AiTxt => "ai-txt",
            Self::NoAi => "no-ai",
            Self::AiBlockHint => "ai-block-hint",
        }
    }
}

/// What a statement says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// A use is permitted or denied.
    Purpose(Purpose, Consent),
    /// A copy may be kept as this at most.
    Use(Grade),
}

impl Claim {
    /// Returns the name of the purpose, or `use`.
    pub fn purpose_name(self) -> &'static str {
        match self {
            Self::Purpose(purpose, _) => purpose.name(),
            Self::Use(_) => "use",
        }
    }

    /// Returns the verdict in a word: `allow`, `deny` or a grade.
    pub fn verdict_name(self) -> &'static str {
        match self {
            Self::Purpose(_, Consent::Allow) => "allow",
            Self::Purpose(_, Consent::Deny) => "deny",
            Self::Use(grade) => grade.name(),
        }
    }
}

/// One statement of a site about the use of a page. It applies to the copy that was fetched under it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Statement {
    /// The system that it belongs to.
    pub signal: Signal,
    /// What it says.
    pub claim: Claim,
    /// Its place, with its raw text.
    pub source: Source,
    /// When it was read.
    pub at: Timestamp,
}

/// The sum of statements: no entry = unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Combined {
    /// The answer for each purpose that something was said about.
    pub purposes: BTreeMap<Purpose, Consent>,
    /// The strictest grade that was given.
    pub grade: Option<Grade>,
}

impl Combined {
    /// Returns the answer for a purpose. A denial of training denies training with images too.
    pub fn consent(&self, purpose: Purpose) -> Option<Consent> {
        let said = |purpose| self.purposes.get(&purpose).copied();
        match purpose {
            Purpose::AiTrainImages => {
                said(purpose).max(said(Purpose::AiTrain).filter(|c| *c == Consent::Deny))
            }
            _ => said(purpose),
        }
    }
}

/// Combines statements: per purpose any denial denies, else any permission permits; the strictest grade counts.
pub fn combine<'a>(statements: impl IntoIterator<Item = &'a Statement>) -> Combined {
    let mut combined = Combined::default();
    for statement in statements {
        match statement.claim {
            Claim::Purpose(purpose, consent) => {
                let kept = combined.purposes.entry(purpose).or_insert(consent);
                *kept = consent.max(*kept);
            }
            Claim::Use(grade) => combined.grade = combined.grade.max(Some(grade)),
        }
    }
    combined
}

#[cfg(test)]
pub(super) mod tests_support {
    use super::Claim;

    /// Writes claims as `purpose:verdict`, for tables.
    pub(in crate::consent) fn words(claims: &[Claim]) -> String {
        let words: Vec<_> =
            claims.iter().map(|c| format!("{}:{}", c.purpose_name(), c.verdict_name())).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceKind;

    fn statement(claim: Claim) -> Statement {
        let source = Source::new(SourceKind::Header, 0, "x", "y");
        Statement { signal: Signal::ContentUsage, claim, source, at: Timestamp::UNIX_EPOCH }
    }

    #[test]
    fn any_denial_denies_else_any_permission_permits() {
        use Consent::{Allow, Deny};
        use Purpose::{AiTrain, AiTrainImages, Search, Tdm};
        let said = [(Search, Allow), (AiTrain, Allow), (AiTrain, Deny), (AiTrain, Allow)];
        let mut statements: Vec<Statement> = said.map(|(p, c)| statement(Claim::Purpose(p, c))).into();
        statements.extend(
            [Grade::Reference, Grade::Immediate, Grade::Full].map(|grade| statement(Claim::Use(grade))),
        );
        let combined = combine(&statements);
        assert_eq!(combined.consent(Search), Some(Allow));
        assert_eq!(combined.consent(AiTrain), Some(Deny));
        assert_eq!(combined.consent(AiTrainImages), Some(Deny));
        assert_eq!(combined.consent(Tdm), None);
        assert_eq!(combined.grade, Some(Grade::Immediate));
        statements.reverse();
        assert_eq!(combine(&statements), combined);
        assert_eq!(combine(&[statement(Claim::Purpose(AiTrain, Allow))]).consent(AiTrainImages), None);
    }
}
