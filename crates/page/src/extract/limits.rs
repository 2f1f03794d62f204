//! The limits of reading one page, with their defaults, and which of them a page reached.

/// Holds the limits within which a page is read. Beyond a limit the surplus is ignored, and
/// [`Extracted::limits_hit`](super::Extracted::limits_hit) says so; reading itself goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtractLimits {
    /// Links recorded per page. Default 10,000.
    pub links: usize,
    /// Bytes of one link address as written in the page; longer ones are dropped. Default 8 KiB.
    pub href_bytes: usize,
    /// Bytes of all resolved link addresses of the page together: what an 8 KiB `<base>` and 10,000 short links
    /// could make of 100 KB. Default 8 MiB.
    pub link_bytes: usize,
    /// Bytes of anchor text kept per link. Default 256.
    pub anchor_bytes: usize,
    /// Bytes of visible text kept per page. Default 1 MiB.
    pub text_bytes: usize,
    /// Bytes of the title. Default 4 KiB.
    pub title_bytes: usize,
    /// `<meta>` elements are read only within this many bytes from the start of the decoded page.
    /// Default 512 KiB.
    pub meta_bytes: usize,
    /// `<meta>` elements kept per page. Default 1,000.
    pub metas: usize,
    /// Bytes of one meta attribute. Default 16 KiB.
    pub meta_value_bytes: usize,
    /// Bytes of all `application/ld+json` blocks of the page together, as they are stored, and [`JSON_LD_BLOCK`] more for each; a
    /// block that doesn't fit is omitted. Default 256 KiB.
    pub json_ld_bytes: usize,
    /// Bytes of one of these blocks; a longer one is omitted. Default 128 KiB.
    pub json_ld_block_bytes: usize,
    /// Bytes kept of a description, and of each Open Graph and Twitter text. Default 8 KiB.
    pub description_bytes: usize,
    /// Bytes kept of all keywords together. Default 8 KiB.
    pub keywords_bytes: usize,
    /// Bytes kept of the value of one header line. Default 2 KiB.
    pub header_bytes: usize,
    /// Bytes kept of an address that isn't followed as a link: canonical, base, meta `url`, refresh, what is no http URL.
    /// Default 2 KiB.
    pub reference_bytes: usize,
}

/// Bytes that an `application/ld+json` block counts for beside its text.
pub const JSON_LD_BLOCK: usize = 32;

impl ExtractLimits {
    /// Returns the bytes of an attribute value that the reader has to keep to see each limit passed.
    pub(super) fn value_bytes(&self) -> usize {
        self.href_bytes.max(self.meta_value_bytes) + 1
    }
}

impl Default for ExtractLimits {
    fn default() -> Self {
        ExtractLimits {
            links: 10_000,
            href_bytes: 8 * 1024,
            link_bytes: 8 * 1024 * 1024,
            anchor_bytes: 256,
            text_bytes: 1024 * 1024,
            title_bytes: 4 * 1024,
            meta_bytes: 512 * 1024,
            metas: 1_000,
            meta_value_bytes: 16 * 1024,
            json_ld_bytes: 256 * 1024,
            json_ld_block_bytes: 128 * 1024,
            description_bytes: 8 * 1024,
            keywords_bytes: 8 * 1024,
            header_bytes: 2 * 1024,
            reference_bytes: 2 * 1024,
        }
    }
}

/// Names a limit of [`ExtractLimits`] that cut something off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LimitHit {
    /// More links than [`ExtractLimits::links`].
    Links,
    /// Resolved link addresses beyond [`ExtractLimits::link_bytes`] were ignored.
    LinkBytes,
    /// A link address longer than [`ExtractLimits::href_bytes`] was dropped.
    Href,
    /// The text of a link was cut at [`ExtractLimits::anchor_bytes`].
    Anchor,
    /// Visible text was cut at [`ExtractLimits::text_bytes`].
    Text,
    /// The title was cut at [`ExtractLimits::title_bytes`].
    Title,
    /// `<meta>` elements beyond [`ExtractLimits::meta_bytes`] or [`ExtractLimits::metas`] were ignored.
    Metas,
    /// A meta attribute was cut at [`ExtractLimits::meta_value_bytes`].
    MetaValue,
    /// An `ld+json` block was omitted because of [`ExtractLimits::json_ld_bytes`].
    JsonLd,
    /// An `ld+json` block was omitted because of [`ExtractLimits::json_ld_block_bytes`].
    JsonLdBlock,
    /// A description or title of a meta element was cut at [`ExtractLimits::description_bytes`].
    Description,
    /// Keywords beyond [`ExtractLimits::keywords_bytes`], or beyond the number that is kept, were ignored.
    Keywords,
    /// The value of a header line was cut at [`ExtractLimits::header_bytes`], or omitted.
    Header,
    /// An address was cut at [`ExtractLimits::reference_bytes`].
    Reference,
}

impl LimitHit {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Links,
        Self::LinkBytes,
        Self::Href,
        Self::Anchor,
        Self::Text,
        Self::Title,
        Self::Metas,
        Self::MetaValue,
        Self::JsonLd,
        Self::JsonLdBlock,
        Self::Description,
        Self::Keywords,
        Self::Header,
        Self::Reference,
    ];

    /// Returns the name of the limit in words, for the report.
    pub fn name(self) -> &'static str {
        match self {
            LimitHit::Links => "links",
            LimitHit::LinkBytes => "link addresses",
            LimitHit::Href => "href",
            LimitHit::Anchor => "anchor",
            LimitHit::Text => "text",
            LimitHit::Title => "title",
            LimitHit::Metas => "metas",
            LimitHit::MetaValue => "meta value",
            LimitHit::JsonLd => "json-ld",
            LimitHit::JsonLdBlock => "json-ld block",
            LimitHit::Description => "description",
            LimitHit::Keywords => "keywords",
            LimitHit::Header => "header",
            LimitHit::Reference => "reference",
        }
    }
}
