//! A link as written in the page: its position, its target, its `rel`.

use crate::shared_text::SharedText;
use crate::url::CrawlUrl;

/// The place of a link in the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LinkKind {
    /// `<a href>`.
    A,
    /// `<area href>`.
    Area,
    /// `<frame src>`.
    Frame,
    /// `<iframe src>`.
    Iframe,
    /// `<link href>`, or a `Link` header field.
    Link,
    /// `<meta http-equiv=refresh>`.
    Refresh,
    /// `<img src>` and `srcset`, also as `data-src` and `data-srcset`, `<input type=image src>`, svg `<image href>`, `<link imagesrcset>`,
    /// `background` of the body and of parts of tables.
    Img,
    /// `<script src>`.
    Script,
    /// `<source src>` and `srcset`, also as `data-src` and `data-srcset`, `<track src>`.
    Source,
    /// `<audio src>`, `<video src>` and `poster`, `<embed src>`, `<object data>`.
    Media,
    /// `<form action>` whose method is GET.
    Form,
    /// `@import` in a style sheet, a `<style>` element or a `style` attribute.
    CssImport,
    /// An address in an `@font-face` rule.
    CssFont,
    /// Any other address in a style: an image, as a rule.
    CssImage,
}

impl LinkKind {
    /// All kinds.
    const ALL: [Self; 14] = [
        Self::A,
        Self::Area,
        Self::Frame,
        Self::Iframe,
        Self::Link,
        Self::Refresh,
        Self::Img,
        Self::Script,
        Self::Source,
        Self::Media,
        Self::Form,
        Self::CssImport,
        Self::CssFont,
        Self::CssImage,
    ];

    /// Returns the kind of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns what it is for people: `link <a>`, `form target`.
    pub fn in_words(self) -> &'static str {
        match self {
            LinkKind::A => "link <a>",
            LinkKind::Area => "link <area>",
            LinkKind::Frame => "frame <frame>",
            LinkKind::Iframe => "frame <iframe>",
            LinkKind::Link => "link <link>",
            LinkKind::Refresh => "refresh after a time",
            LinkKind::Img => "image <img>",
            LinkKind::Script => "script <script>",
            LinkKind::Source => "source <source>",
            LinkKind::Media => "media file",
            LinkKind::Form => "form target",
            LinkKind::CssImport => "style sheet of a style sheet",
            LinkKind::CssFont => "font of a style sheet",
            LinkKind::CssImage => "image of a style sheet",
        }
    }

    /// Returns the name in the page record: `a`, `area`, ...
    pub fn name(self) -> &'static str {
        match self {
            LinkKind::A => "a",
            LinkKind::Area => "area",
            LinkKind::Frame => "frame",
            LinkKind::Iframe => "iframe",
            LinkKind::Link => "link",
            LinkKind::Refresh => "refresh",
            LinkKind::Img => "img",
            LinkKind::Script => "script",
            LinkKind::Source => "source",
            LinkKind::Media => "media",
            LinkKind::Form => "form",
            LinkKind::CssImport => "css_import",
            LinkKind::CssFont => "css_font",
            LinkKind::CssImage => "css_image",
        }
    }

    /// Returns whether such a link leads to another page (and is queued by default) rather than to a resource of this
    /// one: a, area, frame, iframe, refresh, and link unless `rel` names one of its resource kinds.
    pub fn is_navigational(self, rel: &Rel) -> bool {
        match self {
            LinkKind::A | LinkKind::Area | LinkKind::Frame | LinkKind::Iframe | LinkKind::Refresh => true,
            LinkKind::Link => !rel.names_resource(),
            _ => false,
        }
    }

    /// Returns whether such a link leads to a resource that the page needs to be shown: images, scripts, what a style names, media, and link
    /// where `rel` names a style sheet, an icon, a manifest, or what is to be loaded beforehand.
    pub fn is_resource(self, rel: &Rel) -> bool {
        match self {
            LinkKind::Img
            | LinkKind::Script
            | LinkKind::Source
            | LinkKind::Media
            | LinkKind::CssImport
            | LinkKind::CssFont
            | LinkKind::CssImage => true,
            LinkKind::Link => rel.words().filter_map(resource_rel).any(|(_, is_shown)| is_shown),
            _ => false,
        }
    }
}

/// The part of a page that has a link, by the elements and ARIA roles around it, the innermost of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Position {
    /// The head of the document.
    Head,
    /// `<header>` of the page, `role=banner`.
    Header,
    /// `<nav>`, `role=navigation`.
    Nav,
    /// `<main>`, `role=main`; `<article>` and `role=article` that are in no other part.
    Content,
    /// `<aside>`, `role=complementary`.
    Aside,
    /// `<footer>` of the page, `role=contentinfo`.
    Footer,
}

impl Position {
    /// Returns the name in exports.
    pub fn name(self) -> &'static str {
        match self {
            Position::Head => "head",
            Position::Header => "header",
            Position::Nav => "nav",
            Position::Content => "content",
            Position::Aside => "aside",
            Position::Footer => "footer",
        }
    }
}

/// `rel` values that make a `<link>` a resource of the page or a hint to the browser, not a way to another page; true where the page isn't
/// shown as it should be without it. The others are hints, or addresses of services.
const RESOURCE_RELS: [(&str, bool); 23] = [
    ("stylesheet", true),
    ("icon", true),
    ("apple-touch-icon", true),
    ("apple-touch-icon-precomposed", true),
    ("apple-touch-startup-image", true),
    ("fluid-icon", true),
    ("image_src", false),
    ("mask-icon", true),
    ("preload", true),
    ("modulepreload", true),
    ("prefetch", false),
    ("prerender", false),
    ("preconnect", false),
    ("dns-prefetch", false),
    ("manifest", true),
    ("pingback", false),
    ("webmention", false),
    ("edituri", false),
    ("wlwmanifest", false),
    ("expect", false),
    ("compression-dictionary", false),
    ("openid.server", false),
    ("openid.delegate", false),
];

/// The entry of a word in [`RESOURCE_RELS`].
fn resource_rel(word: &str) -> Option<(&'static str, bool)> {
    RESOURCE_RELS.into_iter().find(|(known, _)| word.eq_ignore_ascii_case(known))
}

/// As [`LinkKind::is_resource`], for a link as it was stored.
pub fn is_resource(kind: &str, rel: &str) -> bool {
    LinkKind::of_name(kind).is_some_and(|kind| kind.is_resource(&Rel::new(rel)))
}

/// Bytes of a `rel` value that are kept.
const REL_BYTES: usize = 256;

/// Holds a `rel` attribute as written, at most 256 bytes of it, and answers for its words.
/// Words compare without regard to ASCII case. What it asks of a crawler is [`meta::link_rel`]'s to say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rel {
    raw: Box<str>,
}

impl Rel {
    /// Reads a `rel` value.
    pub fn new(raw: &str) -> Self {
        Rel { raw: raw[..raw.floor_char_boundary(REL_BYTES)].into() }
    }

    /// Returns the value as it was written.
    pub fn as_str(&self) -> &str {
        &self.raw
    }

    /// Returns whether there is no word in it.
    pub fn is_empty(&self) -> bool {
        self.words().next().is_none()
    }

    /// Walks its words in the order written, in the case written.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.raw.split_ascii_whitespace()
    }

    /// Returns whether `word` is among its words.
    pub fn contains(&self, word: &str) -> bool {
        self.words().any(|w| w.eq_ignore_ascii_case(word))
    }

    /// Returns the words that decide what becomes of a link, in their plain form: the one that keeps it out of the queue, and
    /// those that name a resource. All of them come from a fixed list.
    pub fn deciding_words(&self) -> Vec<&'static str> {
        // As of most links.
        if self.raw.is_empty() {
            return Vec::new();
        }
        let nofollow = meta::link_rel(&self.raw).nofollow.map(meta::NoFollow::word);
        let resources = self.words().filter_map(resource_rel).map(|(word, _)| word);
        nofollow.into_iter().chain(resources).collect()
    }

    /// Returns whether a word marks a `<link>` as a resource of the page or a hint to browsers.
    pub fn names_resource(&self) -> bool {
        self.words().any(|word| resource_rel(word).is_some())
    }
}

/// Holds one link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its position.
    pub kind: LinkKind,
    /// The absolute http or https URL, resolved against the base of the document; or the address as
    /// written where it can't be resolved. Addresses of other schemes (`mailto:`, `javascript:`, `data:` ...) are
    /// counted in [`Extracted::other_schemes`](super::Extracted::other_schemes), links into the page itself
    /// (`#part`) in [`Extracted::same_page`](super::Extracted::same_page); neither is recorded.
    pub target: Result<CrawlUrl, String>,
    /// The `rel` value; empty where there is none.
    pub rel: Rel,
    /// Whether `rel` forbids to queue it: `nofollow`, `ugc` or `sponsored`.
    pub nofollow: bool,
    /// The text of an `<a>` with the `alt` of images in it, the `alt` of an area or image, the `title` of a link or
    /// frame; white space folded,
    /// at most [`ExtractLimits::anchor_bytes`](super::ExtractLimits::anchor_bytes).
    pub text: SharedText,
    /// The language that `hreflang` announces.
    pub hreflang: Option<String>,
    /// Whether it is an image of the page: `<img>`, `<source srcset>` of a picture, `<input type=image>`, `poster` of a
    /// video, svg `<image>`, `<link imagesrcset>`, `background`.
    pub is_image: bool,
    /// Its part of the page; `None` if the page doesn't say, and for `Link` headers.
    pub position: Option<Position>,
}

impl Link {
    /// Returns whether the link leads to another page: see [`LinkKind::is_navigational`].
    pub fn is_navigational(&self) -> bool {
        self.kind.is_navigational(&self.rel)
    }

    /// Returns whether the link leads to a resource that the page needs to be shown: see [`LinkKind::is_resource`].
    pub fn is_resource(&self) -> bool {
        self.kind.is_resource(&self.rel)
    }
}
