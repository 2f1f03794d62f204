//! Requests that are in flight, each noted before it is sent.
//!
//! A request is entered in the ledger when it has ended. A process that is killed before leaves no entry, although the server has seen the request and
//! may still work on it. So the intent to send it is written to a file first, one slot for each request in flight; the file isn't synced, since the
//! system's copy of it survives the process. A slot can be reused once the entry of its request is committed; until it is overwritten its content stays.
//! An intent is open if the database has no more requests of its host than [`Intent::number`]. That is reliable because a host has one request in
//! flight, and isn't asked again before the last one is committed.
//!
//! A worker of a cluster has such a file for each of its numbers. Its partitions go to others when it dies, so it erases each intent whose request is
//! on record: what remains is handed to whoever has the partition when the worker is started again.

use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::nofollow;
use crate::pace::{Delay, DelayReason};
use crate::store::StoreError;
use page::clock::Boot;
use page::url::CrawlUrl;

/// The file's name in the output directory. That of a worker has a dot and the worker's number after it.
pub const FILE: &str = "in-flight";

/// How the file begins: its form, and the bytes of a slot, big-endian. The slots follow, from the first multiple of their size on.
const FORM: &[u8; 12] = b"in-flight 1\n";

/// Header of a slot: the length of the intent (u32) and the first eight bytes of its BLAKE3 hash.
const HEAD: usize = 4 + 8;

/// Slots at most, written and read. More requests are never in flight.
const MOST: u64 = 65_536;

/// Bytes of a slot: at most, and a multiple of the unit in which the system keeps a file.
const LARGEST: usize = 128 << 10;
const UNIT: usize = 4_096;

/// Bytes of intents that are read from a file, which somebody else may have made.
const MOST_BYTES: usize = 64 << 20;

/// The longest `fetch.timeout` that is believed, since a host waits for so long.
const LONGEST: Duration = Duration::from_hours(24);

/// What an intent takes beside its URL: names of two hosts, and numbers.
const BESIDE_URL: usize = 1_024;

/// What a request is for, as far as its entry in the ledger depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Aim {
    /// A page, a resource or a sitemap.
    Url,
    /// The robots.txt of the URL's own origin.
    Robots,
    /// A hop of the robots.txt of this origin.
    RobotsOf(String),
    /// A file in which the site speaks of the uses of its pages.
    SiteFile,
}

/// A request that is about to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The number of the crawl's run.
    pub run: u64,
    /// How many requests to the host were on record.
    pub number: u64,
    /// Name of the host that is asked, without a port.
    pub host: String,
    /// The URL as it was requested, with scheme and query.
    pub url: String,
    /// Which kind of file the request is for.
    pub aim: Aim,
    /// When, in microseconds since 1970, UTC.
    pub started_us: i64,
    /// When, in microseconds since the run began.
    pub clock_us: u64,
    /// When, on the machine's own clock.
    pub boot: Option<Boot>,
    /// How long it may take: `fetch.timeout`, in milliseconds.
    pub timeout_ms: u64,
    /// The delay that it waited for, in microseconds.
    pub gap_us: u64,
    /// What set that delay.
    pub gap_why: DelayReason,
    /// The address that the request goes to, if hosts of one address take turns (`--per-ip`).
    pub address: Option<IpAddr>,
}

impl Intent {
    /// How long it may take, a day at most.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms).min(LONGEST)
    }

    /// For how long from now the request may still be in flight. As long as it may take, if it is unknown how much time has passed.
    pub fn remaining(&self, now: Option<Boot>) -> Duration {
        let passed = now.and_then(|now| now.since(self.boot)).unwrap_or_default();
        self.timeout().saturating_sub(passed)
    }

    /// Whether this program can have written it: somebody else may have made the file.
    fn is_sound(&self) -> bool {
        let is_of_host = |url: CrawlUrl| url.host() == self.host || matches!(self.aim, Aim::RobotsOf(_));
        CrawlUrl::parse(&self.url).is_ok_and(is_of_host)
    }

    /// When it was sent.
    pub fn started(&self) -> Timestamp {
        Timestamp::from_microsecond(self.started_us).unwrap_or_default()
    }

    /// The same, since its run began.
    pub fn clock(&self) -> Duration {
        Duration::from_micros(self.clock_us)
    }

    /// The delay that it waited for.
    pub fn gap(&self) -> Delay {
        Delay { length: Duration::from_micros(self.gap_us), why: self.gap_why }
    }
}

/// The file of a crawl's requests in flight.
#[derive(Debug)]
pub struct Intents {
    path: PathBuf,
    timeout: Duration,
    /// Bytes of a slot.
    slot: usize,
    /// Slots are erased once their requests are on record.
    erases: bool,
    places: Mutex<Places>,
    /// It was reported that intents can't be written.
    is_reported: AtomicBool,
}

#[derive(Debug, Default)]
struct Places {
    /// Made with the first request of this process.
    file: Option<File>,
    free: Vec<u64>,
    count: u64,
    /// Requests whose visits ended without an outcome.
    aborted: Vec<Intent>,
}

impl Intents {
    /// The file of an output directory. Nothing of it is read ([`left`] does that), and it is made, or made again, with the first request. `timeout` is
    /// how long a request may take, `url` how long a URL may be, in bytes.
    pub fn new(root: &Path, timeout: Duration, url: usize) -> Self {
        Self::at(root.join(FILE), timeout, url)
    }

    /// The file of a worker with this number. It is made at once: that there is one says that the worker's requests in flight are known here.
    ///
    /// # Errors
    /// The file can't be made.
    #[cfg(feature = "cluster")]
    pub(crate) fn of_worker(root: &Path, worker: i64, timeout: Duration, url: usize) -> io::Result<Self> {
        let path = root.join(format!("{FILE}.{worker}"));
        let intents = Self { erases: true, ..Self::at(path, timeout, url) };
        intents.lock().file = Some(create(&intents.path, intents.slot)?);
        Ok(intents)
    }

    fn at(path: PathBuf, timeout: Duration, url: usize) -> Self {
        let slot = (HEAD + url + BESIDE_URL).next_multiple_of(UNIT).min(LARGEST);
        let (places, is_reported) = (Mutex::default(), AtomicBool::new(false));
        Self { path, timeout, slot, erases: false, places, is_reported }
    }

    /// How long a request may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Takes the intent of a visit to this host that ended without an outcome in this run.
    pub fn take_aborted_of(&self, host: &str, run: u64) -> Option<Intent> {
        let mut places = self.lock();
        let at = places.aborted.iter().position(|intent| intent.host == host && intent.run == run)?;
        Some(places.aborted.swap_remove(at))
    }

    /// Removes the file: all requests are on record.
    pub fn finish(&self) {
        let mut places = self.lock();
        *places = Places::default();
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, "the intents of requests that are on record can't be dropped");
        }
    }

    /// Writes an intent to a free slot, and returns its number.
    fn write(&self, intent: &Intent) -> io::Result<u64> {
        let bytes = self.encode(intent)?;
        let mut places = self.lock();
        if places.file.is_none() {
            // What it holds of earlier processes was put on record before the first request of this one.
            places.file = Some(create(&self.path, self.slot)?);
        }
        let slot = match places.free.pop() {
            Some(slot) => slot,
            None if places.count >= MOST => return Err(io::Error::other("too many requests in flight")),
            None => {
                places.count += 1;
                places.count - 1
            }
        };
        let written = match &places.file {
            Some(file) => file.write_all_at(&bytes, self.place_of(slot)),
            None => Ok(()),
        };
        if written.is_err() {
            places.free.push(slot);
        }
        written.map(|()| slot)
    }

    fn encode(&self, intent: &Intent) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; HEAD];
        bytes = postcard::to_extend(intent, bytes).map_err(io::Error::other)?;
        if bytes.len() > self.slot {
            let over = bytes.len() - self.slot + 8;
            let mut cut = intent.clone();
            let end = cut.url.floor_char_boundary(cut.url.len().saturating_sub(over));
            cut.url.truncate(end);
            bytes.truncate(HEAD);
            bytes = postcard::to_extend(&cut, bytes).map_err(io::Error::other)?;
        }
        let length = u32::try_from(bytes.len() - HEAD).map_err(io::Error::other)?;
        let check = check_of(&bytes[HEAD..]);
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        bytes[4..HEAD].copy_from_slice(&check);
        if bytes.len() > self.slot {
            return Err(io::Error::other("the names of its hosts are too long"));
        }
        Ok(bytes)
    }

    /// Overwrites a slot so that the next process finds no intent in it.
    fn erase(&self, slot: u64) {
        let mut places = self.lock();
        if let Some(file) = &places.file
            && let Err(error) = file.write_all_at(&[0; HEAD], self.place_of(slot))
        {
            tracing::warn!(%error, "the intent of a request that isn't in flight can't be dropped");
        }
        places.free.push(slot);
    }

    fn place_of(&self, slot: u64) -> u64 {
        (slot + 1) * self.slot as u64
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where one visit notes its request. Dropped without [`Place::settle`] or [`Place::erase`], the intent remains open.
#[derive(Debug)]
pub struct Place {
    intents: Arc<Intents>,
    run: u64,
    noted: OnceLock<(u64, Intent)>,
}

impl Place {
    /// For a visit of this run.
    pub fn new(intents: &Arc<Intents>, run: u64) -> Self {
        Self { intents: Arc::clone(intents), run, noted: OnceLock::new() }
    }

    /// The number of the run.
    pub fn run(&self) -> u64 {
        self.run
    }

    /// How long the request may take.
    pub fn timeout(&self) -> Duration {
        self.intents.timeout
    }

    /// Notes the visit's request, which is to be sent now. Where that fails it is reported once. Cost: one small write to the system's copy of the file.
    pub fn note(&self, intent: Intent) {
        match self.intents.write(&intent) {
            Ok(slot) => drop(self.noted.set((slot, intent))),
            Err(error) => {
                if !self.intents.is_reported.swap(true, Ordering::Relaxed) {
                    let file = self.intents.path.display();
                    tracing::warn!(%error, %file, "can't record requests before they are sent; if this process is killed, requests in flight will be missing from the ledger");
                }
            }
        }
    }

    /// The entry of the request is committed.
    pub fn settle(mut self) {
        match self.noted.take() {
            Some((slot, _)) if self.intents.erases => self.intents.erase(slot),
            Some((slot, _)) => self.intents.lock().free.push(slot),
            None => {}
        }
    }

    /// No request was sent.
    pub fn erase(mut self) {
        if let Some((slot, _)) = self.noted.take() {
            self.intents.erase(slot);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((_, intent)) = self.noted.take() {
            self.intents.lock().aborted.push(intent);
        }
    }
}

/// Returns what the file of an output directory holds, also intents whose requests are on record.
///
/// # Errors
/// The file can't be read.
pub fn left(root: &Path) -> Result<Vec<Intent>, StoreError> {
    left_in(&root.join(FILE))
}

/// The same of the file at this path.
pub(crate) fn left_in(path: &Path) -> Result<Vec<Intent>, StoreError> {
    read(path).map_err(|source| StoreError::Io { path: path.to_owned(), source })
}

/// The files of workers in a directory, with the numbers of these.
///
/// # Errors
/// The directory can't be read.
#[cfg(feature = "cluster")]
pub(crate) fn files_of_workers(root: &Path) -> io::Result<Vec<(i64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix(FILE)?.strip_prefix('.')?.parse().ok());
        found.extend(number.map(|number| (number, entry.path())));
    }
    found.sort_unstable();
    Ok(found)
}

/// Writes the file of a repaired crawl: these requests aren't on record.
///
/// # Errors
/// The file can't be written.
pub fn carry_over(open: &[Intent], root: &Path) -> io::Result<()> {
    let url = open.iter().map(|intent| intent.url.len()).max().unwrap_or_default();
    let intents = Intents::new(root, Duration::ZERO, url);
    open.iter().try_for_each(|intent| intents.write(intent).map(drop))
}

/// Makes the file, or makes it again, for slots of this size. Never through a link.
fn create(path: &Path, slot: usize) -> io::Result<File> {
    let file = nofollow::create(path)?;
    let size = u32::try_from(slot).map_err(io::Error::other)?;
    file.write_all_at(&[&FORM[..], &size.to_be_bytes()].concat(), 0)?;
    Ok(file)
}

/// What a file holds, as far as it is whole.
fn read(path: &Path) -> io::Result<Vec<Intent>> {
    let file = match nofollow::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut head = [0; FORM.len() + 4];
    let length = file.metadata()?.len();
    let damaged = || {
        tracing::warn!(
            "{} is damaged: requests that were in flight when the crawl was killed may be missing from the ledger",
            path.display()
        );
    };
    if length < head.len() as u64 {
        // A process that is killed while it makes the file has sent no request.
        if length > 0 {
            damaged();
        }
        return Ok(Vec::new());
    }
    file.read_exact_at(&mut head, 0)?;
    let (form, size) = head.split_at(FORM.len());
    let slot = size.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
    if form != FORM || !(HEAD..=LARGEST).contains(&slot) {
        damaged();
        return Ok(Vec::new());
    }
    let (mut intents, mut taken, mut is_whole) = (Vec::new(), 0, true);
    for number in 1..=MOST {
        let at = number * slot as u64;
        let mut head = [0; HEAD];
        if at + HEAD as u64 > length || taken > MOST_BYTES {
            break;
        }
        file.read_exact_at(&mut head, at)?;
        let (size, check) = head.split_at(4);
        let size = size.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
        if size == 0 {
            continue;
        }
        if size > slot - HEAD || at + (HEAD + size) as u64 > length {
            is_whole = false;
            continue;
        }
        let mut bytes = vec![0; size];
        file.read_exact_at(&mut bytes, at + HEAD as u64)?;
        if check_of(&bytes) == check
            && let Ok(intent) = postcard::from_bytes::<Intent>(&bytes)
            && intent.is_sound()
        {
            taken += size;
            intents.push(intent);
        } else {
            is_whole = false;
        }
    }
    if !is_whole {
        damaged();
    }
    Ok(intents)
}

fn check_of(bytes: &[u8]) -> [u8; 8] {
    blake3::hash(bytes).as_bytes().first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(host: &str, number: u64) -> Intent {
        Intent {
            run: 3,
            number,
            host: host.to_owned(),
            url: format!("http://{host}/{number}"),
            aim: Aim::RobotsOf("https://b.test".to_owned()),
            started_us: 1_767_225_600_000_001,
            clock_us: 4_000_002,
            boot: Some(Boot { id: 7, ms: 100_000 }),
            timeout_ms: 30_000,
            gap_us: 1_000_000,
            gap_why: DelayReason::CrawlDelay,
            address: Some([192, 0, 2, 1].into()),
        }
    }

    fn open(root: &Path) -> (Arc<Intents>, Vec<Intent>) {
        (Arc::new(Intents::new(root, Duration::from_secs(30), 2_083)), super::left(root).unwrap())
    }

    /// The URLs that a process finds which is started now.
    fn left(root: &Path) -> Vec<String> {
        let mut left: Vec<_> = open(root).1.into_iter().map(|intent| intent.url).collect();
        left.sort_unstable();
        left
    }

    #[test]
    fn what_is_noted_is_found_by_the_next_process() {
        let top = tempfile::tempdir().unwrap();
        let (intents, none) = open(top.path());
        assert!(none.is_empty() && !top.path().join(FILE).exists());
        let (first, second) = (Place::new(&intents, 3), Place::new(&intents, 3));
        first.note(intent("a.test", 0));
        second.note(intent("b.test", 5));
        let (_, mut found) = open(top.path());
        found.sort_by_key(|intent| intent.number);
        assert_eq!(found, [intent("a.test", 0), intent("b.test", 5)]);
        // A slot is another request's once its own is on record, and not before.
        let third = Place::new(&intents, 3);
        third.note(intent("c.test", 1));
        first.settle();
        let fourth = Place::new(&intents, 3);
        fourth.note(intent("d.test", 2));
        assert_eq!(left(top.path()), ["http://b.test/5", "http://c.test/1", "http://d.test/2"]);
        // What wasn't sent leaves nothing.
        fourth.erase();
        assert_eq!(left(top.path()), ["http://b.test/5", "http://c.test/1"]);
        // A visit that is aborted leaves it, also for this process.
        drop(second);
        assert_eq!(intents.take_aborted_of("a.test", 3), None);
        assert_eq!(intents.take_aborted_of("b.test", 4), None, "of another run");
        assert_eq!(intents.take_aborted_of("b.test", 3), Some(intent("b.test", 5)));
        assert_eq!(intents.take_aborted_of("b.test", 3), None);
        assert_eq!(left(top.path()), ["http://b.test/5", "http://c.test/1"]);
        third.settle();
        intents.finish();
        assert!(!top.path().join(FILE).exists());
    }

    #[test]
    fn the_first_request_of_a_process_drops_what_others_left() {
        let top = tempfile::tempdir().unwrap();
        let place = Place::new(&open(top.path()).0, 1);
        place.note(intent("a.test", 0));
        std::mem::forget(place);
        let (intents, found) = open(top.path());
        assert_eq!(found.len(), 1);
        assert_eq!(left(top.path()).len(), 1, "it is still to be put on record");
        let place = Place::new(&intents, 2);
        place.note(intent("b.test", 0));
        assert_eq!(left(top.path()), ["http://b.test/0"]);
    }

    #[test]
    fn a_request_may_be_in_flight_for_as_long_as_it_may_take() {
        let intent = intent("a.test", 0);
        let at = |id, ms| intent.remaining(Some(Boot { id, ms })).as_millis();
        let tick = 10;
        assert_eq!([at(7, 100_000), at(7, 112_000), at(7, 131_000)], [30_000, 18_000 + tick, 0]);
        assert_eq!(
            [at(8, 131_000), at(7, 99_000)],
            [30_000, 30_000],
            "the machine was started again, or isn't the same"
        );
        assert_eq!(intent.remaining(None), Duration::from_secs(30));
    }

    #[test]
    fn files_that_are_damaged_or_no_files_of_intents_are_read_as_far_as_they_go() {
        let top = tempfile::tempdir().unwrap();
        let file = top.path().join(FILE);
        let (intents, _) = open(top.path());
        let places = [Place::new(&intents, 3), Place::new(&intents, 3)];
        for (number, place) in (0..).zip(&places) {
            place.note(intent("a.test", number));
        }
        let whole = fs::read(&file).unwrap();
        let slot = 4_096;
        let with = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] ^= byte;
            bytes
        };
        let both = vec!["http://a.test/0", "http://a.test/1"];
        for (bytes, expected) in [
            (whole.clone(), both.clone()),
            (whole[..whole.len() - 1].to_vec(), both[..1].to_vec()),
            (whole[..slot + 5].to_vec(), vec![]),
            (with(slot, 0xff), both[1..].to_vec()),
            (with(slot + HEAD + 3, 1), both[1..].to_vec()),
            (with(2 * slot + 5, 1), both[..1].to_vec()),
            (with(0, 1), vec![]),
            (with(FORM.len(), 0xff), vec![]),
            (vec![0; 3 * slot], vec![]),
            (b"in-fl".to_vec(), vec![]),
        ] {
            fs::write(&file, bytes).unwrap();
            assert_eq!(left(top.path()), expected);
        }
        // Nor is a link followed.
        fs::remove_file(&file).unwrap();
        fs::write(top.path().join("elsewhere"), &whole).unwrap();
        std::os::unix::fs::symlink(top.path().join("elsewhere"), &file).unwrap();
        assert!(super::left(top.path()).is_err());
        Place::new(&intents, 4).note(intent("b.test", 9));
        assert_eq!(fs::read(top.path().join("elsewhere")).unwrap(), whole);
    }

    #[test]
    #[cfg(feature = "cluster")]
    fn the_file_of_a_worker_has_what_is_not_on_record_and_nothing_else() {
        let top = tempfile::tempdir().unwrap();
        let of = |worker| Intents::of_worker(top.path(), worker, Duration::from_secs(30), 2_083).unwrap();
        let (seven, _eight) = (Arc::new(of(7)), of(8));
        let places = [0, 1].map(|_| Place::new(&seven, 3));
        for (number, place) in (0..).zip(&places) {
            place.note(intent("a.test", number));
        }
        let [first, second] = places;
        first.settle();
        drop(second);
        fs::write(top.path().join("in-flight.x"), "").unwrap();
        let files = files_of_workers(top.path()).unwrap();
        assert_eq!(files.iter().map(|(worker, _)| *worker).collect::<Vec<_>>(), [7, 8]);
        assert_eq!(left_in(&files[0].1).unwrap(), [intent("a.test", 1)]);
        assert_eq!(left_in(&files[1].1).unwrap(), []);
    }

    #[test]
    fn a_url_that_fits_no_slot_is_cut() {
        let top = tempfile::tempdir().unwrap();
        let (intents, _) = open(top.path());
        let long = Intent { url: format!("http://a.test/{}", "ä".repeat(5_000)), ..intent("a.test", 0) };
        let place = Place::new(&intents, 3);
        place.note(long.clone());
        let (_, found) = open(top.path());
        assert_eq!(found.len(), 1);
        assert!(long.url.starts_with(&found[0].url) && found[0].url.len() > 3_000);
        assert_eq!(Intent { url: String::new(), ..found[0].clone() }, Intent { url: String::new(), ..long });
    }
}
