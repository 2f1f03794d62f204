//! The URLs of a sitemap, given away in parts.

use jiff::Timestamp;
use url::Url;

use super::{Fault, Give, Sitemap, SitemapFormat, SitemapLimits, SitemapUrl};
use crate::url::CrawlUrl;

/// Memory of a part: of the texts of its URLs, and of what is kept beside each.
const PART: usize = 8 << 20;

/// Memory that a URL takes beside its text.
const BESIDE: usize = size_of::<SitemapUrl>() + 32;

/// Collects URLs, and gives a part away once it is full.
pub(super) struct Parts<'a, 'g> {
    base: &'a Url,
    pub(super) limits: &'a SitemapLimits,
    give: Give<'g>,
    part: Vec<SitemapUrl>,
    bytes: usize,
    pub(super) count: u64,
    pub(super) bad: u64,
    relative: u64,
    too_long: u64,
    /// Nobody wants any more of them.
    is_over: bool,
}

impl<'a, 'g> Parts<'a, 'g> {
    pub(super) fn new(base: &'a Url, limits: &'a SitemapLimits, give: Give<'g>) -> Self {
        Self {
            base,
            limits,
            give,
            part: Vec::new(),
            bytes: 0,
            count: 0,
            bad: 0,
            relative: 0,
            too_long: 0,
            is_over: false,
        }
    }

    /// Takes the URL of an entry as it is written. Relative ones are resolved, but for lines of text; those of an urlset or index are counted.
    /// What is no http URL, or is too long once it is encoded, is counted.
    pub(super) fn take(
        &mut self,
        form: SitemapFormat,
        text: &str,
        lastmod: Option<Timestamp>,
        priority: f32,
    ) -> Result<(), Fault> {
        let text = text.trim();
        let url = if text.is_empty() || text.len() > self.limits.value_bytes {
            None
        } else {
            CrawlUrl::parse(text).ok()
        };
        let is_relative = url.is_none() && form != SitemapFormat::Text;
        let url = if is_relative && !text.is_empty() && text.len() <= self.limits.value_bytes {
            CrawlUrl::join(self.base, text).ok()
        } else {
            url
        };
        let Some(url) = url else {
            self.bad += 1;
            return Ok(());
        };
        // Feeds may have them (RFC 4287 section 2).
        self.relative +=
            u64::from(is_relative && matches!(form, SitemapFormat::UrlSet | SitemapFormat::Index));
        if url.as_str().len() > self.limits.url_length {
            self.too_long += 1;
            return Ok(());
        }
        if self.count == self.limits.urls as u64 {
            return Err(Fault::Urls);
        }
        self.count += 1;
        self.bytes += url.as_str().len() + BESIDE;
        self.part.push(SitemapUrl { url, lastmod, priority });
        if self.bytes >= PART {
            self.bytes = 0;
            let mut part = std::mem::take(&mut self.part);
            sort(&mut part);
            self.is_over |= !(self.give)(form, part);
        }
        if self.is_over {
            Err(Fault::Broken("the crawl stopped before it was read to the end".to_owned()))
        } else {
            Ok(())
        }
    }

    /// How many entries had a URL that could be requested, whatever its length.
    pub(super) fn seen(&self) -> u64 {
        self.count + self.too_long
    }

    /// The sitemap with the last part.
    pub(super) fn end(mut self, sitemap: Sitemap) -> Sitemap {
        if sitemap.form == SitemapFormat::Other {
            self.part.clear();
        }
        sort(&mut self.part);
        let Self { part, count, bad, relative, too_long, .. } = self;
        Sitemap { urls: part, count, bad, relative, too_long, ..sitemap }
    }
}

/// The weightiest first, then the ones changed last, then as written.
pub(super) fn sort(urls: &mut [SitemapUrl]) {
    urls.sort_by(|a, b| b.priority.total_cmp(&a.priority).then_with(|| b.lastmod.cmp(&a.lastmod)));
}
