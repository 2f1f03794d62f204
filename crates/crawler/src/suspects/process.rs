//! The process that reads one body and nothing else: this program, called with [`TRIAL_ARGUMENT`].
//!
//! It gets the body as its standard input, may take [`SECONDS`] of processor time and [`MEMORY`] of address space beside sixteen times
//! the body, and may open no file and write none: the kernel ends it beyond that. It begins a group of processes, so that a Ctrl-C for the crawl isn't one for it,
//! yields to every other process, and ends with the crawl.

use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use tokio::sync::{Semaphore, oneshot};

/// The only argument of the process that reads a body alone.
pub const TRIAL_ARGUMENT: &str = "__read-response";

/// Processor time of one body, in seconds.
const SECONDS: u64 = 60;

/// Address space of the process, in bytes, beside what the body's size asks for.
const MEMORY: u64 = 512 << 20;

/// Stack of the thread that reads, in bytes. Half of what the crawl's threads have: what survives here survives there.
const STACK: usize = 1 << 20;

/// By how much the process yields to others.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Bytes of a body that are handed over at a time.
const PIECE: usize = 64 << 10;

/// The exit code of a process that read nothing.
const UNTRIED: i32 = 3;

/// Tries of a body whose process somebody else may have ended.
const TRIES: usize = 3;

/// The variable of `abort_on_mark`.
#[cfg(debug_assertions)]
pub(super) const MARK: &str = "WHOLE_PROGRAM_ABORTS_ON";

/// Whether this process is the program that reads a body with [`TRIAL_ARGUMENT`].
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Says that this process is the program `crawl`: without that no process is started, since nobody knows what another program does with
/// [`TRIAL_ARGUMENT`].
pub fn may_start_trials() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialEnd {
    /// The body was read.
    Survived,
    /// The process died; how, in words.
    Died(String),
    /// Nobody knows: no process could be started, or somebody ended it; why, in words.
    Untried(String),
}

/// Opens a body at its beginning: a process may have to be started again.
pub type OpenBody = Box<dyn FnMut() -> io::Result<Box<dyn Read>> + Send>;

/// Starts the processes, one after the other.
#[derive(Debug)]
pub struct Trials {
    program: PathBuf,
    /// The settings of the crawl.
    settings: Arc<str>,
    turn: Semaphore,
}

impl Trials {
    /// Finds the program; none where this process is another one. `settings` are those of the crawl, as TOML.
    pub fn new(settings: &str) -> Option<Self> {
        let program = IS_PROGRAM.load(Ordering::Relaxed).then(std::env::current_exe)?.ok()?;
        Some(Self { program, settings: settings.into(), turn: Semaphore::new(1) })
    }

    #[cfg(test)]
    pub(super) fn of_a_test() -> Self {
        Self { program: PathBuf::new(), settings: "".into(), turn: Semaphore::new(1) }
    }

    /// Has a body read alone. `head` is one line, which says what it is; the settings follow it, and the body. Takes what starting a process takes,
    /// some milliseconds, and reading the body. Memory in this process: 64 KiB beside what `body` takes.
    pub async fn run(&self, head: String, mut body: OpenBody) -> TrialEnd {
        let untried = || TrialEnd::Untried("the crawl ends".to_owned());
        let Ok(_turn) = self.turn.acquire().await else { return untried() };
        let (program, settings) = (self.program.clone(), Arc::clone(&self.settings));
        let (sender, ended) = oneshot::channel();
        let trial = move || {
            // Nobody waits for it where the crawl ends.
            drop(sender.send(try_often(
                &program,
                &[head.as_bytes(), b"\n", settings.as_bytes(), b"\0"],
                &mut body,
            )));
        };
        // No thread of the runtime, which waits for those at its end.
        match std::thread::Builder::new().name("trial".to_owned()).spawn(trial) {
            Ok(_) => ended.await.unwrap_or_else(|_| untried()),
            Err(error) => TrialEnd::Untried(error.to_string()),
        }
    }
}

impl Trials {
    /// As [`Trials::run`], for a process without a runtime: waits for the end. The caller has one body read at a time.
    pub fn run_and_wait(&self, head: &str, mut body: OpenBody) -> TrialEnd {
        let parts = [head.as_bytes(), b"\n", self.settings.as_bytes(), b"\0"];
        try_often(&self.program, &parts, &mut body)
    }
}

fn try_often(program: &PathBuf, parts: &[&[u8]], body: &mut OpenBody) -> TrialEnd {
    let mut end = TrialEnd::Survived;
    let mut kills = 0;
    for _ in 0..TRIES {
        end = match body().and_then(|mut body| try_once(program, parts, &mut *body)) {
            Ok(status) => judge(status, &mut kills),
            Err(error) => TrialEnd::Untried(error.to_string()),
        };
        if !matches!(end, TrialEnd::Untried(_)) {
            break;
        }
    }
    end
}

/// What the end of a process says. A process is killed by hand, or because the machine is out of memory: two SIGKILLs in a row are taken for
/// the kernel's out-of-memory killer.
fn judge(status: ExitStatus, kills: &mut usize) -> TrialEnd {
    let Some(signal) = status.signal() else {
        return match status.code() {
            Some(0) => TrialEnd::Survived,
            Some(UNTRIED) | None => TrialEnd::Untried("the process could read nothing".to_owned()),
            Some(code) => TrialEnd::Died(format!("exit code {code}")),
        };
    };
    *kills += usize::from(signal == libc::SIGKILL);
    let words = words_of(signal);
    match signal {
        libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT | libc::SIGPIPE | libc::SIGALRM => {
            TrialEnd::Untried(words)
        }
        libc::SIGKILL if *kills < 2 => TrialEnd::Untried(words),
        _ => TrialEnd::Died(words),
    }
}

fn words_of(signal: i32) -> String {
    let name = match signal {
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGXCPU => " (SIGXCPU: too much processor time)",
        _ => "",
    };
    format!("signal {signal}{name}")
}

fn try_once(program: &PathBuf, parts: &[&[u8]], body: &mut dyn Read) -> io::Result<ExitStatus> {
    let mut command = Command::new(program);
    command.arg(TRIAL_ARGUMENT).env_clear().process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(debug_assertions)]
    if let Some(mark) = std::env::var_os(MARK) {
        command.env(MARK, mark);
    }
    let mut child = command.spawn()?;
    let read = child.stdin.take().map_or(Ok(()), |mut pipe| hand_over(parts, body, &mut pipe));
    let status = child.wait()?;
    read.map(|()| status)
}

/// Writes all of it for the process. A process that ended before it took everything is no error: its status says how.
///
/// # Errors
/// The body can't be read.
fn hand_over(parts: &[&[u8]], body: &mut dyn Read, pipe: &mut dyn io::Write) -> io::Result<()> {
    if parts.iter().try_for_each(|part| pipe.write_all(part)).is_err() {
        return Ok(());
    }
    let mut piece = vec![0; PIECE];
    loop {
        let read = match body.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if pipe.write_all(piece.get(..read).unwrap_or_default()).is_err() {
            return Ok(());
        }
    }
}

/// What the process with [`TRIAL_ARGUMENT`] does: reads what [`Trials::run`] wrote to its standard input, and has `read` read it, which gets head,
/// settings and body, and returns none where it can't begin. Gives the exit code.
///
/// A panic is no death: the crawl catches it, and the URL fails as `parse`.
pub fn end_of_trial(read: impl FnOnce(&str, &str, Bytes) -> Option<()> + Send + 'static) -> i32 {
    std::panic::set_hook(Box::new(|_| {}));
    if end_with_parent().is_err() {
        return UNTRIED;
    }
    let mut input = Vec::new();
    if io::stdin().lock().read_to_end(&mut input).is_err() {
        return UNTRIED;
    }
    if limit_process(input.len() as u64).is_err() {
        return UNTRIED;
    }
    let input = Bytes::from(input);
    let reading = move || {
        let settings = memchr::memchr(b'\n', &input)?;
        let body = memchr::memchr(0, input.get(settings..)?)? + settings;
        let text = |range| std::str::from_utf8(input.get(range)?).ok();
        read(text(0..settings)?, text(settings + 1..body)?, input.slice(body + 1..))
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(reading);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(Some(())) | Err(_)) => 0,
        Ok(Ok(None)) | Err(_) => UNTRIED,
    }
}

/// Has the kernel end this process with the thread that started it, and has it yield to others.
#[cfg(target_os = "linux")]
fn end_with_parent() -> io::Result<()> {
    use rustix::process::{Signal, nice, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // Where it can't be lowered, its limits still hold.
    let _niceness = nice(NICE);
    Ok(())
}

/// Elsewhere it is only its limits that end it.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
fn end_with_parent() -> io::Result<()> {
    Ok(())
}

/// Sets the limits of this process.
fn limit_process(bytes: u64) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limits = [
        (Resource::Cpu, SECONDS),
        (Resource::As, MEMORY + 16 * bytes),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
        (Resource::Nofile, 3),
    ];
    for (resource, most) in limits {
        // A limit that the user set is perhaps lower.
        let most = getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_died_by_itself_blames_its_body() {
        let judged = |raw, kills| judge(ExitStatus::from_raw(raw), &mut { kills });
        assert_eq!(judged(0, 0), TrialEnd::Survived);
        // The low byte of a raw status is the signal, the next one the exit code.
        for signal in [libc::SIGSEGV, libc::SIGABRT, libc::SIGBUS, libc::SIGILL, libc::SIGXCPU] {
            assert!(matches!(judged(signal, 0), TrialEnd::Died(_)), "{signal}");
        }
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGKILL] {
            assert!(matches!(judged(signal, 0), TrialEnd::Untried(_)), "{signal}");
        }
        assert!(matches!(judged(libc::SIGKILL, 1), TrialEnd::Died(_)), "twice: no memory");
        assert!(matches!(judged(UNTRIED << 8, 0), TrialEnd::Untried(_)));
        assert_eq!(judged(9 << 8, 0), TrialEnd::Died("exit code 9".to_owned()));
    }

    #[test]
    fn a_process_that_cant_be_started_blames_nobody() {
        let mut body: OpenBody = Box::new(|| Ok(Box::new(io::Cursor::new(b"x"))));
        let end = try_often(&PathBuf::from("/nowhere/at/all"), &[b"x"], &mut body);
        assert!(matches!(end, TrialEnd::Untried(_)), "{end:?}");
    }

    #[test]
    fn a_body_that_cant_be_read_to_its_end_blames_nobody_and_a_process_that_takes_no_more_is_judged() {
        let body = vec![b'x'; 3 * PIECE + 1];
        let mut taken = Vec::new();
        hand_over(&[b"head", b"\n"], &mut &body[..], &mut taken).unwrap();
        assert!(taken.starts_with(b"head\nxx") && taken.len() == body.len() + 5);
        let error = hand_over(&[b"head"], &mut b"x".chain(Broken), &mut taken).unwrap_err();
        assert_eq!(error.to_string(), "damaged");
        // A pipe that nobody reads any more.
        hand_over(&[], &mut &body[..], &mut &mut [0; 10][..]).unwrap();
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("damaged"))
        }
    }
}
