//! What is read of one page and of one sitemap, at most: the sections `[page]` and `[sitemap]`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use page::extract::{ExtractLimits, SelectLimits};
use page::sitemap::SitemapLimits;
use page::units;

/// What is read of one page. What is beyond stays out, and the page's record says so in `limits_hit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageSettings {
    /// Bytes of one link address as written in the page. Default: 8 KiB.
    #[serde(with = "units::size")]
    pub href_bytes: u64,
    /// Bytes of all resolved link addresses of the page together. Default: 8 MiB.
    #[serde(with = "units::size")]
    pub link_bytes: u64,
    /// Bytes kept of a link's text. Default: 256.
    #[serde(with = "units::size")]
    pub anchor_bytes: u64,
    /// Bytes of text read for the full-text index. Default: 1 MiB.
    #[serde(with = "units::size")]
    pub text_bytes: u64,
    /// Bytes kept of the title. Default: 4 KiB.
    #[serde(with = "units::size")]
    pub title_bytes: u64,
    /// Bytes of the page within which `<meta>` elements are read; never fewer than the default. Default: 512 KiB.
    #[serde(with = "units::size")]
    pub meta_bytes: u64,
    /// `<meta>` elements; never fewer than the default. Default: 1,000.
    pub metas: usize,
    /// Bytes of one attribute of a `<meta>` element; never fewer than the default. Default: 16 KiB.
    #[serde(with = "units::size")]
    pub meta_value_bytes: u64,
    /// Bytes of all JSON-LD blocks together, as stored. Default: 256 KiB.
    #[serde(with = "units::size")]
    pub json_ld_bytes: u64,
    /// Bytes of one JSON-LD block. Default: 128 KiB.
    #[serde(with = "units::size")]
    pub json_ld_block_bytes: u64,
    /// Bytes kept of a description, and of each Open Graph and Twitter text. Default: 8 KiB.
    #[serde(with = "units::size")]
    pub description_bytes: u64,
    /// Bytes kept of all keywords together. Default: 8 KiB.
    #[serde(with = "units::size")]
    pub keywords_bytes: u64,
    /// Bytes kept of the value of one header line. Default: 2 KiB.
    #[serde(with = "units::size")]
    pub header_bytes: u64,
    /// Bytes kept of an address that isn't followed as a link. Default: 2 KiB.
    #[serde(with = "units::size")]
    pub reference_bytes: u64,
    /// Nodes of the tree that is built for `[[extract]]`. Default: 50,000.
    pub tree_nodes: usize,
    /// Elements within each other in that tree. Default: 256.
    pub tree_depth: usize,
    /// Time in which the selectors of `[[extract]]` are matched. Default: 2 s.
    #[serde(with = "units::duration")]
    pub tree_time: Duration,
    /// Values kept of one rule of `[[extract]]`. Default: 1,000.
    pub field_values: usize,
    /// Bytes kept of one such value. Default: 64 KiB.
    #[serde(with = "units::size")]
    pub field_bytes: u64,
    /// Bytes kept of all such values of a page together. Default: 1 MiB.
    #[serde(with = "units::size")]
    pub fields_bytes: u64,
}

impl Default for PageSettings {
    fn default() -> Self {
        let (page, tree) = (ExtractLimits::default(), SelectLimits::default());
        Self {
            href_bytes: page.href_bytes as u64,
            link_bytes: page.link_bytes as u64,
            anchor_bytes: page.anchor_bytes as u64,
            text_bytes: page.text_bytes as u64,
            title_bytes: page.title_bytes as u64,
            meta_bytes: page.meta_bytes as u64,
            metas: page.metas,
            meta_value_bytes: page.meta_value_bytes as u64,
            json_ld_bytes: page.json_ld_bytes as u64,
            json_ld_block_bytes: page.json_ld_block_bytes as u64,
            description_bytes: page.description_bytes as u64,
            keywords_bytes: page.keywords_bytes as u64,
            header_bytes: page.header_bytes as u64,
            reference_bytes: page.reference_bytes as u64,
            tree_nodes: tree.nodes,
            tree_depth: tree.depth,
            tree_time: tree.time,
            field_values: tree.values,
            field_bytes: tree.value_bytes as u64,
            fields_bytes: tree.bytes as u64,
        }
    }
}

impl PageSettings {
    /// The limits of reading a page, with those links at most.
    pub fn extract_limits(&self, links: usize) -> ExtractLimits {
        ExtractLimits {
            links,
            href_bytes: in_memory(self.href_bytes),
            link_bytes: in_memory(self.link_bytes),
            anchor_bytes: in_memory(self.anchor_bytes),
            text_bytes: in_memory(self.text_bytes),
            title_bytes: in_memory(self.title_bytes),
            meta_bytes: in_memory(self.meta_bytes),
            metas: self.metas,
            meta_value_bytes: in_memory(self.meta_value_bytes),
            json_ld_bytes: in_memory(self.json_ld_bytes),
            json_ld_block_bytes: in_memory(self.json_ld_block_bytes),
            description_bytes: in_memory(self.description_bytes),
            keywords_bytes: in_memory(self.keywords_bytes),
            header_bytes: in_memory(self.header_bytes),
            reference_bytes: in_memory(self.reference_bytes),
        }
    }

    /// The limits of `[[extract]]`.
    pub fn select_limits(&self) -> SelectLimits {
        SelectLimits {
            nodes: self.tree_nodes,
            depth: self.tree_depth,
            time: self.tree_time,
            values: self.field_values,
            value_bytes: in_memory(self.field_bytes),
            bytes: in_memory(self.fields_bytes),
        }
    }
}

/// What is read of one sitemap, and how many sitemaps a host may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SitemapSettings {
    /// Bytes of a sitemap, as sent and as decoded each; it is read up to there. Default: 50 MiB, as sitemaps.org has it.
    #[serde(with = "units::size")]
    pub max_body: u64,
    /// URLs of a sitemap. Default: 50,000, as sitemaps.org has it.
    pub urls: usize,
    /// Bytes of one URL or date. Default: 8 KiB.
    #[serde(with = "units::size")]
    pub value_bytes: u64,
    /// Elements within each other. Default: 32.
    pub elements: usize,
    /// Indexes within each other. Default: 3.
    pub nesting: u8,
    /// Sitemaps of one host. Default: 500.
    pub per_host: usize,
}

impl Default for SitemapSettings {
    fn default() -> Self {
        let SitemapLimits { bytes, urls, value_bytes, elements, nesting, per_host, .. } =
            SitemapLimits::default();
        Self { max_body: bytes as u64, urls, value_bytes: value_bytes as u64, elements, nesting, per_host }
    }
}

impl SitemapSettings {
    /// The limits of reading a sitemap whose URLs may have so many bytes.
    pub fn limits(&self, url_length: usize) -> SitemapLimits {
        let Self { max_body, urls, value_bytes, elements, nesting, per_host } = *self;
        SitemapLimits {
            bytes: in_memory(max_body),
            urls,
            value_bytes: in_memory(value_bytes),
            url_length,
            elements,
            nesting,
            per_host,
        }
    }
}

/// A size as one of memory: at most what can be addressed.
fn in_memory(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}
