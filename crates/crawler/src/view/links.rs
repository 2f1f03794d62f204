//! Table `links`: what links where.

use super::lookup::stored_page;
use super::open::{View, ViewError, split_host};
use super::row::row;
use crate::extract::Position;
use crate::record::{LinkRecord, read_links, withhold_links};
use crate::store::{Pair, Store, Tree};
use crate::url::Fingerprint;

row! {
    /// A link of a page.
    LinkRow {
        /// The page.
        from: Option<String>,
        /// The target, or the reference as written where it is no URL.
        to: String,
        /// The `rel` attribute; empty where the page may not be indexed.
        rel: String,
        /// The anchor text; empty where the page may not be indexed.
        text: String,
        /// True if page or `rel` forbid to follow it.
        nofollow: bool,
        /// What became of it.
        outcome: &'static str,
        /// The element: `a`, `img`, `redirect` ...
        kind: String,
        /// The part of the page it stands in.
        position: Option<&'static str>,
        /// `hreflang` as written.
        hreflang: Option<String>,
        /// The page may not be indexed, or its record is lost.
        from_noindex: bool,
    }
}

impl<S: Store> View<S> {
    /// All rows of table `links`, by page, in the order of the page. Those of pages that may not be indexed are among them.
    pub fn links(&self) -> impl Iterator<Item = Result<LinkRow, ViewError>> + '_ {
        self.store().scan(Tree::Links, &[]).flat_map(|pair| {
            let rows = pair.map_err(ViewError::from).and_then(|pair| self.links_of(&pair));
            let (rows, error) = match rows {
                Ok(rows) => (rows, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            rows.into_iter().map(Ok).chain(error)
        })
    }

    fn links_of(&self, (key, value): &Pair) -> Result<Vec<LinkRow>, ViewError> {
        let (host, page) = split_host(Tree::Links, key)?;
        let page = <[u8; 8]>::try_from(page).map_err(|error| ViewError::record(Tree::Links, &error))?;
        let page = stored_page(self, host, Fingerprint(u64::from_be_bytes(page)))?;
        let links = read_links(value).map_err(ViewError::packed(Tree::Links))?;
        let (links, from_noindex) = match &page {
            Some(page) => (page.shown_links(links, self.now()), page.is_withheld(self.now())),
            // Nobody knows what its author said.
            None => (bare(links), true),
        };
        let from = page.map(|page| page.url);
        let row = |link: LinkRecord| LinkRow {
            from: from.clone(),
            to: link.to,
            rel: link.rel,
            text: link.text,
            nofollow: link.nofollow,
            outcome: link.outcome.as_str(),
            kind: link.kind,
            position: link.position.map(Position::name),
            hreflang: link.hreflang,
            from_noindex,
        };
        Ok(links.into_iter().map(row).collect())
    }
}

fn bare(mut links: Vec<LinkRecord>) -> Vec<LinkRecord> {
    withhold_links(&mut links);
    links
}
