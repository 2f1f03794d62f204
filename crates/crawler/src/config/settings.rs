//! The settings themselves: one struct for each section of the TOML, with its defaults.

use std::path::PathBuf;

use meta::consent::Purpose;
use robots::{Dialect, access::OnForbidden};
use serde::{Deserialize, Serialize};

use super::agent::Contact;
use super::reading::{PageSettings, SitemapSettings};
use super::requests::{FetchSettings, LimitSettings, PaceSettings};
use crate::costly::CostlySettings;
use crate::scope::{PatternError, ResourceHosts, Scope, ScopeMode};
use crate::trap::TrapSettings;
use page::units;

/// All settings of a crawl; a key that isn't set has its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// File with the seeds, `-` for standard input. Has no default.
    pub seed: PathBuf,
    /// Directory of everything that the crawl writes. Default: `crawl-data`.
    pub out: PathBuf,
    /// Who we are.
    pub agent: AgentSettings,
    /// How fast we go.
    pub pace: PaceSettings,
    /// How robots.txt is read.
    pub robots: RobotsSettings,
    /// What the pages are for, and what a site's silence means.
    pub consent: ConsentSettings,
    /// Which URLs belong to the crawl.
    pub scope: ScopeSettings,
    /// Where the crawl, a page or a response ends.
    pub limits: LimitSettings,
    /// Where a space of URLs without end ends.
    pub traps: TrapSettings,
    /// What is done about URLs that cost a site more than they bring.
    pub costly: CostlySettings,
    /// What is done about responses that a site sends instead of its pages.
    pub walls: WallSettings,
    /// How a request is made.
    pub fetch: FetchSettings,
    /// What is read of one page.
    pub page: PageSettings,
    /// What is read of one sitemap, and how many a host may have.
    pub sitemap: SitemapSettings,
    /// What is archived.
    pub warc: WarcSettings,
    /// The full-text index.
    pub index: IndexSettings,
    /// What is entered in the ledger.
    pub ledger: LedgerSettings,
    /// Fields that the researcher names, put into the page record. Default: none.
    pub extract: Vec<ExtractRule>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: PathBuf::new(),
            out: PathBuf::from("crawl-data"),
            agent: AgentSettings::default(),
            pace: PaceSettings::default(),
            robots: RobotsSettings::default(),
            consent: ConsentSettings::default(),
            scope: ScopeSettings::default(),
            limits: LimitSettings::default(),
            traps: TrapSettings::default(),
            costly: CostlySettings::default(),
            walls: WallSettings::default(),
            fetch: FetchSettings::default(),
            page: PageSettings::default(),
            sitemap: SitemapSettings::default(),
            warc: WarcSettings::default(),
            index: IndexSettings::default(),
            ledger: LedgerSettings::default(),
            extract: Vec::new(),
        }
    }
}

impl Settings {
    /// How a robots.txt is read: the dialect, and how much of the file.
    pub fn robots_options(&self) -> robots::Options {
        let max_bytes = usize::try_from(self.limits.max_robots).unwrap_or(usize::MAX);
        robots::Options::from(self.robots.dialect).with_max_bytes(max_bytes)
    }
}

/// What is done about responses that a site sends instead of its pages: challenges, refusals, sign-ins, placeholders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WallSettings {
    /// Whether they are distinguished from pages. Default: `count`.
    pub action: Walls,
}

/// Whether walls are distinguished from pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Walls {
    /// They are: they count as walls, are neither indexed nor followed, and their hosts pause.
    #[default]
    Count,
    /// They are treated as pages, by their status. A robots.txt behind one is still not taken for the site's.
    Keep,
}

/// Who we are: product, contact and the other names that we obey.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    /// Product as in the User-Agent header, `NAME/VERSION`. Has no default: a crawl can't start without.
    pub product: String,
    /// Where a webmaster finds us: URLs and e-mail addresses, 8 at most. Default: none.
    #[serde(with = "super::agent::contacts")]
    pub contact: Vec<Contact>,
    /// Other product tokens whose rules we obey as if they were ours. Default: none.
    pub aliases: Vec<String>,
}

impl AgentSettings {
    /// Returns the User-Agent header: `SuperRobot/1.0 (+contact)`, `SuperRobot/1.0 (+contact; +contact)`, or the product alone
    /// without a contact.
    pub fn user_agent(&self) -> String {
        if self.contact.is_empty() {
            return self.product.clone();
        }
        let contacts: Vec<String> = self.contact.iter().map(|contact| format!("+{contact}")).collect();
        format!("{} ({})", self.product, contacts.join("; "))
    }

    /// Returns the From header (RFC 9110 section 10.1.2): the first e-mail address among the contacts. The header has one.
    pub fn from_header(&self) -> Option<String> {
        self.contact.iter().find_map(Contact::email).map(str::to_owned)
    }

    /// Returns who runs the robot: its contacts, with commas between them.
    pub fn operator(&self) -> Option<String> {
        let contacts: Vec<String> = self.contact.iter().map(ToString::to_string).collect();
        (!contacts.is_empty()).then(|| contacts.join(", "))
    }

    /// Returns the product token that robots.txt groups name: the product without its version.
    pub fn name(&self) -> &str {
        self.product.split('/').next().unwrap_or_default()
    }
}

/// How robots.txt is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RobotsSettings {
    /// Dialect. Default: hardened.
    pub dialect: Dialect,
    /// What 401 and 403 mean; only in the TOML. Default: closed.
    pub on_forbidden: OnForbidden,
    /// What becomes of a stored page that robots.txt forbids when it is to be visited again. Default: keep.
    pub on_later_denial: LaterDenial,
}

/// What becomes of content that was fetched while robots.txt allowed it, once it doesn't any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LaterDenial {
    /// It was fetched with permission, and stays.
    #[default]
    Keep,
    /// It is withdrawn as under noindex.
    Withdraw,
}

/// What the pages are for, and what a site's silence means (digest, section 5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ConsentSettings {
    /// The purposes of the crawl: a site may deny each. Default: search, archive.
    pub purpose: Vec<Purpose>,
    /// The purposes that a site permits by saying nothing. Default: search, archive.
    pub silence_allows: Vec<Purpose>,
    /// A robots.txt that closes three AI crawlers or more out counts as a denial of AI training. Default: no.
    pub ai_block_hint: bool,
}

impl Default for ConsentSettings {
    fn default() -> Self {
        let usual = vec![Purpose::Search, Purpose::Archive];
        Self { purpose: usual.clone(), silence_allows: usual, ai_block_hint: false }
    }
}

/// Which URLs belong to the crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeSettings {
    /// How far from the seeds. Default: host.
    pub mode: ScopeMode,
    /// Regular expressions of which one must match the URL; empty: all. Default: empty.
    pub include: Vec<String>,
    /// Regular expressions of which none may match the URL. Default: empty.
    pub exclude: Vec<String>,
    /// Whether images, scripts, style sheets and other resources are fetched as well. Default: no.
    pub resources: bool,
    /// Which hosts the resources of a page may be on, besides those that belong to the crawl. Default: host, the page's own.
    pub resource_hosts: ResourceHosts,
    /// MIME types of which a response must have one, as globs; empty: all. Default: empty.
    pub types: Vec<String>,
    /// Whether the sitemaps that robots.txt names, and `/sitemap.xml`, are read for URLs. Default: no.
    pub sitemaps: bool,
    /// Whether a seed that redirects to another site brings that site into the crawl. Default: no, only the target page is fetched.
    pub follow_moved_seeds: bool,
}

/// What is archived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WarcSettings {
    /// Whether bodies are kept in WARC files. Default: yes.
    pub enabled: bool,
    /// Bytes of a WARC file after which the next one is begun. Default: 1 GiB.
    #[serde(with = "units::size")]
    pub max_file_size: u64,
    /// Which bodies are stored once. Default: off, each response has its own.
    #[serde(with = "super::dedup")]
    pub dedup: WarcDedup,
}

/// Which bodies are stored once, with `revisit` records for the other responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WarcDedup {
    /// None: each response has its body. The default.
    #[default]
    Off,
    /// Equal bodies of pages of this crawl.
    Crawl,
    /// Those, and bodies that earlier crawls have: their output directories.
    Earlier(Vec<PathBuf>),
}

impl WarcDedup {
    /// The output directories of the earlier crawls.
    pub fn earlier(&self) -> &[PathBuf] {
        match self {
            Self::Off | Self::Crawl => &[],
            Self::Earlier(dirs) => dirs,
        }
    }
}

impl Default for WarcSettings {
    fn default() -> Self {
        Self { enabled: true, max_file_size: 1 << 30, dedup: WarcDedup::Off }
    }
}

/// The full-text index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IndexSettings {
    /// Whether pages that may be indexed are entered in a full-text index. Default: yes. A build without the feature `search` keeps
    /// none.
    pub enabled: bool,
}

impl Default for IndexSettings {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// What is entered in the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerSettings {
    /// How much of it. Default: every decision.
    pub level: LedgerLevel,
}

/// How much is entered in the ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LedgerLevel {
    /// Nothing. The reasons of skipped URLs are unknown afterwards.
    Off,
    /// Every decision, with its evidence. The default.
    #[default]
    Decisions,
    /// Also each link that was queued or known already, and each ordinary gap.
    Full,
}

/// One field that the researcher names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExtractRule {
    /// Name of the field in the page record.
    pub name: String,
    /// CSS selector.
    pub selector: String,
    /// Attribute whose value is taken. Default: none, the element's text is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<String>,
    /// Whether all matches are taken, or the first one. Default: the first one.
    pub all: bool,
}

/// The boundary without seeds.
pub fn scope(settings: &Settings) -> Result<Scope, PatternError> {
    let ScopeSettings { mode, include, exclude, resource_hosts, follow_moved_seeds, .. } = &settings.scope;
    let limits = &settings.limits;
    let scope = Scope::new(*mode, include, exclude, limits.max_depth, limits.max_url_length)?;
    Ok(scope.with_resource_hosts(*resource_hosts).following_moved_seeds(*follow_moved_seeds))
}
