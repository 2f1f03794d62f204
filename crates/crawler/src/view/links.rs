//! Table `links`: the links between pages.

use super::lookup::PageUrl;
use super::open::{View, ViewError};
use super::row::row;
use crate::page_store::{StoredPage, scan_with_links};
use crate::record::LinkRecord;
use page::extract::Position;

row! {
    /// A link of a page.
    LinkRow {
        /// URL of the page.
        from: Option<String> [null = "the page's record is lost"],
        /// The target, resolved; or the reference as written if it isn't a URL.
        to: String,
        /// The `rel` attribute; empty if there is none, or if the page may not be indexed.
        rel: String [names],
        /// The anchor text; empty if the page may not be indexed.
        text: String,
        /// The page or `rel` forbids following it.
        nofollow: bool,
        /// `queued`, `seen` (already known), `untested` (compared when its host is next due), or why it isn't followed:
        /// `nofollow_page nofollow_rel resource other_host other_path pattern too_deep too_long
        /// too_many_redirects redirect_loop not_http no_image_index trap_depth trap_segments trap_repeats
        /// trap_host trap_domain trap_query trap_shape trap_same trap_page sitemap_other_host forgotten growth
        /// costly`.
        outcome: &'static str [names],
        /// The element: `a area frame iframe link refresh img script source media form`, `redirect`, or in a style `css_import css_font css_image`.
        kind: String [names],
        /// The part of the page: `head header nav content aside footer`; see [outputs.md](outputs.md#links).
        position: Option<&'static str> [null = "none is given, or noindex", names],
        /// The `hreflang` of the link, as written.
        hreflang: Option<String> [null = "none is given, or noindex", names],
        /// The page may not be indexed; true only with `--include-noindex`.
        from_noindex: bool,
    }
}

impl View {
    /// All rows of table `links`, by page, in document order, including those of pages that may not be indexed.
    pub fn links(&self) -> impl Iterator<Item = Result<LinkRow, ViewError>> + '_ {
        scan_with_links(self.store()).flat_map(|page| {
            let rows = page.map_err(ViewError::from).and_then(|page| self.links_of(&page));
            let (rows, error) = match rows {
                Ok(rows) => (rows, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            rows.into_iter().map(Ok).chain(error)
        })
    }

    fn links_of(&self, stored: &StoredPage) -> Result<Vec<LinkRow>, ViewError> {
        let links = stored.links()?;
        if links.is_empty() {
            return Ok(Vec::new());
        }
        let page: PageUrl = stored.read()?;
        let (links, from_noindex) = (page.shown_links(links, self.now()), page.is_withheld(self.now()));
        let from = Some(page.url);
        let row = |link: LinkRecord| LinkRow {
            from: from.clone(),
            to: link.to.into_string(),
            rel: link.rel,
            text: link.text.into_string(),
            nofollow: link.nofollow,
            outcome: link.outcome.as_str(),
            kind: link.kind.into_owned(),
            position: link.position.map(Position::name),
            hreflang: link.hreflang,
            from_noindex,
        };
        Ok(links.into_iter().map(row).collect())
    }
}
