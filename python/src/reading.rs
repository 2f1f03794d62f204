//! One pass over a table, on a thread of its own: rows borrow their view, and are asked for by whatever thread Python, or an Arrow reader, has.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crawler::live::Copies;
use crawler::view::{Rows, View, ViewError};

use crate::request::{Request, SharedView};

/// How long a wait for the next batch takes before signals are looked at.
const PATIENCE: Duration = Duration::from_millis(100);

/// Gives what a mutex holds, also where a thread panicked meanwhile: each change of it is a single assignment.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A crawl that is open for several readings at a time.
pub(crate) struct Opened {
    root: PathBuf,
    /// The process that opened it: a fork of it has none of the database's threads.
    process: u32,
    is_closed: AtomicBool,
    view: Mutex<Option<SharedView>>,
    readings: Mutex<Vec<Weak<dyn Stop>>>,
    running: Mutex<usize>,
    ended: Condvar,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Says why a reading gives nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The crawl can't be read.
    View(ViewError),
    /// In words.
    Other(String),
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        Self::View(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::View(error) => f.write_str(&error.message()),
            Self::Other(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Failure {}

impl Opened {
    /// Opens the crawl in `root`, and locks the directory; if it can't be written, its database is copied.
    pub(crate) fn open(root: &Path, copies: &Copies) -> Result<Self, ViewError> {
        let view = View::open_with(root, copies)?;
        Ok(Self {
            root: root.to_owned(),
            process: std::process::id(),
            is_closed: AtomicBool::new(false),
            view: Mutex::new(Some(view)),
            readings: Mutex::default(),
            running: Mutex::default(),
            ended: Condvar::new(),
        })
    }

    /// The directory as it was named.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A view for one reader.
    pub(crate) fn view(&self) -> Result<SharedView, Failure> {
        if self.is_of_other_process() {
            let what = "was opened by another process; open it in this one";
            return Err(Failure::Other(format!("{} {what}", self.root.display())));
        }
        match &*lock(&self.view) {
            Some(view) => Ok(view.another()?),
            None => Err(self.closed()),
        }
    }

    fn is_of_other_process(&self) -> bool {
        self.process != std::process::id()
    }

    fn closed(&self) -> Failure {
        Failure::Other(format!("{} is closed; open it again by Crawl(...)", self.root.display()))
    }

    /// Gives an error where the crawl was closed.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.is_closed.load(Ordering::Acquire) { Err(self.closed()) } else { Ok(()) }
    }

    /// Ends all readings and unlocks the directory. A reading that sorts its rows is waited for.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let view = lock(&self.view).take();
        for reading in lock(&self.readings).drain(..).filter_map(|reading| reading.upgrade()) {
            reading.stop();
        }
        if self.is_of_other_process() {
            // What the database does when it is dropped needs its threads.
            std::mem::forget(view);
            return;
        }
        drop(view);
        let mut running = lock(&self.running);
        while *running > 0 {
            running = self.ended.wait(running).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if self.is_of_other_process() {
            std::mem::forget(lock(&self.view).take());
        }
    }
}

/// Counts a reading as running until it is dropped.
struct Running(Arc<Opened>);

impl Running {
    fn new(opened: &Arc<Opened>) -> Self {
        *lock(&opened.running) += 1;
        Self(Arc::clone(opened))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        *lock(&self.0.running) -= 1;
        self.0.ended.notify_all();
    }
}

/// A reading that can be ended.
trait Stop: Send + Sync {
    fn stop(&self);
}

enum Message<T> {
    Batch(T),
    End,
    Failed(Failure),
}

/// Where a reading hands over its batches. It waits while one of them hasn't been taken.
pub(crate) struct Out<T>(SyncSender<Message<T>>);

impl<T> Out<T> {
    /// Hands a batch over; false where nobody wants more.
    pub(crate) fn send(&self, batch: T) -> bool {
        self.0.send(Message::Batch(batch)).is_ok()
    }
}

/// One pass over a table. Memory: the batch that is made, one that waits, and what sorting takes.
pub(crate) struct Reading<T> {
    opened: Arc<Opened>,
    /// None when it has ended.
    batches: Mutex<Option<Receiver<Message<T>>>>,
}

impl<T> fmt::Debug for Reading<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("opened", &self.opened).finish_non_exhaustive()
    }
}

impl<T: Send> Stop for Reading<T> {
    fn stop(&self) {
        // The thread that reads finds that nobody wants more.
        *lock(&self.batches) = None;
    }
}

impl<T: Send + 'static> Reading<T> {
    /// Starts a pass: `batches` makes batches of the rows and hands them over.
    pub(crate) fn start(
        opened: &Arc<Opened>,
        request: Request,
        batches: impl FnOnce(Rows<'_>, &Out<T>) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Arc<Self>, Failure> {
        let (out, receiver) = sync_channel(1);
        let reading = Arc::new(Self { opened: Arc::clone(opened), batches: Mutex::new(Some(receiver)) });
        // Counted and listed before there is a view, so that whoever closes the crawl ends this reading too.
        let running = Running::new(opened);
        {
            let mut readings = lock(&opened.readings);
            readings.retain(|reading| reading.strong_count() > 0);
            let stop: Arc<dyn Stop> = reading.clone();
            readings.push(Arc::downgrade(&stop));
        }
        let view = request.prepare(opened.view()?);
        let read = move || {
            let out = Out(out);
            let result = request.rows(&view).map_err(Failure::from).and_then(|rows| batches(rows, &out));
            // Before the end is reported, so that the directory is unlocked when the last reading has ended.
            drop(view);
            drop(running);
            // Where nobody wants it, nobody misses it.
            drop(out.0.send(result.map_or_else(Message::Failed, |()| Message::End)));
        };
        let thread = std::thread::Builder::new().name("crawl-reader".to_owned()).spawn(read);
        thread.map_err(|error| Failure::Other(format!("no thread can be started: {error}")))?;
        Ok(reading)
    }

    /// Gives an error where the crawl was closed: what is still in hand counts no more.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.opened.check()
    }

    /// The next batch, or none at the end. `check` is asked now and then whether to go on waiting.
    #[expect(clippy::disallowed_methods, reason = "Python waits, and may interrupt")]
    pub(crate) fn next<E: From<Failure>>(
        &self,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<Option<T>, E> {
        loop {
            let mut batches = lock(&self.batches);
            let Some(receiver) = &*batches else {
                return self.opened.check().map(|()| None).map_err(Into::into);
            };
            match receiver.recv_timeout(PATIENCE) {
                Ok(Message::Batch(batch)) => return Ok(Some(batch)),
                Ok(Message::End) => {
                    *batches = None;
                    return Ok(None);
                }
                Ok(Message::Failed(error)) => {
                    *batches = None;
                    return Err(error.into());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    *batches = None;
                    return Err(Failure::Other("the thread that reads failed unexpectedly".to_owned()).into());
                }
                Err(RecvTimeoutError::Timeout) => {
                    drop(batches);
                    check()?;
                }
            }
        }
    }
}
