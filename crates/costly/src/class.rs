//! Classes of costly URLs, what is done about them, and the switches that a user has.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a URL is costly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// It changes something: a cart, a vote, a logout. Requested only as a seed.
    Effect,
    /// A form to edit or create.
    Edit,
    /// A sign-in or an account.
    Login,
    /// Versions of a page or a file.
    History,
    /// The difference of two versions.
    Diff,
    /// Who wrote which line.
    Blame,
    /// A file of a repository without its page.
    Raw,
    /// An archive that is packed for each request.
    Archive,
    /// One of many selections of the same records.
    Facet,
    /// The same list in another order.
    Sort,
    /// The result of a search.
    Search,
    /// The same page in another form: printed, in another language of the interface, an account's page.
    Variant,
    /// A session id, which is stripped.
    Session,
    /// A mark of advertising, which is stripped.
    Tracking,
    /// A form to answer.
    Reply,
    /// A link to a social network, or a form to mail a page.
    Share,
    /// A feed of a page.
    Feed,
    /// A day or month of an endless calendar.
    Calendar,
    /// An interface for programs.
    Api,
}

/// All classes, in the order of their names in the documentation.
pub const CLASSES: [Class; 19] = [
    Class::Effect,
    Class::Edit,
    Class::Login,
    Class::History,
    Class::Diff,
    Class::Blame,
    Class::Raw,
    Class::Archive,
    Class::Facet,
    Class::Sort,
    Class::Search,
    Class::Variant,
    Class::Session,
    Class::Tracking,
    Class::Reply,
    Class::Share,
    Class::Feed,
    Class::Calendar,
    Class::Api,
];

impl Class {
    /// The name, as in the reason `mediawiki:diff`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Effect => "effect",
            Self::Edit => "edit",
            Self::Login => "login",
            Self::History => "history",
            Self::Diff => "diff",
            Self::Blame => "blame",
            Self::Raw => "raw",
            Self::Archive => "archive",
            Self::Facet => "facet",
            Self::Sort => "sort",
            Self::Search => "search",
            Self::Variant => "variant",
            Self::Session => "session",
            Self::Tracking => "tracking",
            Self::Reply => "reply",
            Self::Share => "share",
            Self::Feed => "feed",
            Self::Calendar => "calendar",
            Self::Api => "api",
        }
    }
}

impl Class {
    /// What such a URL is, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Effect => "it changes something: a cart, a vote, a logout",
            Self::Edit => "a form to edit or create",
            Self::Login => "a sign-in or an account",
            Self::History => "versions of a page or a file",
            Self::Diff => "the difference of two versions",
            Self::Blame => "who wrote which line",
            Self::Raw => "a file of a repository without its page",
            Self::Archive => "an archive that is packed for each request",
            Self::Facet => "one of many selections of the same records",
            Self::Sort => "the same list in another order",
            Self::Search => "the result of a search",
            Self::Variant => "the same page in another form",
            Self::Session => "a session id",
            Self::Tracking => "a mark of advertising",
            Self::Reply => "a form to answer",
            Self::Share => "a link to a social network, or a form to mail a page",
            Self::Feed => "a feed of a page",
            Self::Calendar => "a day or month of an endless calendar",
            Self::Api => "an interface for programs",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that is no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no class of costly URLs")]
pub struct UnknownClass(pub String);

impl FromStr for Class {
    type Err = UnknownClass;

    fn from_str(text: &str) -> Result<Self, UnknownClass> {
        CLASSES.into_iter().find(|class| class.name() == text).ok_or_else(|| UnknownClass(text.to_owned()))
    }
}

/// What is done about costly URLs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// They aren't requested, and parameters are stripped.
    #[default]
    Skip,
    /// At most so many of a group are requested as a budget allows; parameters are stripped.
    Budget,
    /// Nothing: they are URLs like others. Effects are requested only as seeds even so.
    Keep,
}

/// The modes that a user chose. What is said of a class counts before what is said of a kind, that before what is said of a host, and that
/// before [`all`](Self::all).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Switches {
    /// The mode of whatever isn't named below.
    pub all: Mode,
    /// By host, without a port.
    pub hosts: BTreeMap<String, Mode>,
    /// By the name of a kind; `any` are the rules for any site.
    pub kinds: BTreeMap<String, Mode>,
    /// Modes of single classes; they count before those of kinds and hosts.
    pub classes: BTreeMap<Class, Mode>,
}

impl Switches {
    /// The mode of a class of a kind on a host.
    pub fn mode(&self, host: &str, kind: &str, class: Class) -> Mode {
        let host = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let of_class = self.classes.get(&class);
        let of_kind = || self.kinds.get(kind);
        let of_host = || self.hosts.get(host);
        of_class.or_else(of_kind).or_else(of_host).copied().unwrap_or(self.all)
    }
}
