//! What is done about costly URLs, as a user sets it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ::costly::{Class, Mode, Switches};
use serde::{Deserialize, Serialize};

/// What is done about costly URLs. What is said of a class counts before what is said of a kind, that before what is said of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CostlySettings {
    /// What is done about those that nothing below names. Default: `skip`.
    pub action: CostlyAction,
    /// Session ids in links and redirects. Default: `normalise`.
    pub session: Session,
    /// A directory with kinds of sites of the user's own. Default: none.
    pub directory: PathBuf,
    /// By class. Default: none.
    pub classes: BTreeMap<Class, Mode>,
    /// By kind of site; `any` are the rules for any site. Default: none.
    pub kinds: BTreeMap<String, Mode>,
    /// By host. Default: none.
    pub hosts: BTreeMap<String, Mode>,
}

/// What is done about costly URLs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CostlyAction {
    /// They are skipped, with the reason `costly`.
    #[default]
    Skip,
    /// A few of each group are requested.
    Budget,
    /// They are URLs like others.
    Keep,
    /// As earlier versions did: session ids are stripped, and nothing else is done.
    Sessions,
}

/// What is done about session ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Session {
    /// They are stripped: the URL without them is what is queued, judged and requested.
    #[default]
    Normalise,
    /// URLs stay as they were found.
    Keep,
}

impl CostlySettings {
    /// The switches of the judge.
    pub(super) fn switches(&self) -> Switches {
        let all = match self.action {
            CostlyAction::Skip => Mode::Skip,
            CostlyAction::Budget => Mode::Budget,
            CostlyAction::Keep => Mode::Keep,
            CostlyAction::Sessions => {
                let session = if self.session == Session::Keep { Mode::Keep } else { Mode::Skip };
                let classes = BTreeMap::from([(Class::Session, session)]);
                return Switches { all: Mode::Keep, classes, ..Switches::default() };
            }
        };
        let mut classes = self.classes.clone();
        if self.session == Session::Keep {
            classes.entry(Class::Session).or_insert(Mode::Keep);
        }
        Switches { all, hosts: self.hosts.clone(), kinds: self.kinds.clone(), classes }
    }
}
