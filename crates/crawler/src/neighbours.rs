//! Other commands of this program that request pages at the same time and for the same user: they know of each other by one file in the
//! user's runtime directory.
//!
//! Each command keeps its own delays, so a host that two of them request gets two requests at a time. The file only serves a warning: a command whose
//! runtime directory is missing or can't be written goes on without.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::nofollow;

/// The file's name in the runtime directory.
pub const FILE: &str = "crawl-running.jsonl";

/// Hosts that a command enters at most: the first ones of its seeds.
pub const MOST_HOSTS: usize = 10_000;

/// Bytes of the file that are read.
const MOST_BYTES: u64 = 64 << 20;

/// Hosts that a warning names.
const NAMED: usize = 5;

/// How often the lock of the file is tried, and how long each time. It is held for a millisecond.
const TRIES: u32 = 100;
const TRY: Duration = Duration::from_millis(10);

/// What a command requests pages of: a host, or a domain with all its hosts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Area {
    /// The host's name, or the domain's.
    pub name: String,
    /// Where the name leads to, where that isn't what name servers say: a port of this machine, or the address of `--resolve`. Empty otherwise.
    pub at: String,
    /// Whether all hosts of the domain belong to it.
    pub with_subdomains: bool,
}

/// A command that requests the same hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Process id of the command.
    pub pid: u32,
    /// What it is: its output directory, or its name.
    pub what: String,
    /// The first hosts or domains that both request.
    pub hosts: Vec<String>,
    /// How many there are.
    pub count: usize,
}

impl std::fmt::Display for Neighbour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pid, what, hosts, count } = self;
        write!(f, "{what} (process {pid}) requests the same hosts: {}", hosts.join(", "))?;
        if *count > hosts.len() {
            write!(f, " and {} more", count - hosts.len())?;
        }
        write!(f, "; the two commands don't coordinate, so these hosts may get two requests at a time")
    }
}

/// A line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    /// Form of the line: 1.
    v: u32,
    /// Of this entry alone.
    id: uuid::Uuid,
    pid: u32,
    /// When the process was started, in ticks since the machine was: a later process may get the same number.
    start: u64,
    what: String,
    areas: Vec<Area>,
}

/// The entry of a command, which ends with it.
#[derive(Debug)]
pub struct Running {
    file: PathBuf,
    id: uuid::Uuid,
}

impl Running {
    /// Enters this process, and returns the others that request some of the same hosts. `what` says to their users what this one is.
    ///
    /// # Errors
    /// The file can't be read or written, or somebody keeps it locked.
    pub fn enter(directory: &Path, what: &str, areas: Vec<Area>) -> io::Result<(Self, Vec<Neighbour>)> {
        let (file, id, pid) = (directory.join(FILE), uuid::Uuid::new_v4(), std::process::id());
        let start = started(pid).unwrap_or_default();
        let entry = Entry { v: 1, id, pid, start, what: what.to_owned(), areas };
        let mut neighbours = Vec::new();
        change(&file, |entries| {
            neighbours = entries.iter().filter_map(|other| overlap(&entry, other)).collect();
            entries.push(entry);
        })?;
        Ok((Self { file, id }, neighbours))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = change(&self.file, |entries| entries.retain(|entry| entry.id != self.id)) {
            // Nobody takes a process for alive that has ended.
            tracing::debug!(%error, "the end of this command can't be entered");
        }
    }
}

/// The user's runtime directory: `XDG_RUNTIME_DIR`, `/run/user/UID`, or a directory of the user's own among the temporary files. None where it isn't the user's
/// alone.
pub fn runtime_directory() -> Option<PathBuf> {
    let uid = rustix::process::getuid().as_raw();
    let is_own = |path: &Path| {
        fs::symlink_metadata(path)
            .is_ok_and(|about| about.is_dir() && about.uid() == uid && about.mode() & 0o022 == 0)
    };
    let named = std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()).map(PathBuf::from);
    if let Some(named) = named {
        return Some(named).filter(|path| path.is_absolute() && is_own(path));
    }
    let system = PathBuf::from(format!("/run/user/{uid}"));
    if is_own(&system) {
        return Some(system);
    }
    let own = std::env::temp_dir().join(format!("crawl-{uid}"));
    // If somebody else has made it, it isn't used.
    drop(std::os::unix::fs::DirBuilderExt::mode(&mut fs::DirBuilder::new(), 0o700).create(&own));
    Some(own).filter(|path| is_own(path))
}

/// What two entries have in common.
fn overlap(own: &Entry, other: &Entry) -> Option<Neighbour> {
    let theirs: HashSet<(&str, &str, bool)> =
        other.areas.iter().map(|area| (&*area.name, &*area.at, area.with_subdomains)).collect();
    let ours: HashSet<(&str, &str)> =
        own.areas.iter().filter(|area| area.with_subdomains).map(|area| (&*area.name, &*area.at)).collect();
    let is_theirs = |area: &Area| {
        theirs.contains(&(&area.name, &area.at, area.with_subdomains))
            || domains(&area.name).any(|domain| theirs.contains(&(domain, &area.at, true)))
    };
    let is_in_ours = |area: &Area| domains(&area.name).any(|domain| ours.contains(&(domain, &*area.at)));
    let shared = own.areas.iter().filter(|area| is_theirs(area));
    let shared: HashSet<&str> =
        shared.chain(other.areas.iter().filter(|area| is_in_ours(area))).map(|area| &*area.name).collect();
    if shared.is_empty() {
        return None;
    }
    let count = shared.len();
    let mut hosts: Vec<String> = shared.into_iter().map(str::to_owned).collect();
    hosts.sort_unstable();
    hosts.truncate(NAMED);
    Some(Neighbour { pid: other.pid, what: other.what.clone(), hosts, count })
}

/// A name, and the domains that it lies in.
fn domains(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, domain)| domain))
}

/// Changes the entries of the processes that are alive, under the file's lock.
fn change(path: &Path, change: impl FnOnce(&mut Vec<Entry>)) -> io::Result<()> {
    let mut options = nofollow::options();
    options.create(true).truncate(false).read(true).write(true).mode(0o600);
    let mut file = options.open(path).map_err(nofollow::explain)?;
    // Reading a named pipe could wait forever.
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    lock(&file)?;
    let mut text = Vec::new();
    (&file).take(MOST_BYTES).read_to_end(&mut text)?;
    let entries = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let mut entries: Vec<Entry> =
        entries.filter(|entry: &Entry| started(entry.pid) == Some(entry.start)).collect();
    change(&mut entries);
    let mut text = Vec::new();
    for entry in &entries {
        serde_json::to_writer(&mut text, entry)?;
        text.push(b'\n');
    }
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&text)
    // The lock ends with the file.
}

fn lock(file: &File) -> io::Result<()> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::park_timeout(TRY),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{FILE} is locked by another process")))
}

/// When a process was started, in ticks since the machine was; none if there is no such process.
#[cfg(target_os = "linux")]
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may have spaces and brackets, comes the third field; this is the 22nd (proc_pid_stat(5)).
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    // A process that has ended and that nobody has waited for is none.
    let state = fields.next()?;
    fields.nth(18)?.parse().ok().filter(|_| state != "Z")
}

/// Whether there is a process of this number, where the system doesn't say when it was started.
#[cfg(not(target_os = "linux"))]
fn started(pid: u32) -> Option<u64> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    rustix::process::test_kill_process(pid).is_ok().then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> Area {
        Area { name: name.to_owned(), at: String::new(), with_subdomains: false }
    }

    fn domain(name: &str) -> Area {
        Area { with_subdomains: true, ..host(name) }
    }

    fn entry(areas: &[Area]) -> Entry {
        let areas = areas.to_vec();
        Entry { v: 1, id: uuid::Uuid::new_v4(), pid: 7, start: 1, what: "other".to_owned(), areas }
    }

    #[test]
    fn hosts_overlap_by_name_and_domains_with_what_lies_in_them() {
        let elsewhere = Area { at: "127.0.0.1:8000".to_owned(), ..host("a.test") };
        for (own, other, expected) in [
            (host("a.test"), host("a.test"), Some("a.test")),
            (host("a.test"), host("b.test"), None),
            (host("a.test"), host("www.a.test"), None),
            (host("www.a.test"), domain("a.test"), Some("www.a.test")),
            (domain("a.test"), host("deep.www.a.test"), Some("deep.www.a.test")),
            (domain("a.test"), host("a.test"), Some("a.test")),
            (domain("a.test"), domain("a.test"), Some("a.test")),
            (domain("a.test"), host("not-a.test"), None),
            (host("a.test"), elsewhere.clone(), None),
            (elsewhere.clone(), elsewhere, Some("a.test")),
        ] {
            let found = overlap(&entry(std::slice::from_ref(&own)), &entry(std::slice::from_ref(&other)));
            let found = found.map(|found| found.hosts.concat());
            assert_eq!(found.as_deref(), expected, "{own:?} {other:?}");
        }
    }

    #[test]
    fn those_that_run_are_found_until_they_end() {
        let top = tempfile::tempdir().unwrap();
        let many: Vec<Area> = (0..8).map(|number| host(&format!("h{number}.test"))).collect();
        let (first, none) = Running::enter(top.path(), "one", many.clone()).unwrap();
        assert!(none.is_empty());
        let (second, found) =
            Running::enter(top.path(), "two", [&many[1..], &[host("z.test")]].concat()).unwrap();
        let [found] = &found[..] else { panic!("{found:?}") };
        assert_eq!((found.pid, &*found.what, found.count), (std::process::id(), "one", 7));
        assert!(found.to_string().starts_with("one (process "), "{found}");
        assert!(
            found.to_string().contains("h1.test, h2.test, h3.test, h4.test, h5.test and 2 more;"),
            "{found}"
        );
        drop(first);
        let (_, found) = Running::enter(top.path(), "three", many).unwrap();
        assert_eq!(found.iter().map(|found| &*found.what).collect::<Vec<_>>(), ["two"]);
        drop(second);
        assert_eq!(fs::read(top.path().join(FILE)).unwrap(), b"");
    }

    #[test]
    fn processes_that_are_gone_and_lines_that_are_none_are_dropped() {
        let top = tempfile::tempdir().unwrap();
        let gone = [
            // This process was started at another time.
            Entry { pid: std::process::id(), ..entry(&[host("a.test")]) },
            Entry { pid: u32::MAX, ..entry(&[host("a.test")]) },
        ];
        let lines: Vec<String> = gone.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
        fs::write(top.path().join(FILE), format!("{}\nno line\n{{\"v\":1", lines.join("\n"))).unwrap();
        let (_running, found) = Running::enter(top.path(), "this", vec![host("a.test")]).unwrap();
        assert!(found.is_empty());
        assert_eq!(fs::read_to_string(top.path().join(FILE)).unwrap().lines().count(), 1);
    }

    #[test]
    fn no_link_is_followed() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("elsewhere"), "text").unwrap();
        // Nor is a named pipe waited for.
        rustix::fs::mknodat(
            rustix::fs::CWD,
            top.path().join(FILE),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(change(&top.path().join(FILE), |_| ()).is_err());
        fs::remove_file(top.path().join(FILE)).unwrap();
        std::os::unix::fs::symlink("elsewhere", top.path().join(FILE)).unwrap();
        assert!(Running::enter(top.path(), "this", vec![host("a.test")]).is_err());
        assert_eq!(fs::read_to_string(top.path().join("elsewhere")).unwrap(), "text");
    }
}
