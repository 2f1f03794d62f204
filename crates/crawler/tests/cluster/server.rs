//! A PostgreSQL server of a test, in a directory of its own, on a Unix socket. It ends with the test, also where that is killed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};
use tempfile::TempDir;

/// The server refuses to run as root: then it runs as `nobody`.
const NOBODY: u32 = 65534;

/// A running server.
pub(crate) struct Server {
    bin: PathBuf,
    dir: TempDir,
    options: Vec<String>,
    port: u16,
    keeper: Option<(Child, ChildStdin)>,
}

static DATABASES: AtomicU32 = AtomicU32::new(0);

/// The directory of PostgreSQL's programs: that of `initdb` on `PATH`, or Debian's, the latest version.
fn programs() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut debian: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|versions| versions.flatten().map(|version| version.path().join("bin")).collect())
        .unwrap_or_default();
    debian.sort_by_key(|bin| {
        bin.parent().and_then(Path::file_name).and_then(|name| name.to_str()?.parse::<u32>().ok())
    });
    let on_path = std::env::split_paths(&path).collect::<Vec<_>>();
    on_path
        .into_iter()
        .chain(debian.into_iter().rev())
        .find(|bin| ["initdb", "postgres", "psql"].iter().all(|program| bin.join(program).exists()))
}

/// Has a program run as another user where this one is root.
pub(crate) fn as_nobody(command: &mut Command) -> &mut Command {
    if geteuid().is_root() { command.uid(NOBODY).gid(NOBODY) } else { command }
}

/// Waits a moment: for another process.
#[expect(clippy::disallowed_methods, reason = "waits for another process")]
pub(crate) fn wait(time: Duration) {
    std::thread::sleep(time);
}

/// Waits until something is so, for at most 30 s.
#[expect(clippy::disallowed_methods, reason = "waits for another process")]
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never comes to be");
        wait(Duration::from_millis(5));
    }
}

impl Server {
    /// Starts a server; none where PostgreSQL isn't installed, which is said on standard error.
    pub(crate) fn start(options: &[String]) -> Option<Self> {
        Self::start_on(5432, options)
    }

    /// As [`Server::start`], with the number that its socket has, and a TCP port where the options ask for one.
    pub(crate) fn start_on(port: u16, options: &[String]) -> Option<Self> {
        let Some(bin) = programs() else {
            assert!(
                std::env::var_os("CRAWL_TEST_REQUIRE_POSTGRES").is_none(),
                "PostgreSQL isn't installed: `apt-get install postgresql`"
            );
            eprintln!("SKIPPED: PostgreSQL isn't installed (Debian: apt-get install postgresql)");
            return None;
        };
        let dir = TempDir::new().unwrap();
        if geteuid().is_root() {
            chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut initdb = Command::new(bin.join("initdb"));
        initdb.args(["-U", "crawl", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"]);
        let made = as_nobody(initdb.arg(dir.path().join("data")).current_dir("/")).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut server = Self { bin, dir, options: options.to_vec(), port, keeper: None };
        server.run();
        Some(server)
    }

    /// A hot standby of this server, which follows it until it is promoted.
    pub(crate) fn standby(&self) -> Self {
        let dir = TempDir::new().unwrap();
        if geteuid().is_root() {
            chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut copy = Command::new(self.bin.join("pg_basebackup"));
        copy.args(["-R", "-X", "stream", "-c", "fast", "--no-sync", "-U", "crawl", "-h"]).arg(self.dir());
        copy.arg("-p").arg(self.port.to_string()).arg("-D").arg(dir.path().join("data")).current_dir("/");
        let made = as_nobody(&mut copy).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let (bin, options) = (self.bin.clone(), self.options.clone());
        let mut standby = Self { bin, dir, options, port: self.port, keeper: None };
        standby.run();
        standby
    }

    /// The directory of the server's socket.
    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A file that the server may read.
    pub(crate) fn file(dir: &Path, name: &str, text: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = dir.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if geteuid().is_root() {
            chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        path
    }

    /// Runs the server, which a shell ends when its standard input ends.
    pub(crate) fn run(&mut self) {
        for _ in 0..100 {
            let mut shell = Command::new("sh");
            let script = r#""$@" & server=$!; read -r _; kill -INT $server; wait $server"#;
            shell.args(["-c", script, "sh"]).arg(self.bin.join("postgres")).arg("-D").arg(self.data());
            // kill -9 of the server loses nothing without fsync, which only a power cut tests.
            let fixed = ["fsync=off", "listen_addresses=", "max_connections=200", "log_min_messages=fatal"];
            for option in fixed.into_iter().chain(self.options.iter().map(String::as_str)) {
                shell.args(["-c", option]);
            }
            shell.arg("-p").arg(self.port.to_string()).arg("-k").arg(self.dir()).current_dir("/");
            shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = as_nobody(&mut shell).spawn().unwrap();
            let stdin = child.stdin.take().unwrap();
            self.keeper = Some((child, stdin));
            for _ in 0..50 {
                if self.try_sql("postgres", "select 1").is_ok() {
                    return;
                }
                wait(Duration::from_millis(20));
            }
            // After kill -9 its children may hold the shared memory for a moment.
            self.end();
        }
        panic!("the server doesn't start");
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Ends the server as an administrator does.
    pub(crate) fn end(&mut self) {
        if let Some((mut child, mut stdin)) = self.keeper.take() {
            let _told = stdin.write_all(b"\n");
            drop(stdin);
            child.wait().unwrap();
        }
    }

    /// Ends the server at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        kill_process(self.process(), Signal::KILL).unwrap();
        self.end();
    }

    /// Stops all processes of the server where they are, until the value is dropped.
    pub(crate) fn freeze(&self) -> Frozen {
        let first = self.process();
        let mut frozen = Frozen(Vec::new());
        // The first one first: it starts no more then.
        for process in std::iter::once(first).chain(children(first)) {
            // One may have ended.
            if kill_process(process, Signal::STOP).is_ok() {
                frozen.0.push(process);
            }
        }
        frozen
    }

    /// The server's first process.
    fn process(&self) -> Pid {
        let pid = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        Pid::from_raw(pid.lines().next().unwrap().parse().unwrap()).unwrap()
    }

    /// The URL of a new database.
    pub(crate) fn database(&self) -> String {
        let name = format!("crawl{}", DATABASES.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("create database {name}"));
        self.url(&name)
    }

    /// The URL of a database.
    pub(crate) fn url(&self, name: &str) -> String {
        url_by(self.dir(), name)
    }

    /// What a statement gives, as `psql` prints it without decoration.
    pub(crate) fn sql(&self, database: &str, sql: &str) -> String {
        self.try_sql(database, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub(crate) fn try_sql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut psql = self.psql(database);
        let output = psql.arg("-c").arg(sql).output().unwrap();
        if output.status.success() {
            Ok(String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// `psql`, to run statements while something else happens; they don't wait for a standby. `database` is a name or a URL.
    pub(crate) fn psql(&self, database: &str) -> Command {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "crawl"]);
        psql.env("PGOPTIONS", "-c synchronous_commit=local");
        psql.arg("-p").arg(self.port.to_string()).arg("-h").arg(self.dir()).args(["-d", database]);
        psql
    }
}

/// Processes of a server that are stopped where they are.
pub(crate) struct Frozen(Vec<Pid>);

impl Drop for Frozen {
    fn drop(&mut self) {
        for process in &self.0 {
            let _gone = kill_process(*process, Signal::CONT);
        }
    }
}

/// The processes that one has started.
fn children(of: Pid) -> Vec<Pid> {
    let of = of.as_raw_nonzero().get();
    let list = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap();
    list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The URL of a database whose server has its socket in this directory.
pub(crate) fn url_by(dir: &Path, name: &str) -> String {
    format!("postgres:///{name}?user=crawl&host={}", dir.display())
}
