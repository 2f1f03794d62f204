//! Bodies that were lost with the disk of a worker: their pages are queued again.

use super::{Engine, Post};
use crate::clock::Now;
use crate::commit::{CommitError, SettledPage};
use crate::fetch::Fetch;
use crate::frontier::{Marks, QueuedUrl};
use crate::page_store::{self, StoredPage};
use crate::post::{Letter, Series};
use crate::record::{Decided, Decision, Layer, PlainReason};
use crate::store::{Store, Tree};
use crate::url::CrawlUrl;
use crate::warc;

/// The key of `meta` that says that pages of the partition were queued again.
pub const LOST: &[u8] = b"lost";

/// Pages that one letter has queued, about, and values that it has read: the rest follows with a letter to the partition itself.
const AT_ONCE: (usize, usize) = (1_000, 64);

impl<F: Fetch, S: Store> Engine<F, S> {
    /// Queues the pages again whose bodies these workers had in their archives, from a page on. Until then the records of these pages stay, without
    /// their places in the archive.
    pub(super) fn queue_lost(&mut self, workers: Vec<i64>, next: u64, now: Now) -> Result<(), CommitError> {
        // Its records are compared with what is fetched now, by this owner and those behind it.
        self.context.revisiting.begin();
        self.frontier.put(Tree::Meta, LOST.to_vec(), Vec::new());
        let count = page_store::State::read(self.frontier.store())?.count;
        let (mut next, mut queued, mut values) = (next, 0, 0);
        while next < count && queued < AT_ONCE.0 && values < AT_ONCE.1 {
            let pages: Vec<StoredPage> =
                page_store::scan_range(self.frontier.store(), next).collect::<Result<_, _>>()?;
            for page in pages {
                queued += usize::from(self.queue_if_lost(&page, &workers, now)?);
            }
            next = page_store::range_end(next);
            values += 1;
        }
        let part = self.post.as_ref().map(Post::part);
        if let Some(part) = part.filter(|_| next < count) {
            self.send_letter(part, Letter::Lost { workers, next });
        }
        Ok(())
    }

    fn queue_if_lost(&mut self, page: &StoredPage, workers: &[i64], now: Now) -> Result<bool, CommitError> {
        let mut record = page.record()?;
        let before = record.warc.clone();
        let is_lost = |file: &str| {
            let series = warc::series(file).and_then(Series::read);
            series.is_some_and(|series| workers.contains(&series.worker))
        };
        // What has become unavailable is taken out anyway.
        if record.forgotten
            || record.is_unavailable(now.wall)
            || !record.captures().any(|of| is_lost(&of.file))
        {
            return Ok(false);
        }
        let is_due = record.lose(now.wall, is_lost);
        // An order that was given twice finds the same, until what the first one changed is stored.
        if let (Some(post), Some(body)) = (&mut self.post, before.as_ref().filter(|_| is_due))
            && !post.is_new_loss(page.page, body)
        {
            return Ok(false);
        }
        let url = CrawlUrl::parse(&record.url).ok().filter(|_| is_due);
        if let Some(url) = &url {
            let item = QueuedUrl::link(url, record.depth, record.via);
            let item = if record.resource { item.marked(Marks::RESOURCE) } else { item };
            self.frontier.load(page.host)?;
            self.frontier.requeue(page.host, item);
            self.decide(Decision {
                at: now.wall,
                url: record.url.clone(),
                host: url.host().to_owned(),
                decision: Decided::BodyLost,
                layer: Layer::Fetch,
                reason: PlainReason::Body.into(),
                evidence: before
                    .map(|before| format!("archive file {} is lost", before.file))
                    .unwrap_or_default()
                    .into(),
                via: None,
            });
        }
        self.group.batch.pages.push(SettledPage {
            host: page.host,
            page: page.page,
            record,
            links: Vec::new(),
            keeps_links: true,
            blanks_links: false,
            warc: None,
            discovery: None,
            text: None,
        });
        Ok(url.is_some())
    }
}
