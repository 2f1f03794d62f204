//! Pages whose content may not be stored: what a repair must not restore.

use meta::{Cause, Effect};

use super::{Rebuild, Result};
use crate::commit::CommitError;
use crate::record::{Archived, PageRecord, Withdrawal};
use crate::store::{Tree, Write};
use crate::warc;
use page::url::CrawlUrl;

impl Rebuild<'_> {
    /// Takes a response out of the new archive whose own words forbid to keep it, whatever let it be archived once. Says whether it did.
    pub(super) fn buried(&mut self, url: &CrawlUrl, place: &Archived, record: &PageRecord) -> Result<bool> {
        let Effect::Forbidden(Cause::Directive(because)) = record.effects(self.now.wall).store_body else {
            return Ok(false);
        };
        let because = because.to_string();
        let Archived { file, offset, length } = place.clone();
        let location = warc::Location { file, offset, length };
        warc::write_tombstone(&self.dir.warc(), &location, url.as_str(), self.now.wall, &because)?;
        let (url, place, at) = (url.to_string(), place.clone(), self.now.wall);
        let withdrawal = Withdrawal { v: 1, url, place, at, because, done: true };
        let value = serde_json::to_vec(&withdrawal).map_err(CommitError::from)?;
        self.put(Write::put(Tree::Withdrawn, withdrawal.key(), value))?;
        Ok(true)
    }
}

/// Where a page redirects to that lists no link, not even this one.
pub(super) fn unlisted_redirect(record: &PageRecord) -> Option<CrawlUrl> {
    let redirect = record.redirect.as_deref().filter(|_| !record.lists_links() && record.error.is_none())?;
    CrawlUrl::parse(redirect).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_without_a_row_is_found_in_its_page_unless_it_was_skipped() {
        let target = "http://a.test/target";
        let page = PageRecord {
            status: Some(302),
            withheld: true,
            redirect: Some(target.to_owned()),
            ..PageRecord::default()
        };
        let found = |page: &PageRecord| unlisted_redirect(page).map(|url| url.to_string());
        assert_eq!(found(&page).as_deref(), Some(target));
        assert_eq!(found(&PageRecord { followed: true, ..page.clone() }), None, "it has a row");
        assert_eq!(found(&PageRecord { error: Some("redirect_loop".to_owned()), ..page.clone() }), None);
        assert_eq!(found(&PageRecord { redirect: Some("mailto:a".to_owned()), ..page }), None);
    }
}
