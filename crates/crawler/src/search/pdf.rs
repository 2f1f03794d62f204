//! The text of PDF files, read in a process of its own: whatever a file does to the reader, it costs that file's text alone.
//!
//! The process is this program, called with [`PDF_ARGUMENT`]. It gets the file as its standard input, may take 10 s of processor
//! time and 512 MiB of memory, and may open no file and write none: the kernel ends it beyond that.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::extract::{MainText, lines};

/// The only argument of the process that reads a PDF file.
pub const PDF_ARGUMENT: &str = "__read-pdf";

/// Processor time of one file, in seconds.
#[cfg(all(feature = "pdf", target_os = "linux"))]
const SECONDS: u64 = 10;

/// Memory of the process that reads one file, in bytes of address space.
#[cfg(all(feature = "pdf", target_os = "linux"))]
const MEMORY: u64 = 512 << 20;

/// Whether this process is the program that reads a file with [`PDF_ARGUMENT`].
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Says that this process is the program `crawl`: without that no PDF file is read, since nobody knows what another program does with
/// [`PDF_ARGUMENT`].
pub fn may_read_pdf() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// Starts the process that reads a file.
#[derive(Debug)]
pub(super) struct Reader {
    program: PathBuf,
    /// Where the file is put for the process: its name is gone at once.
    dir: PathBuf,
    most: usize,
}

impl Reader {
    /// Finds the program; none where this process is another one, or this build reads no PDF files.
    pub(super) fn new(dir: &Path, most: usize) -> Option<Self> {
        if !cfg!(feature = "pdf") || !IS_PROGRAM.load(Ordering::Relaxed) {
            return None;
        }
        Some(Self { program: std::env::current_exe().ok()?, dir: dir.to_owned(), most })
    }

    /// Reads the text of a file; none where it can't be read.
    pub(super) fn read(&self, body: &[u8]) -> Option<MainText> {
        let mut file = tempfile::tempfile_in(&self.dir).ok()?;
        file.write_all(body).and_then(|()| file.rewind()).ok()?;
        let (text, is_whole) = self.run(file).ok()?;
        // A process that was ended may have said half a word.
        is_whole.then(|| lines(&text, self.most).0)
    }

    fn run(&self, file: File) -> io::Result<(String, bool)> {
        let mut child = Command::new(&self.program)
            .arg(PDF_ARGUMENT)
            .env_clear()
            .stdin(Stdio::from(file))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut text = Vec::new();
        // White space is folded afterwards.
        let most = self.most as u64 * 4 + 1;
        let read = child.stdout.take().map_or(Ok(0), |out| out.take(most).read_to_end(&mut text));
        if text.len() as u64 >= most {
            child.kill()?;
            child.wait()?;
            return Ok((String::from_utf8_lossy(&text).into_owned(), true));
        }
        let status = child.wait()?;
        read?;
        Ok((String::from_utf8_lossy(&text).into_owned(), status.success()))
    }
}

/// Reads a PDF file from standard input and writes its text to standard output, within limits that the kernel holds. What the
/// process with [`PDF_ARGUMENT`] does. Gives the exit code.
#[cfg(feature = "pdf")]
pub fn read_pdf() -> i32 {
    if limit_process().is_err() {
        return 1;
    }
    std::panic::set_hook(Box::new(|_| {}));
    let mut body = Vec::new();
    if io::stdin().lock().read_to_end(&mut body).is_err() {
        return 1;
    }
    let text = std::panic::catch_unwind(|| pdf_extract::extract_text_from_mem(&body).ok());
    let Ok(Some(text)) = text else { return 1 };
    match io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

/// This build reads no PDF files.
#[cfg(not(feature = "pdf"))]
pub fn read_pdf() -> i32 {
    1
}

/// Sets the limits of this process.
#[cfg(all(feature = "pdf", target_os = "linux"))]
fn limit_process() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limits = [
        (Resource::Cpu, SECONDS),
        (Resource::As, MEMORY),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 3),
    ];
    for (resource, most) in limits {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// Without limits nothing is read.
#[cfg(all(feature = "pdf", not(target_os = "linux")))]
fn limit_process() -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
