//! The text of PDF files, read in a process of its own: whatever a file does to the reader, it costs that file's text alone.
//!
//! The process is this program, called with [`PDF_ARGUMENT`]. It gets the file as its standard input, may take 10 s of processor
//! time, 64 MiB of heap and 8 MiB of stack, and may open no file and write none: the kernel ends it beyond that. It yields to every other
//! process, and ends with the thread that waits for it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::record::UnreadText;
use page::extract::{MainText, lines};

/// The only argument of the process that reads a PDF file.
pub const PDF_ARGUMENT: &str = "__read-pdf";

/// Processor time of one file, in seconds.
#[cfg(all(feature = "pdf", target_os = "linux"))]
const SECONDS: u64 = 10;

/// Heap of the process that reads one file, in bytes. With its stack and the pages of the program itself it takes less than 96 MB.
#[cfg(all(feature = "pdf", target_os = "linux"))]
const HEAP: u64 = 64 << 20;

/// Stack of the process, in bytes.
#[cfg(all(feature = "pdf", target_os = "linux"))]
const STACK: u64 = 8 << 20;

/// Address space of the process, in bytes: the program and its libraries are among it.
#[cfg(all(feature = "pdf", target_os = "linux"))]
const ADDRESSES: u64 = 512 << 20;

/// By how much the process yields to others.
#[cfg(all(feature = "pdf", target_os = "linux"))]
const NICE: i32 = 10;

/// The settings of the allocator in that process: one heap, which keeps nothing that isn't in use.
const ALLOCATOR: (&str, &str) =
    ("_RJEM_MALLOC_CONF", "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0,retain:false");

/// Whether this process is the program that reads a file with [`PDF_ARGUMENT`].
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Says that this process is the program `crawl`: without that no PDF file is read, since nobody knows what another program does with
/// [`PDF_ARGUMENT`].
pub fn may_read_pdf() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// Why a file has no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotRead {
    /// The file is to blame.
    Unread(UnreadText),
    /// Reading was stopped, or could not begin.
    Stopped,
}

/// The running reader process; lets another thread kill it.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// A process that isn't waited for yet: its number is its own.
    process: Option<Pid>,
    is_stopped: bool,
}

impl Running {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the process, and lets no other one begin.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.is_stopped = true;
        if let Some(process) = state.process {
            // One that has ended by itself needs no end.
            let _over = kill_process(process, Signal::KILL);
        }
    }

    /// Starts a process, unless reading was stopped.
    fn start(&self, command: &mut Command) -> io::Result<Option<Child>> {
        let mut state = self.state();
        if state.is_stopped {
            return Ok(None);
        }
        let child = command.spawn()?;
        state.process = Some(Pid::from_child(&child));
        Ok(Some(child))
    }

    /// Waits for the end of the process. Returns how it ended; none where it was stopped.
    fn wait(&self, child: &mut Child) -> io::Result<Option<ExitStatus>> {
        // Until it is taken off the system's list its number is nobody else's.
        let exited = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(error) = waitid(WaitId::Pid(Pid::from_child(child)), exited) {
            if error != rustix::io::Errno::INTR {
                break;
            }
        }
        let mut state = self.state();
        state.process = None;
        let status = child.wait()?;
        Ok((!state.is_stopped).then_some(status))
    }
}

/// Starts the process that reads a file.
#[derive(Debug)]
pub(super) struct Reader {
    program: PathBuf,
    /// Where the file is put for the process: its name is gone at once.
    dir: PathBuf,
    most: usize,
    running: Arc<Running>,
}

impl Reader {
    /// Finds the program; none where this process is another one, or this build reads no PDF files.
    pub(super) fn new(dir: &Path, most: usize) -> Option<Self> {
        if !cfg!(feature = "pdf") || !IS_PROGRAM.load(Ordering::Relaxed) {
            return None;
        }
        let program = std::env::current_exe().ok()?;
        Some(Self { program, dir: dir.to_owned(), most, running: Arc::default() })
    }

    /// The process that it has started, for who stops it.
    pub(super) fn running(&self) -> &Arc<Running> {
        &self.running
    }

    /// Puts a body where the process finds it.
    pub(super) fn file(&self, body: &[u8]) -> io::Result<File> {
        let mut file = tempfile::tempfile_in(&self.dir)?;
        file.write_all(body).and_then(|()| file.rewind())?;
        Ok(file)
    }

    /// Reads the text of a file.
    pub(super) fn read(&self, file: File) -> Result<MainText, NotRead> {
        match self.run(file) {
            Ok(Some((text, None))) => Ok(lines(&text, self.most).0),
            // A process that was ended may have said half a word.
            Ok(Some((_, Some(status)))) => Err(NotRead::Unread(because(status))),
            Ok(None) | Err(_) => Err(NotRead::Stopped),
        }
    }

    /// The text, and how the process ended if that wasn't well; none where it was stopped.
    fn run(&self, file: File) -> io::Result<Option<(String, Option<ExitStatus>)>> {
        let mut command = Command::new(&self.program);
        command.arg(PDF_ARGUMENT).env_clear().env(ALLOCATOR.0, ALLOCATOR.1);
        // A group of its own: Ctrl-C is for the crawl.
        command.process_group(0);
        command.stdin(Stdio::from(file)).stdout(Stdio::piped()).stderr(Stdio::null());
        let Some(mut child) = self.running.start(&mut command)? else { return Ok(None) };
        let mut text = Vec::new();
        // White space is folded afterwards.
        let most = self.most as u64 * 4 + 1;
        let read = child.stdout.take().map_or(Ok(0), |out| out.take(most).read_to_end(&mut text));
        let is_enough = text.len() as u64 >= most;
        if is_enough {
            child.kill()?;
        }
        let Some(status) = self.running.wait(&mut child)? else { return Ok(None) };
        read?;
        let failed = (!is_enough && !status.success()).then_some(status);
        Ok(Some((String::from_utf8_lossy(&text).into_owned(), failed)))
    }
}

/// Why a process that ended like this has no text.
fn because(status: ExitStatus) -> UnreadText {
    match status.signal().map(Signal::from_named_raw) {
        Some(Some(Signal::XCPU)) => UnreadText::Slow,
        // The allocator or the end of the stack, or the kernel itself.
        Some(_) => UnreadText::Memory,
        None => UnreadText::Damaged,
    }
}

/// Reads a PDF file from standard input and writes its text to standard output, within limits that the kernel holds. What the
/// process with [`PDF_ARGUMENT`] does. Gives the exit code.
#[cfg(feature = "pdf")]
pub fn read_pdf() -> i32 {
    use std::os::fd::AsFd as _;

    // How large the file is has to be asked before the limits: no more is taken for it than it needs.
    let input = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let size = input.and_then(|file| file.metadata()).map_or(0, |about| about.len());
    if limit_process().is_err() {
        return 1;
    }
    std::panic::set_hook(Box::new(|_| {}));
    let mut body = Vec::with_capacity(usize::try_from(size).map_or(0, |size| size.saturating_add(1)));
    if io::stdin().lock().read_to_end(&mut body).is_err() {
        return 1;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| write_text(body, &mut out)));
    let is_whole = matches!(written, Ok(Some(()))) && out.flush().is_ok();
    i32::from(!is_whole)
}

/// Writes the text of a file as it is read: no more of it is held than a line.
#[cfg(feature = "pdf")]
fn write_text(body: Vec<u8>, out: &mut dyn io::Write) -> Option<()> {
    let mut document = pdf_extract::Document::load_mem(&body).ok()?;
    drop(body);
    if document.is_encrypted() {
        document.decrypt("").ok()?;
    }
    pdf_extract::output_doc(&document, &mut pdf_extract::PlainTextOutput::new(out)).ok()
}

/// This build reads no PDF files.
#[cfg(not(feature = "pdf"))]
pub fn read_pdf() -> i32 {
    1
}

/// Sets the limits of this process.
#[cfg(all(feature = "pdf", target_os = "linux"))]
fn limit_process() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, nice, set_parent_process_death_signal, setrlimit};
    // Where it can't be lowered, or its parent has ended already, it is only its limits that end it.
    let _niceness = nice(NICE);
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let limits = [
        // At the first the kernel says why it ends the process.
        (Resource::Cpu, SECONDS, SECONDS + 1),
        (Resource::Data, HEAP, HEAP),
        (Resource::Stack, STACK, STACK),
        (Resource::As, ADDRESSES, ADDRESSES),
        (Resource::Core, 0, 0),
        (Resource::Fsize, 0, 0),
        (Resource::Nofile, 3, 3),
    ];
    for (resource, most, end) in limits {
        let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let (current, maximum) = (Some(most.min(allowed)), Some(end.min(allowed)));
        setrlimit(resource, Rlimit { current, maximum })?;
    }
    Ok(())
}

/// Without limits nothing is read.
#[cfg(all(feature = "pdf", not(target_os = "linux")))]
fn limit_process() -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
