//! Pages with their links: from their records, or read again from the archive.

use super::{Rebuild, Result};
use crate::commit::SettledPage;
use crate::frontier::{QueuedUrl, Via};
use crate::record::{Archived, LinkOutcome, LinkRecord, PageRecord, withhold_links};
use crate::store::{Tree, Write};
use crate::{visit, warc};
use page::url::CrawlUrl;

impl Rebuild<'_> {
    pub(super) fn via(&self, via: Option<Via>) -> Option<Via> {
        let via = via.filter(|_| self.key_kept)?;
        Some(Via { host: *self.hosts.get(&via.host.0)?, page: via.page })
    }

    /// Keeps the page records that can be read, with their links; gives the pages that have to be asked for again.
    pub(super) fn pages(&mut self) -> Result<Vec<(CrawlUrl, QueuedUrl)>> {
        let mut again = Vec::new();
        let salvaged = self.salvaged;
        let whole = salvaged.pages(|mut record, links| {
            let Ok(url) = CrawlUrl::parse(&record.url) else { return Ok(()) };
            record.via = self.via(record.via);
            let before = record.warc.is_some();
            record.warc = record.warc.filter(|place| self.archive.holds(place));
            record.earlier.retain(|place| self.archive.holds(place));
            if before && record.warc.is_none() {
                record.archived = false;
                self.repaired.bodies_lost += 1;
            }
            if record.is_withheld() {
                record.withhold();
            }
            let links = if record.lists_links() { links } else { Some(Vec::new()) };
            let Some(mut links) = links.or_else(|| self.links_again(&url, &record)) else {
                let item = QueuedUrl::again(&url, record.depth, record.via, record.resource);
                again.push((url.clone(), item));
                self.repaired.pages_again += 1;
                return Ok(());
            };
            if record.is_withheld() {
                withhold_links(&mut links);
            }
            self.repaired.pages += 1;
            self.keep(&url, record, links)
        })?;
        self.torn(Tree::Pages, whole);
        self.commit()?;
        Ok(again)
    }

    pub(super) fn links_again(&mut self, url: &CrawlUrl, record: &PageRecord) -> Option<Vec<LinkRecord>> {
        let place = record.warc.as_ref()?;
        Some(self.reread(url, place)?.1)
    }

    /// Reads an archived response as its visit did.
    pub(super) fn reread(
        &mut self,
        url: &CrawlUrl,
        place: &Archived,
    ) -> Option<(PageRecord, Vec<LinkRecord>)> {
        let location =
            warc::Location { file: place.file.clone(), offset: place.offset, length: place.length };
        let response = warc::read_response(&self.dir.warc(), &location).ok()?;
        let Ok(_noted) = self.rereading.begin(&place.file, &response) else {
            self.repaired.crashed += 1;
            return None;
        };
        let visited = visit::reread(&self.rules, url, &response, None)?;
        let links = visited.links.into_iter().map(|link| {
            let outcome = match (link.known(), link.skip) {
                (_, Some(skip)) => skip,
                (Some((url, _)), None) => self.scope.judge(url, 0).unwrap_or(LinkOutcome::Seen),
                (None, None) => LinkOutcome::NotHttp,
            };
            link.into_record(outcome)
        });
        let links = if visited.record.lists_links() { links.collect() } else { Vec::new() };
        Some((visited.record, links))
    }

    pub(super) fn keep(&mut self, url: &CrawlUrl, record: PageRecord, links: Vec<LinkRecord>) -> Result<()> {
        let host = self.frontier.host_id(url.host())?;
        let page = url.fingerprint(&self.key);
        if !self.frontier.know(host, page)? {
            return Ok(());
        }
        self.totals.add_page(&record);
        self.totals.requests += 1;
        if let Some(date) = record.unavailable_after.filter(|_| record.holds_content()) {
            self.put(Write::put(Tree::Due, crate::record::due_key(date, host, page), Vec::new()))?;
        }
        self.bytes += 1024 + links.iter().map(|link| 64 + link.to.len() + link.text.len()).sum::<usize>();
        self.settled.push(SettledPage::taken_over(host, page, record, links));
        self.commit_in_time()
    }

    /// Reads the responses again whose page record is lost.
    pub(super) fn pages_of_the_archive(&mut self) -> Result<()> {
        for (page, place) in self.archive.places() {
            let location =
                warc::Location { file: place.file.clone(), offset: place.offset, length: place.length };
            let Ok(response) = warc::read_response(&self.dir.warc(), &location) else { continue };
            let Some(Ok(url)) = response.field("WARC-Target-URI").map(CrawlUrl::parse) else { continue };
            let host = self.frontier.host_id(url.host())?;
            if self.frontier.is_seen(host, page)? {
                continue;
            }
            let Some((mut record, links)) = self.reread(&url, &place) else { continue };
            if !self.buried(&url, &place, &record)? {
                record.warc = Some(place);
                record.archived = true;
            }
            self.repaired.pages_from_archive += 1;
            self.keep(&url, record, links)?;
        }
        self.commit()
    }
}
