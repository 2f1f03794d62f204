//! Runs the binary `crawl` as a user does: arguments, environment, standard streams, signals, exit code.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Longer than any of these runs should take on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(5);

/// The binary, built once per test program with the profile of the tests.
///
/// `WHOLE_PROGRAM_BINARY` names another one.
///
/// # Panics
/// If it can't be built.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| std::env::var_os("WHOLE_PROGRAM_BINARY").map_or_else(build, PathBuf::from))
}

fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    // All members, so that the dependencies have the features that they were just built with for the tests.
    command.args(["build", "--workspace", "--bin", "crawl", "--message-format=json-render-diagnostics"]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.stderr(Stdio::inherit()).output().expect("cargo can be started");
    assert!(output.status.success(), "the binary can't be built");
    let text = String::from_utf8_lossy(&output.stdout);
    let messages = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let named = messages.filter(|message| message["target"]["name"] == "crawl");
    let path = named.filter_map(|message| message["executable"].as_str().map(PathBuf::from)).next_back();
    path.expect("cargo names the binary that it built")
}

/// A call of the program, being put together.
#[derive(Debug)]
pub struct Crawl {
    command: Command,
    stdin: Option<Vec<u8>>,
    unread: bool,
}

impl Crawl {
    /// A call with these arguments, without the caller's own `CRAWL_*` settings.
    pub fn new<I: IntoIterator<Item = A>, A: AsRef<OsStr>>(arguments: I) -> Self {
        let mut command = Command::new(binary());
        command.args(arguments);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CRAWL_") || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        Self { command, stdin: None, unread: false }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<I: IntoIterator<Item = A>, A: AsRef<OsStr>>(mut self, arguments: I) -> Self {
        self.command.args(arguments);
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn directory(mut self, path: &Path) -> Self {
        self.command.current_dir(path);
        self
    }

    /// Returns the program this on standard input; otherwise it finds it closed.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Runs the program behind a line of shell, for limits of the process: `ulimit -n 64`. It keeps its process id.
    #[must_use]
    pub fn under(mut self, line: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{line}; exec \"$0\" \"$@\"")]);
        shell.arg(self.command.get_program()).args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(path) = self.command.get_current_dir() {
            shell.current_dir(path);
        }
        self.command = shell;
        self
    }

    /// Closes the other end of standard output at once, as `| head` does in the end.
    #[must_use]
    pub fn unread(mut self) -> Self {
        self.unread = true;
        self
    }

    /// Starts the program.
    ///
    /// # Panics
    /// If it can't be started.
    pub fn start(mut self) -> Running {
        let input = if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        let words: Vec<OsString> = self.command.get_args().map(OsStr::to_owned).collect();
        self.command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().expect("the binary can be started");
        if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), self.stdin) {
            // The program may end before it has read all; that shows in its output.
            thread::spawn(move || pipe.write_all(&bytes));
        }
        let pid = child.id();
        let stdout = collect(child.stdout.take().filter(|_| !self.unread));
        let stderr = collect(child.stderr.take());
        let (sender, ended) = channel();
        thread::spawn(move || sender.send(child.wait()));
        Running { pid, words, stdout: Some(stdout), stderr: Some(stderr), ended, over: false }
    }

    /// Runs the program to its end.
    pub fn run(self) -> Output {
        self.start().wait(PATIENCE)
    }
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is what the test shall see.
            let _count = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// A program under way; it is killed with the value.
#[derive(Debug)]
pub struct Running {
    pid: u32,
    words: Vec<OsString>,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
    ended: Receiver<std::io::Result<ExitStatus>>,
    over: bool,
}

impl Running {
    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a signal by name: `TERM`, `INT`, `KILL`.
    pub fn signal(&self, name: &str) {
        // The shell's own kill: nothing has to be installed, and no unsafe call is made here.
        let words = ["-c".to_owned(), format!("kill -{name} {}", self.pid)];
        let _status = Command::new("sh").args(words).stderr(Stdio::null()).status();
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        !self.over
            && std::fs::read_to_string(format!("/proc/{}/stat", self.pid))
                .is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// If the program still runs after `limit`; it is killed then.
    pub fn wait(mut self, limit: Duration) -> Output {
        let status = match self.ended.recv_timeout(limit) {
            Ok(status) => status.expect("the program can be waited for"),
            Err(RecvTimeoutError::Timeout) => {
                self.signal("KILL");
                self.over = true;
                let output = self.output(None);
                panic!("crawl {:?} still runs after {limit:?}:\n{output}", self.words);
            }
            Err(RecvTimeoutError::Disconnected) => panic!("the waiting thread is gone"),
        };
        self.over = true;
        self.output(status.code())
    }

    /// Ends it at once, as a power cut or the kernel's memory killer would, and waits until it is gone.
    pub fn kill(self) -> Output {
        self.signal("KILL");
        self.wait(PATIENCE)
    }

    fn output(&mut self, code: Option<i32>) -> Output {
        let text = |thread: Option<JoinHandle<Vec<u8>>>| {
            let bytes = thread.and_then(|thread| thread.join().ok()).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Output { code, stdout: text(self.stdout.take()), stderr: text(self.stderr.take()) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.over {
            self.signal("KILL");
        }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The exit code; none after a signal.
    pub code: Option<i32>,
    /// Results.
    pub stdout: String,
    /// Talk.
    pub stderr: String,
}

impl Output {
    /// Checks the exit code.
    ///
    /// # Panics
    /// If it is another one; with everything that the program said.
    #[track_caller]
    pub fn expect(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "exit code of:\n{self}");
        self
    }

    /// The lines of standard output, each a JSON value.
    ///
    /// # Panics
    /// If one isn't.
    #[track_caller]
    pub fn json(&self) -> Vec<serde_json::Value> {
        let value = |line: &str| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => panic!("not JSON ({error}): {line}"),
        };
        self.stdout.lines().filter(|line| !line.trim().is_empty()).map(value).collect()
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit {:?}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}
