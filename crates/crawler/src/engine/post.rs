//! One partition of a cluster's crawl: links to hosts of the others go out as letters, and theirs come in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::mpsc::UnboundedReceiver;

use super::limits::Taken;
use super::{Engine, Leases};
use crate::commit::CommitError;
use crate::fetch::Fetch;
use crate::frontier::{Admitted, Finding, FingerprintSet, HostId, QueuedUrl, Via};
use crate::post::{self, Letter, Place, SentLink};
use crate::record::{Archived, Decided, Decision, Layer, LinkOutcome, MovedSeed, SitemapRecord};
use crate::store::{Store, StoreError, Tree, Write};
use crate::trap::BudgetExceeded;
use page::clock::Now;
use page::ids::{HopId, elsewhere_key};
use page::url::{CrawlUrl, Fingerprint};

/// Bytes of links in a letter, at most; one page may have more.
const LETTER_BYTES: usize = 64 << 10;

/// Letters as they are stored: their key, and their texts one after the other.
pub type Stored = (Vec<u8>, Vec<u8>);

/// What others may know of a partition while it is crawled.
#[derive(Debug, Default)]
pub struct Standing {
    /// Grows with each step of its loop that isn't idle.
    steps: AtomicU64,
    is_idle: AtomicBool,
    /// Letters were handed in, and what was done about them isn't committed.
    is_reading: AtomicBool,
    queued: AtomicU64,
    in_flight: AtomicU64,
}

impl Standing {
    /// The number of the step since which nothing is under way, nothing waits to be committed, and no host is to be asked soon; none
    /// while that isn't so.
    pub fn idle_since(&self) -> Option<u64> {
        let idle = self.is_idle.load(Ordering::Acquire);
        idle.then(|| self.steps.load(Ordering::Acquire))
    }

    /// Whether letters may be handed in: those from before are dealt with. Call it once for each bundle that is.
    pub fn takes_letters(&self) -> bool {
        !self.is_reading.swap(true, Ordering::AcqRel)
    }

    /// No letter was there to be handed in.
    pub fn had_no_letters(&self) {
        self.is_reading.store(false, Ordering::Release);
    }

    /// URLs queued.
    pub fn queued(&self) -> u64 {
        self.queued.load(Ordering::Relaxed)
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }
}

/// How far the letters that came in are dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Nothing,
    Read,
    Committing,
}

/// The post of a partition.
#[derive(Debug)]
pub struct Post {
    place: Place,
    /// The fence of the partition: letters of one owner are numbered.
    fence: u64,
    number: u64,
    /// None once no letters come any more.
    letters: Option<UnboundedReceiver<Vec<Stored>>>,
    reading: Reading,
    standing: Arc<Standing>,
    /// Links that aren't in a letter yet, by partition and by the page that they were found on.
    links: BTreeMap<u32, BTreeMap<String, Vec<SentLink>>>,
    others: Vec<(u32, Letter)>,
    /// URLs that were sent, as far as memory reaches.
    pub(super) sent: FingerprintSet,
    /// Bodies that were found to be lost, by page and place: what is stored of a page may still say that it has one.
    lost: FingerprintSet,
}

impl Post {
    /// The post of a partition that its owner has under `fence`. The crawl of the partition doesn't end before `letters` does.
    pub fn new(
        place: Place,
        fence: u64,
        letters: UnboundedReceiver<Vec<Stored>>,
        standing: Arc<Standing>,
    ) -> Self {
        Self {
            place,
            fence,
            number: 0,
            letters: Some(letters),
            reading: Reading::Nothing,
            standing,
            links: BTreeMap::new(),
            others: Vec::new(),
            sent: FingerprintSet::default(),
            lost: FingerprintSet::default(),
        }
    }

    /// The number of the partition.
    pub(super) fn part(&self) -> u32 {
        self.place.part
    }

    /// True the first time that this body of a page is found to be lost.
    pub(super) fn is_new_loss(&mut self, page: Fingerprint, body: &Archived) -> bool {
        let hash = blake3::hash(format!("{} {}", body.offset, body.file).as_bytes());
        let place = hash.as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        self.lost.insert(Fingerprint(page.0 ^ place))
    }

    /// Takes what waits to be sent, as changes of the store.
    fn take(&mut self) -> Result<Vec<Write>, postcard::Error> {
        let mut letters: Vec<(u32, Letter)> = std::mem::take(&mut self.others);
        for (to, pages) in std::mem::take(&mut self.links) {
            letters.extend(pages.into_iter().map(|(from, links)| (to, Letter::Links { from, links })));
        }
        let mut writes = Vec::with_capacity(letters.len());
        for (to, letter) in letters {
            let key = self.place.letter_key(to, self.fence, self.number);
            self.number += 1;
            writes.push(Write::put(Tree::Meta, key, postcard::to_allocvec(&letter)?));
        }
        Ok(writes)
    }
}

/// The next letters; none once no more come; never, where there is no post.
pub(super) async fn arrive(post: &mut Option<Post>) -> Vec<Stored> {
    if let Some(Post { letters, .. }) = post
        && let Some(open) = letters
    {
        if let Some(bundle) = open.recv().await {
            return bundle;
        }
        *letters = None;
        return Vec::new();
    }
    std::future::pending().await
}

impl<F: Fetch, S: Store> Engine<F, S> {
    /// The partition of a host, where that is another one.
    pub(super) fn elsewhere(&self, host: &str) -> Option<u32> {
        self.post.as_ref()?.place.elsewhere(host)
    }

    /// Whether letters may still come.
    pub(super) fn expects_letters(&self) -> bool {
        self.post.as_ref().is_some_and(|post| post.letters.is_some())
    }

    /// Sends a link within the scope to the partition of its host, once as far as memory reaches.
    pub(super) fn send_link(&mut self, to: u32, from: &str, link: SentLink, fingerprint: Fingerprint) {
        let Some(post) = &mut self.post else { return };
        if post.sent.len() >= self.remembered_at_most {
            post.sent.clear();
        }
        if !post.sent.insert(fingerprint) {
            return;
        }
        let bytes = link.url.len() + 8;
        let pages = post.links.entry(to).or_default();
        match pages.get_mut(from) {
            Some(links) => links.push(link),
            None => drop(pages.insert(from.to_owned(), vec![link])),
        }
        self.touch(bytes.min(LETTER_BYTES));
    }

    /// Sends the record of a sitemap to the partition of its host.
    pub(super) fn send_sitemap(&mut self, to: u32, record: &SitemapRecord) -> Result<(), CommitError> {
        let letter = Letter::Sitemap(record.write()?);
        self.send_letter(to, letter);
        Ok(())
    }

    /// Sends a letter to all other partitions.
    pub(super) fn send_all(&mut self, letter: &Letter) {
        let Some(place) = self.post.as_ref().map(|post| post.place) else { return };
        for part in place.others() {
            self.send_letter(part, letter.clone());
        }
    }

    /// The id of a hop that another partition is to make.
    pub(super) fn next_hop_id(&mut self) -> Option<HopId> {
        let post = self.post.as_mut()?;
        post.number += 1;
        Some(HopId { part: post.place.part, fence: post.fence, number: post.number })
    }

    pub(super) fn send_letter(&mut self, to: u32, letter: Letter) {
        if let Some(post) = &mut self.post {
            post.others.push((to, letter));
            self.touch(256);
        }
    }

    /// What waits to be sent, for the commit that begins.
    pub(super) fn letters_of_commit(&mut self) -> Result<Vec<Write>, CommitError> {
        let Some(post) = &mut self.post else { return Ok(Vec::new()) };
        if post.reading == Reading::Read {
            post.reading = Reading::Committing;
        }
        post.take()
            .map_err(|error| StoreError::Unreadable { tree: Tree::Meta.name(), source: error.into() }.into())
    }

    /// A commit is over: what was done about letters is on record.
    pub(super) fn letters_committed(&mut self) {
        if let Some(post) = &mut self.post
            && post.reading == Reading::Committing
        {
            post.reading = Reading::Nothing;
            post.standing.is_reading.store(false, Ordering::Release);
        }
    }

    /// Tells what others may know. `is_quiet`: nothing is under way.
    pub(super) fn publish_status(&mut self, in_flight: &Leases, is_quiet: bool, now: Now) {
        if self.post.is_none() {
            return;
        }
        let may_do = (is_quiet || self.limits.own().is_some()) && !self.nothing_to_do(now);
        let coming = Taken::in_flight(in_flight);
        let pages = self.totals.pages + coming.pages;
        let taken = Taken { pages, resources: self.totals.resources + coming.resources };
        let waits = self.limits.tell_taken(&mut self.frontier, taken, may_do, now);
        let is_idle = is_quiet && self.group.since.is_none() && !may_do && !waits;
        let queued = self.frontier.counts().queued;
        let Some(Post { standing, reading, .. }) = &self.post else { return };
        let is_idle = is_idle && *reading == Reading::Nothing;
        if !is_idle {
            standing.is_idle.store(false, Ordering::Release);
            standing.steps.fetch_add(1, Ordering::AcqRel);
        }
        standing.is_idle.store(is_idle, Ordering::Release);
        standing.queued.store(queued, Ordering::Relaxed);
        standing.in_flight.store(in_flight.len() as u64, Ordering::Relaxed);
    }

    /// Does what letters say. They are removed with the commit of that.
    pub(super) fn read_letters(&mut self, letters: Vec<Stored>) -> Result<(), CommitError> {
        if letters.is_empty() {
            return Ok(());
        }
        let now = self.clock.now();
        for (key, text) in letters {
            for letter in post::letters(&text) {
                let unreadable = |error: postcard::Error| StoreError::Unreadable {
                    tree: Tree::Meta.name(),
                    source: error.into(),
                };
                self.read_letter(letter.map_err(unreadable)?, now)?;
            }
            self.group.batch.removes.push(Write::remove(Tree::Meta, key));
        }
        self.touch(64);
        if let Some(post) = &mut self.post {
            post.reading = Reading::Read;
        }
        Ok(())
    }

    fn read_letter(&mut self, letter: Letter, now: Now) -> Result<(), CommitError> {
        match letter {
            Letter::Links { from, links } => self.admit_sent(&from, links, now)?,
            Letter::Scope(urls) => {
                for url in urls.iter().filter_map(|url| CrawlUrl::parse(url).ok()) {
                    self.add_to_scope(&url)?;
                }
            }
            Letter::Sitemap(record) => {
                let record = SitemapRecord::read(&record)?;
                if let Ok(url) = CrawlUrl::parse(&record.url) {
                    self.queue_sitemap(&url, record)?;
                }
            }
            Letter::Lost { workers, next } => {
                if next == 0 {
                    self.give_up_requests(&workers)?;
                }
                self.find_lost(workers, next, now)?;
            }
            Letter::InFlight { worker, intents } => self.enter_handed_in(worker, &intents)?,
            Letter::Again(urls) => self.queue_lost(&urls)?,
            Letter::Hop(request) => self.take_hop(request, now)?,
            Letter::HopAnswer(answer) => self.take_hop_answer(answer, now)?,
            Letter::Steer(order) => self.steer_from_outside(&order)?,
            Letter::Moved { from, record } => {
                let moved = MovedSeed::read(&record)?;
                self.take_moved_seed(Fingerprint(from), &moved, record);
            }
        }
        Ok(())
    }

    /// Queues links that another partition found. Whether they belong to the scope was judged there.
    fn admit_sent(&mut self, from: &str, links: Vec<SentLink>, now: Now) -> Result<(), CommitError> {
        let Ok(page) = CrawlUrl::parse(from) else { return Ok(()) };
        let via = Via { host: HostId::ELSEWHERE, page: page.fingerprint(&self.key) };
        let mut is_via_known = false;
        self.bounds.domains.begin_page(0);
        for link in links {
            let Ok(url) = CrawlUrl::parse(&link.url) else { continue };
            let mut finding =
                Finding { redirects: link.redirects, marks: link.marks, ..Finding::link(link.depth, via) };
            let fingerprint = url.fingerprint(&self.key);
            if let Some(why) = self.judge_cost(&url, fingerprint, &mut finding, from) {
                self.enter_sent_skip(from, &url, LinkOutcome::Costly, why, now);
                continue;
            }
            let host = match self.host_within_budgets(("", HostId::ELSEWHERE), finding, &url)? {
                Ok(host) => host,
                Err(held) => {
                    self.enter_sent_held(from, &url, held, now);
                    continue;
                }
            };
            let priority = finding.priority();
            let pack = || QueuedUrl::found(&url, finding);
            match self.frontier.admit_with(host, fingerprint, priority, false, pack)? {
                Admitted::Queued | Admitted::Untested => {
                    if !std::mem::replace(&mut is_via_known, true) {
                        self.frontier.put(Tree::Meta, elsewhere_key(via.page), from.as_bytes().to_vec());
                        self.remember_url(via, from);
                    }
                }
                Admitted::Seen => {}
                Admitted::Held(held) => self.enter_sent_held(from, &url, held, now),
            }
        }
        Ok(())
    }

    fn enter_sent_held(&mut self, from: &str, url: &CrawlUrl, held: BudgetExceeded, now: Now) {
        self.enter_sent_skip(from, url, held.budget.outcome(), held.evidence(url), now);
    }

    fn enter_sent_skip(
        &mut self,
        from: &str,
        url: &CrawlUrl,
        outcome: LinkOutcome,
        evidence: String,
        now: Now,
    ) {
        if !self.is_new_skip(url.fingerprint(&self.key), outcome) {
            return;
        }
        self.totals.skipped += 1;
        self.decide(Decision {
            at: now.wall,
            url: url.to_string(),
            host: url.host().to_owned(),
            decision: Decided::Skipped,
            layer: Layer::of_skip(outcome),
            reason: outcome.into(),
            evidence: evidence.into(),
            via: Some(from.to_owned()),
        });
    }
}
