//! Table `pages` in the order of exports, by several threads: one reads values of the database, others make rows of their records and sort them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::Table;
use super::lookup::PageUrls;
use super::open::{View, ViewError};
use super::row::Column;
use super::row_sorter::{RowSorter, write_key};
use super::rows::{Rows, give_with_fields, with_fields};
use super::widening::Widening;
use crate::page_store::{self, PageBlock};
use crate::record::PageRecord;

/// Threads that make rows at most: each holds 16 MB of them.
const MOST_THREADS: usize = 4;

/// Bytes of values of the database that a thread takes at a time.
const BATCH: usize = 32 << 10;

/// Bits of a page's number; above them is that of its crawl.
const NUMBER_BITS: u32 = 40;

/// The rows of table `pages` of crawls, each with what brings its rows under these columns: by host, then URL, then crawl, then as stored.
/// Memory: 16 MB a thread. The first error in the order of the database ends it, or one that a thread met before that.
pub(super) fn sorted_pages<'a>(
    crawls: &[(&'a View, Option<Widening>)],
    columns: Vec<Column>,
) -> Result<Rows<'a>, ViewError> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let mut sorters: Vec<RowSorter> = crawls
        .iter()
        .take(1)
        .flat_map(|(view, _)| (0..threads).map(|_| RowSorter::new(view.sorter())))
        .collect();
    for (crawl, (view, widening)) in (0..).zip(crawls) {
        read(view, crawl, widening.as_ref(), &mut sorters)?;
    }
    let Some(mut all) = sorters.pop() else { return Ok(Rows::none()) };
    for sorter in sorters {
        all.take_all(sorter)?;
    }
    Ok(Rows::sorted(Table::Pages, columns, all.sorted()?))
}

/// Reads the pages of a crawl into sorters, one a thread.
fn read(
    view: &View,
    crawl: u64,
    widening: Option<&Widening>,
    sorters: &mut [RowSorter],
) -> Result<(), ViewError> {
    let maker = Maker {
        view,
        place: crawl << NUMBER_BITS,
        widening,
        fields: view.extracted()?,
        urls: PageUrls::default(),
        is_over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let (send, batches) = sync_channel::<Vec<PageBlock>>(2 * sorters.len());
        let batches = Arc::new(Mutex::new(batches));
        let mut threads = Vec::with_capacity(sorters.len());
        for sorter in sorters {
            let (maker, batches) = (&maker, Arc::clone(&batches));
            let work = move || {
                let made = maker.make(&batches, sorter);
                if made.is_err() {
                    maker.is_over.store(true, Ordering::Relaxed);
                }
                made
            };
            threads.push(thread::Builder::new().name("pages".to_owned()).spawn_scoped(scope, work)?);
        }
        // Where all threads have ended, nobody takes a batch any more.
        drop(batches);
        let mut result = Ok(());
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for block in page_store::scan_blocks(view.store()) {
            match block {
                Ok(block) => {
                    bytes += block.bytes();
                    batch.push(block);
                }
                Err(error) => {
                    result = Err(error.into());
                    break;
                }
            }
            if bytes >= BATCH {
                bytes = 0;
                if maker.is_over.load(Ordering::Relaxed) || send.send(std::mem::take(&mut batch)).is_err() {
                    break;
                }
            }
        }
        // An error of this is one of the threads, which they tell themselves.
        drop(send.send(batch));
        drop(send);
        for thread in threads {
            match thread.join() {
                Ok(made) => result = made.and(result),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        result
    })
}

/// Makes rows of the pages of a crawl.
struct Maker<'a> {
    view: &'a View,
    /// What is added to the number of a page.
    place: u64,
    widening: Option<&'a Widening>,
    fields: Vec<(String, bool)>,
    urls: PageUrls,
    /// A thread has failed.
    is_over: AtomicBool,
}

impl Maker<'_> {
    fn make(
        &self,
        batches: &Mutex<Receiver<Vec<PageBlock>>>,
        sorter: &mut RowSorter,
    ) -> Result<(), ViewError> {
        let mut key = Vec::new();
        loop {
            let next = batches.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(batch) = next else { return Ok(()) };
            for block in batch {
                block.each_record(|number, record| self.push(record, number, &mut key, sorter))?;
            }
        }
    }

    /// Makes the row of a page and gives it to a sorter.
    fn push(
        &self,
        record: PageRecord,
        number: u64,
        key: &mut Vec<u8>,
        sorter: &mut RowSorter,
    ) -> Result<(), ViewError> {
        let record = self.view.shown(record);
        let Some(row) = self.view.row_of_page(record, &self.urls)? else { return Ok(()) };
        write_key(key, &row.url, &row.url);
        let place = self.place + number;
        match self.widening {
            Some(widening) => {
                let row = widening.of(with_fields(row, &self.fields));
                sorter.push_at(key, place, |take| row.iter().for_each(|value| take(value.into())))
            }
            None => sorter.push_at(key, place, |take| give_with_fields(&row, &self.fields, take)),
        }
    }
}
