//! How pages are read in this crawl.

use meta::consent::Policy;

use super::read_pool::ReadPool;
use crate::config::Walls;
use crate::costly::CostlyRules;
use crate::suspects::{self, Noted, Suspects};
use crate::wanted::Wanted;
use page::extract::{ExtractLimits, SelectLimits, SelectRule};
use page::sitemap::SitemapLimits;
use page::url::{CrawlUrl, FingerprintKey};

/// How pages are read in this crawl.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent settings")]
pub struct PageRules {
    /// The robot whose directives apply.
    pub agent: meta::Agent,
    /// How directives are resolved.
    pub dialect: meta::Dialect,
    /// The purposes of the crawl, and what silence means for each.
    pub policy: Policy,
    /// Limits of reading.
    pub limits: ExtractLimits,
    /// Whether a page whose head wasn't read to its end is kept out of index and archive.
    pub closes_unread_head: bool,
    /// Fields that the researcher names.
    pub selectors: Vec<SelectRule>,
    /// Limits of picking them.
    pub select_limits: SelectLimits,
    /// Limits of reading a sitemap.
    pub sitemap_limits: SitemapLimits,
    /// Whether bodies are archived.
    pub archive: bool,
    /// Whether the text is read, for the full-text index.
    pub index: bool,
    /// Whether images, scripts, style sheets and other resources are queued, and looked for in styles.
    pub resources: bool,
    /// Whether walls are distinguished from pages.
    pub walls: Walls,
    /// Which URLs are costly, and what is stripped from those of links and redirects.
    pub costly: CostlyRules,
    /// Which responses are read, by their heads.
    pub wanted: Wanted,
    /// The crawl's fingerprint key.
    pub key: FingerprintKey,
    /// Where they are read.
    pub read_pool: ReadPool,
    /// Notes what is being read, and knows which URLs ended a process before.
    pub suspects: Suspects,
}

impl PageRules {
    /// Notes that a body of this URL is being read, until the value that this returns is dropped.
    pub(super) fn noted(&self, url: &CrawlUrl, body: &[u8]) -> Option<Noted<'_>> {
        let noted = self.suspects.note(url.fingerprint(&self.key));
        suspects::abort_on_mark(body);
        noted
    }
}
