//! Table `skipped`: the URLs that were found and not fetched, each once, with the final reason.

use std::collections::HashMap;
use std::iter::Chain;
use std::panic::resume_unwind;
use std::thread;

use jiff::Timestamp;
use serde::Deserialize;

use super::host_ids::HostIds;
use super::ledger::decisions;
use super::lookup::{PageUrl, PageUrls};
use super::moment::Moment;
use super::open::{View, ViewError};
use super::row::row;
use super::row_sorter::host_of;
use super::stage::stage;
use crate::frontier::{StoredQueue, StoredUrl, stored_queue};
use crate::page_store::{self, StoredPage};
use crate::record::{Decided, Decision, Layer, LinkOutcome, LinkRecord, PlainReason, Reason, link_key};
use crate::sorter::{self, Sorted, Sorter};
use crate::store::{AnyStore, Store, StoreError, Tree};
use page::extract::LinkKind;
use page::url::{CrawlUrl, Fingerprint, FingerprintKey};

row! {
    /// A URL that was skipped.
    SkippedRow {
        /// The URL, or the reference as written if it isn't a URL.
        url: String,
        /// `robots_txt`; an outcome as in `links`; a kind of failure as in `errors`; `parked`.
        reason: Reason [names],
        /// The line, tag, limit or number that decided.
        detail: Option<String> [null = "there is none"],
        /// URL of the page on which it was found.
        via: Option<String> [null = "it isn't known"],
        /// When it was decided.
        at: Option<Moment> [null = "its host was skipped without an entry in the ledger"],
        /// What decided: `scope robots pace fetch address directive limit trap stop`.
        layer: Layer [names],
        /// The host; empty if the URL has none.
        host: String [names],
    }
}

impl SkippedRow {
    /// The kind of site and the class, of a URL that costs its site much: `mediawiki:history`; `budget` of one beyond the budget of its group.
    pub(crate) fn costly_class(&self) -> Option<&str> {
        let detail = self.detail.as_deref().filter(|_| self.reason == LinkOutcome::Costly)?;
        // What is held back by the budget has figures.
        Some(if detail.contains(' ') { "budget" } else { detail })
    }
}

impl View {
    /// The rows of table `skipped`: the ledger from its end, then the URLs of skipped hosts. Refused sitemaps are included.
    ///
    /// A link that wasn't followed doesn't count if the same URL was visited or is queued through another one. A URL that
    /// was denied or failed without a response is listed for that reason, whatever later links to it decide; of several other decisions the one counts
    /// whose link got furthest, as in [`View::explain`], and of those about the links of one page only what the last run decided. Memory: some
    /// megabytes; the records are sorted in temporary files, about 30 bytes per page, decision and queued URL.
    pub fn skipped(&self) -> Result<impl Iterator<Item = Result<SkippedRow, ViewError>> + '_, ViewError> {
        self.skipped_beside(page_store::scan(self.store()).map(answered))
    }

    /// As [`View::skipped`], with what the caller reads of all pages: the fingerprint of each, and whether it was answered. They are read in
    /// a thread of their own, beside the ledger and the queue.
    pub(super) fn skipped_beside(
        &self,
        pages: impl Iterator<Item = Result<(Fingerprint, bool), ViewError>> + Send,
    ) -> Result<Chain<LedgerSkips<'_>, ParkedUrls<'_>>, ViewError> {
        let (skips, parked) = self.ledger_and_parked(pages)?;
        Ok(skips.chain(parked))
    }

    /// The rows of table `skipped` from the ledger, without the URLs of skipped hosts. They are determined before the first
    /// row is returned, so that the crawl may continue meanwhile.
    pub(crate) fn skipped_in_ledger(
        &self,
    ) -> Result<impl Iterator<Item = Result<SkippedRow, ViewError>> + '_, ViewError> {
        Ok(self.ledger_and_parked(page_store::scan(self.store()).map(answered))?.0)
    }

    /// Links that were skipped, of pages that count such URLs in place of listing them: those in the ledger are among them.
    pub(crate) fn skipped_not_listed(&self) -> impl Iterator<Item = Result<SkippedRow, ViewError>> + '_ {
        page_store::scan_with_links(self.store()).flat_map(|page| {
            match page.map_err(ViewError::from).and_then(|page| counting(&page)) {
                Ok(rows) => rows.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            }
        })
    }

    fn ledger_and_parked(
        &self,
        pages: impl Iterator<Item = Result<(Fingerprint, bool), ViewError>> + Send,
    ) -> Result<(LedgerSkips<'_>, ParkedUrls<'_>), ViewError> {
        let mut marks = self.sorter();
        let read_pages = move || -> Result<Sorter, ViewError> {
            for page in pages {
                let (page, is_answered) = page?;
                marks.push_parts(&[&page.0.to_be_bytes(), &[Met::PAGE, u8::from(is_answered)]])?;
            }
            Ok(marks)
        };
        let (met, parked_at) = thread::scope(|scope| {
            let pages = thread::Builder::new().name("pages".to_owned()).spawn_scoped(scope, read_pages)?;
            let decided = self.decided_and_queued();
            let pages = pages.join().unwrap_or_else(|panic| resume_unwind(panic));
            let (mut met, parked_at) = decided?;
            met.take_all(pages?)?;
            Ok::<_, ViewError>((met, parked_at))
        })?;
        let (decided, waiting) = self.judged(met)?;
        let skips = LedgerSkips { view: self, ids: HostIds::default(), decided, block: (0, Vec::new()) };
        let parked = ParkedUrls {
            view: self,
            queue: stored_queue(self.store())?,
            parked_at,
            urls: PageUrls::default(),
            waiting,
            next: None,
            place: 0,
        };
        Ok((skips, parked))
    }

    /// What ledger and queue say of each URL, by its mark, and when hosts were skipped.
    fn decided_and_queued(&self) -> Result<(Sorter, HashMap<String, Timestamp>), ViewError> {
        let mut met = self.sorter();
        let mut parked_url = 0_u64;
        for stored in stored_queue(self.store())? {
            let stored = stored?;
            let url =
                stored.url.url(&stored.host.host).map_err(|error| ViewError::record(Tree::Queue, error))?;
            let mark = url.fingerprint(self.key()).0.to_be_bytes();
            met.push_parts(&[&mark, &[Met::QUEUED]])?;
            if stored.host.parked.is_some() {
                met.push_parts(&[&mark, &[Met::PARKED], &parked_url.to_be_bytes()])?;
                parked_url += 1;
            }
        }
        let mut parked_at: HashMap<String, Timestamp> = HashMap::new();
        let kinds = [
            Decided::Failed,
            Decided::Skipped,
            Decided::SitemapRefused,
            Decided::Parked,
            Decided::Started,
            Decided::Resumed,
        ];
        let mut run = 0_u32;
        for block in self.decision_blocks_with(&kinds) {
            let (first, decisions) = block?;
            for (seq, decision) in (first..).zip(decisions) {
                let kind = if is_end(&decision) {
                    if decision.decision == Decided::Failed { Met::FAILED } else { Met::DENIED }
                } else if matches!(decision.decision, Decided::Skipped | Decided::SitemapRefused) {
                    Met::SKIPPED
                } else {
                    run = run.saturating_add(u32::from(decision.begins_a_run()));
                    if decision.decision == Decided::Parked {
                        parked_at.insert(decision.host, decision.at);
                    }
                    continue;
                };
                let mark = mark(self.key(), &decision.url).0.to_be_bytes();
                // The last one first.
                let (last, seq) = (!seq, seq.to_be_bytes());
                if kind == Met::SKIPPED {
                    let via = decision.via.as_deref().map_or(0, |via| self.key().hash(via));
                    let stage = stage(&decision) as u8;
                    met.push_parts(&[
                        &mark,
                        &[kind],
                        &last.to_be_bytes(),
                        &seq,
                        &[stage],
                        &run.to_be_bytes(),
                        &via.to_be_bytes(),
                    ])?;
                } else {
                    met.push_parts(&[&mark, &[kind], &last.to_be_bytes(), &seq])?;
                }
            }
        }
        Ok((met, parked_at))
    }

    /// What counts of everything that each URL met: decisions by their numbers, the last one first, and URLs that wait by
    /// their places.
    fn judged(&self, met: Sorter) -> Result<(Sorted, Sorted), ViewError> {
        let (mut decided, mut waiting) = (self.sorter(), self.sorter());
        let mut url = Met::default();
        let mut of = None;
        for record in met.sorted()? {
            let record = record?;
            let mark = sorter::number(&record, 0, 8);
            if of.replace(mark).is_some_and(|before| before != mark) {
                std::mem::take(&mut url).judge(&mut decided, &mut waiting)?;
            }
            url.add(&record[8..]);
        }
        url.judge(&mut decided, &mut waiting)?;
        Ok((decided.sorted()?, waiting.sorted()?))
    }
}

/// What of a page's record says that it counts skipped URLs.
#[derive(Deserialize)]
struct Counting {
    url: String,
    #[serde(default)]
    skipped_not_listed: u64,
}

/// The skipped links of a page that counts some of them; none of another page.
fn counting(page: &StoredPage) -> Result<Vec<SkippedRow>, ViewError> {
    let Counting { url: via, skipped_not_listed } = page.read()?;
    if skipped_not_listed == 0 {
        return Ok(Vec::new());
    }
    let skipped = page.links()?.into_iter().filter(|link| link.outcome.is_skip());
    let row = |link: LinkRecord| SkippedRow {
        host: host_of(&link.to).to_owned(),
        url: link.to.into_string(),
        reason: link.outcome.into(),
        detail: Some(evidence_in_words(&link.kind).to_owned()),
        via: Some(via.clone()),
        at: None,
        layer: Layer::of_skip(link.outcome),
    };
    Ok(skipped.map(row).collect())
}

/// A page's fingerprint, and whether it was answered.
fn answered(page: Result<StoredPage, StoreError>) -> Result<(Fingerprint, bool), ViewError> {
    let page = page?;
    Ok((page.page, page.read::<PageUrl>()?.status.is_some()))
}

/// A decision that ends a URL's way, other than those about a link to it.
fn is_end(decision: &Decision) -> bool {
    match decision.decision {
        Decided::Failed => true,
        Decided::Skipped => decision.layer == Layer::Robots,
        _ => false,
    }
}

/// The URL's fingerprint, or the like of a reference that is no URL.
pub(super) fn mark(key: &FingerprintKey, url: &str) -> Fingerprint {
    if let Ok(url) = CrawlUrl::parse(url) {
        return url.fingerprint(key);
    }
    Fingerprint(key.hash(url))
}

/// What one URL met.
#[derive(Debug, Default)]
struct Met {
    /// It has a page record; true if it was answered.
    page: Option<bool>,
    queued: bool,
    /// The last decision that ended its way, and whether that was a failure.
    end: Option<(u64, bool)>,
    /// The decision about the link to it that got furthest, with its stage.
    skipped: Option<(u8, u64)>,
    /// The last run that judged a link on each page.
    runs: HashMap<u64, u64>,
    /// Its first place among the URLs of skipped hosts.
    parked: Option<u64>,
}

impl Met {
    const PAGE: u8 = 0;
    const QUEUED: u8 = 1;
    const PARKED: u8 = 2;
    const DENIED: u8 = 3;
    const FAILED: u8 = 4;
    const SKIPPED: u8 = 5;

    /// Adds a record without its mark. Of one kind the last decision comes first.
    fn add(&mut self, record: &[u8]) {
        let number = sorter::number(record, 1, 8);
        let seq = sorter::number(record, 9, 8);
        match record.first().copied() {
            Some(Self::PAGE) => self.page = Some(record.get(1) == Some(&1)),
            Some(Self::QUEUED) => self.queued = true,
            Some(Self::PARKED) => self.parked = self.parked.or(Some(number)),
            Some(kind @ (Self::DENIED | Self::FAILED)) if self.end.is_none_or(|(known, _)| seq > known) => {
                self.end = Some((seq, kind == Self::FAILED));
            }
            Some(Self::SKIPPED) => {
                let (run, via) = (sorter::number(record, 18, 4), sorter::number(record, 22, 8));
                let stage = record.get(17).copied().unwrap_or_default();
                let counts = *self.runs.entry(via).or_insert(run) == run;
                if counts && self.skipped.is_none_or(|(furthest, _)| stage > furthest) {
                    self.skipped = Some((stage, seq));
                }
            }
            _ => {}
        }
    }

    fn judge(self, decided: &mut Sorter, waiting: &mut Sorter) -> Result<(), ViewError> {
        // What failed is listed as that, also where it waits for a host that is skipped.
        let comes_again = self.queued && (self.parked.is_none() || self.page != Some(false));
        let counts = match (self.end, self.skipped) {
            _ if comes_again => None,
            (Some((seq, failed)), _) => Some((seq, failed)),
            (None, skipped) => skipped.map(|(_, seq)| (seq, false)),
        };
        // What was answered is a page; what failed has a record too, but no status.
        if let Some((seq, failed)) = counts
            && (self.page.is_none() || failed && self.page == Some(false))
        {
            decided.push(&(!seq).to_be_bytes())?;
        }
        // What waits untested may have been visited, or wait twice.
        if let Some(place) = self.parked.filter(|_| self.page.is_none()) {
            waiting.push(&place.to_be_bytes())?;
        }
        Ok(())
    }
}

/// The decisions that count, from the ledger's end.
pub(super) struct LedgerSkips<'a> {
    view: &'a View,
    ids: HostIds,
    decided: Sorted,
    /// The value of the ledger that was read last, by its first number.
    block: (u64, Vec<Decision>),
}

impl LedgerSkips<'_> {
    fn decision(&mut self, seq: u64) -> Result<Option<Decision>, ViewError> {
        let (first, known) = &self.block;
        if seq < *first || seq - first >= known.len() as u64 {
            let Some(pair) = self.view.store().floor(Tree::Ledger, &seq.to_be_bytes())? else {
                return Ok(None);
            };
            self.block = decisions(&pair)?;
        }
        let place = usize::try_from(seq - self.block.0).unwrap_or(usize::MAX);
        Ok(self.block.1.get(place).cloned())
    }

    fn row(&mut self, seq: u64) -> Result<Option<SkippedRow>, ViewError> {
        let Some(decision) = self.decision(seq)? else { return Ok(None) };
        // Refused from one place, and taken from another.
        if decision.decision == Decided::SitemapRefused
            && let Ok(url) = CrawlUrl::parse(&decision.url)
            && let Some(host) = self.ids.of(self.view.store(), self.view.key(), &url)?
        {
            let key = link_key(host, url.fingerprint(self.view.key()));
            if self.view.store().get(Tree::Sitemaps, &key)?.is_some() {
                return Ok(None);
            }
        }
        Ok(Some(skipped_row(decision)))
    }
}

impl Iterator for LedgerSkips<'_> {
    type Item = Result<SkippedRow, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let row = match self.decided.next()? {
                Ok(record) => self.row(!sorter::number(&record, 0, 8)),
                Err(error) => Err(error.into()),
            };
            if let Some(row) = row.transpose() {
                return Some(row);
            }
        }
    }
}

/// What kind of link a word stands for, where it is evidence of a skip; of another text the text itself.
pub(super) fn evidence_in_words(evidence: &str) -> &str {
    LinkKind::of_name(evidence).map_or(evidence, |kind| kind.in_words())
}

fn skipped_row(decision: Decision) -> SkippedRow {
    SkippedRow {
        url: decision.url,
        reason: decision.reason,
        detail: (!decision.evidence.is_empty())
            .then(|| evidence_in_words(&decision.evidence.to_string()).to_owned()),
        via: decision.via,
        at: Some(Moment(decision.at)),
        layer: decision.layer,
        host: decision.host,
    }
}

/// The URLs that are queued for skipped hosts.
pub(super) struct ParkedUrls<'a> {
    view: &'a View,
    queue: StoredQueue<'a, AnyStore>,
    parked_at: HashMap<String, Timestamp>,
    urls: PageUrls,
    /// The places of those that count, in order.
    waiting: Sorted,
    next: Option<u64>,
    place: u64,
}

impl ParkedUrls<'_> {
    fn row(&mut self, stored: &StoredUrl) -> Result<Option<SkippedRow>, ViewError> {
        let host = &stored.host.host;
        let Some(parked) = &stored.host.parked else { return Ok(None) };
        let place = self.place;
        self.place += 1;
        if self.next.is_none_or(|next| next < place) {
            self.next = self.waiting.next().transpose()?.map(|record| sorter::number(&record, 0, 8));
        }
        if self.next != Some(place) {
            return Ok(None);
        }
        let url = stored.url.url(host).map_err(|error| ViewError::record(Tree::Queue, error))?;
        Ok(Some(SkippedRow {
            url: url.to_string(),
            reason: PlainReason::Parked.into(),
            detail: Some(parked.clone()),
            via: self.urls.of(self.view, stored.url.via)?,
            at: self.parked_at.get(host).copied().map(Moment),
            layer: Layer::Limit,
            host: host.clone(),
        }))
    }
}

impl Iterator for ParkedUrls<'_> {
    type Item = Result<SkippedRow, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let row = match self.queue.next()? {
                Ok(stored) => self.row(&stored),
                Err(error) => Err(error.into()),
            };
            if let Some(row) = row.transpose() {
                return Some(row);
            }
        }
    }
}
