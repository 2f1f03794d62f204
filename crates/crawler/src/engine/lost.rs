//! Bodies that were lost with the disk of a worker: their pages are queued again.

use std::collections::HashMap;

use super::{Engine, Post};
use crate::commit::{CommitError, SettledPage};
use crate::fetch::Fetch;
use crate::frontier::QueuedUrl;
use crate::page_store::{self, StoredPage};
use crate::post::{Letter, Series, stored_object_key};
use crate::record::{Archived, Decided, Decision, Layer, PlainReason};
use crate::store::{Store, Tree};
use crate::warc;
use page::clock::Now;
use page::url::CrawlUrl;

/// The key of `meta` that says that pages of the partition were queued again.
pub const LOST: &[u8] = b"lost";

/// Pages that one letter finds, about, and values that it has read: the rest follows with a letter to the partition itself.
const AT_ONCE: (usize, usize) = (1_000, 64);

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Finds the pages whose bodies these workers had in their archives, from a page on. Their records lose their places in the archive, and a letter
    /// to the partition itself has them queued: only when the records are stored, so that no visit is compared with one as it was before.
    pub(super) fn find_lost(&mut self, workers: Vec<i64>, next: u64, now: Now) -> Result<(), CommitError> {
        let Some(part) = self.post.as_ref().map(Post::part) else { return Ok(()) };
        let count = page_store::State::read(self.frontier.store())?.count;
        let (mut next, mut urls, mut values) = (next, Vec::new(), 0);
        let mut stored = HashMap::new();
        while next < count && urls.len() < AT_ONCE.0 && values < AT_ONCE.1 {
            let pages: Vec<StoredPage> =
                page_store::scan_range(self.frontier.store(), next).collect::<Result<_, _>>()?;
            for page in pages {
                urls.extend(self.lose_body(&page, &workers, &mut stored, now)?);
            }
            next = page_store::range_end(next);
            values += 1;
        }
        if !urls.is_empty() {
            self.send_letter(part, Letter::Again(urls));
        }
        if next < count {
            self.send_letter(part, Letter::Lost { workers, next });
        }
        Ok(())
    }

    /// Takes the places in these archives out of the record of a page. Returns its URL if its body is lost. `stored` has the files that were looked for
    /// in object storage, and whether they are there.
    fn lose_body(
        &mut self,
        page: &StoredPage,
        workers: &[i64],
        stored: &mut HashMap<String, bool>,
        now: Now,
    ) -> Result<Option<String>, CommitError> {
        let mut record = page.record()?;
        let before = record.warc.clone();
        let mut lost = Vec::new();
        for of in record.captures() {
            let series = warc::series(&of.file).and_then(Series::read);
            let is_theirs = series.is_some_and(|series| workers.contains(&series.worker));
            if !is_theirs {
                continue;
            }
            // What was moved to object storage isn't lost with a disk.
            let is_stored = match stored.get(&of.file) {
                Some(is_stored) => *is_stored,
                None => self.frontier.store().get(Tree::Meta, &stored_object_key(&of.file))?.is_some(),
            };
            stored.insert(of.file.clone(), is_stored);
            if !is_stored {
                lost.push(of.file.clone());
            }
        }
        let is_lost = |of: &Archived| lost.contains(&of.file);
        // What has become unavailable is taken out anyway.
        if record.forgotten || record.is_unavailable(now.wall) || !record.captures().any(is_lost) {
            return Ok(None);
        }
        let body = before.filter(|_| record.lose(now.wall, is_lost));
        // An order that was given twice finds the same, until what the first one changed is stored.
        if let (Some(post), Some(body)) = (&mut self.post, &body)
            && !post.is_new_loss(page.page, body)
        {
            return Ok(None);
        }
        let url = record.url.clone();
        if let Some(body) = &body {
            self.decide(Decision {
                at: now.wall,
                url: url.clone(),
                host: self.frontier.name(page.host).to_owned(),
                decision: Decided::BodyLost,
                layer: Layer::Fetch,
                reason: PlainReason::Body.into(),
                evidence: format!("archive file {} is lost", body.file).into(),
                via: None,
            });
        }
        self.group.batch.pages.push(SettledPage::changed(page.host, page.page, record));
        Ok(body.map(|_| url))
    }

    /// Queues pages again whose records say that their bodies are lost.
    pub(super) fn queue_lost(&mut self, urls: &[String]) -> Result<(), CommitError> {
        // What is fetched now is compared with them, by this owner and those behind it.
        self.context.revisiting.begin();
        self.frontier.put(Tree::Meta, LOST.to_vec(), Vec::new());
        for url in urls.iter().filter_map(|url| CrawlUrl::parse(url).ok()) {
            let host = self.frontier.host_id(url.host())?;
            let Some(record) = self.records().stored(host, url.fingerprint(&self.key)) else { continue };
            if record.lost_at.is_none() || record.warc.is_some() {
                continue;
            }
            let item = QueuedUrl::again(&url, record.depth, record.via, record.resource);
            self.frontier.load(host)?;
            self.frontier.requeue(host, item);
        }
        Ok(())
    }
}
