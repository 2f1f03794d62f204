//! Watches and limits the memory of a running program with all processes that it starts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::hostile::wire::rest;
use crate::program::{Crawl, Output, Running};

/// The most memory that a program had resident, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peak(pub u64);

impl std::fmt::Display for Peak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} MB", self.0 / 1_000_000)
    }
}

/// A watch over a process and its descendants, until the process is gone.
///
/// The peak is the larger of two figures: the kernel's high-water mark of the process itself, and the largest sum over the process
/// and its descendants, sampled every 10 ms. Pages that several processes share count in each.
#[derive(Debug)]
pub struct Watch {
    peak: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches a process.
    pub fn over(pid: u32) -> Self {
        let (peak, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (mark, stop) = (Arc::clone(&peak), Arc::clone(&over));
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let Some(bytes) = high_water(pid) else { return };
                // A mark of zero: the process doesn't run its own program yet.
                let sum = if bytes == 0 { 0 } else { resident_with_descendants(pid) };
                mark.fetch_max(bytes.max(sum), Ordering::Relaxed);
                rest(Duration::from_millis(10));
            }
        });
        Self { peak, over, thread: Some(thread) }
    }

    /// Ends the watch.
    pub fn end(mut self) -> Peak {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there would show as a peak of zero, which no test takes.
            let _ended = thread.join();
        }
        Peak(self.peak.load(Ordering::Relaxed))
    }
}

/// The resident memory of a process and all its descendants at this moment, in bytes; 0 if the process is gone.
pub fn resident_with_descendants(pid: u32) -> u64 {
    let mut sum = 0;
    let mut pending = vec![(pid, None)];
    while let Some((pid, parent_arguments)) = pending.pop() {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok();
        // Between `vfork` and `exec` a child shares the memory of its parent, its arguments too.
        if arguments.is_none() || arguments == parent_arguments {
            continue;
        }
        sum += field_of_status(pid, "VmRSS:").unwrap_or(0);
        pending.extend(children(pid).into_iter().map(|child| (child, arguments.clone())));
    }
    sum
}

/// The processes that the threads of a process have started and that still exist.
fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<u32>>()).collect()
}

/// A field of `/proc/PID/status` that is given in kB, in bytes.
fn field_of_status(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// A control group of the kernel with a memory limit: a process that needs more than it, together with its descendants, is killed.
///
/// Memory that the kernel can take back, such as cached file contents, doesn't count against the limit. The group is removed with the
/// value.
#[derive(Debug)]
pub struct MemoryGroup {
    directory: PathBuf,
    events: &'static str,
}

impl MemoryGroup {
    /// Makes a group with a limit in bytes, or none where this machine doesn't allow it: that takes a writable hierarchy of control groups
    /// (version 1 or 2) with the memory controller.
    pub fn new(limit: u64) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("crawl-tests-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let root = Path::new("/sys/fs/cgroup");
        let (parent, limit_file, swap_file, events) = if root.join("memory/memory.limit_in_bytes").exists() {
            (
                root.join("memory"),
                "memory.limit_in_bytes",
                "memory.memsw.limit_in_bytes",
                "memory.oom_control",
            )
        } else {
            let controllers = fs::read_to_string(root.join("cgroup.subtree_control")).ok()?;
            controllers.split_whitespace().find(|name| *name == "memory")?;
            (root.to_owned(), "memory.max", "memory.swap.max", "memory.events")
        };
        let directory = parent.join(name);
        fs::create_dir(&directory).ok()?;
        let group = Self { directory, events };
        fs::write(group.directory.join(limit_file), limit.to_string()).ok()?;
        // Without swap accounting there is no such file, and mostly no swap either.
        let swap = if swap_file == "memory.swap.max" { 0 } else { limit };
        let _unsupported = fs::write(group.directory.join(swap_file), swap.to_string());
        Some(group)
    }

    /// A line of shell that moves the process which runs it into the group, for [`Crawl::under`].
    pub fn join_line(&self) -> String {
        format!("echo $$ > {}/cgroup.procs", self.directory.display())
    }

    /// How many processes of the group were killed for want of memory.
    ///
    /// # Panics
    /// If the kernel doesn't say.
    pub fn kills(&self) -> u64 {
        let events = fs::read_to_string(self.directory.join(self.events)).expect("the group's events");
        let count = events.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.trim().parse().ok()).expect("a count of kills")
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // A group whose last process has just ended can be busy for a moment.
        for _ in 0..50 {
            if fs::remove_dir(&self.directory).is_ok() {
                return;
            }
            rest(Duration::from_millis(20));
        }
    }
}

/// A running program whose memory, with that of its descendants, is watched and, where this machine allows it, limited.
#[derive(Debug)]
pub struct Limited {
    running: Running,
    watch: Watch,
    group: Option<MemoryGroup>,
    limit: Peak,
}

impl Limited {
    /// Starts a program in a [`MemoryGroup`] of its own.
    pub fn start(command: Crawl, limit: Peak) -> Self {
        let group = MemoryGroup::new(limit.0);
        let command = match &group {
            Some(group) => command.under(&group.join_line()),
            None => command,
        };
        let running = command.start();
        Self { watch: Watch::over(running.pid()), running, group, limit }
    }

    /// Waits for the end, as [`Running::wait`].
    ///
    /// # Panics
    /// If the program takes longer than `patience`, if its memory wasn't measured, or if it passed the limit.
    #[track_caller]
    pub fn wait(self, patience: Duration) -> (Output, Peak) {
        let Self { running, watch, group, limit } = self;
        let output = running.wait(patience);
        let peak = watch.end();
        let kills = group.map_or(0, |group| group.kills());
        assert_eq!(kills, 0, "processes killed for passing {limit} of memory:\n{output}");
        assert!(peak > Peak(0) && peak < limit, "memory {peak}, limit {limit}:\n{output}");
        (output, peak)
    }
}

/// The most memory that a process had resident so far, in bytes; none when it is gone.
///
/// 0 while it is a child of this process that has not taken up its own program: until then it shares this process's memory (as `vfork` has
/// it, and shortly after `spawn` has returned too), and the kernel's mark would be this process's.
pub fn high_water(pid: u32) -> Option<u64> {
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    // Read first: once the program is its own, so is the mark.
    let own = pid == std::process::id() || program(&pid.to_string())? != program("self")?;
    let bytes = field_of_status(pid, "VmHWM:")?;
    Some(if own { bytes } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_peak_that_grows() {
        let before = high_water(std::process::id()).unwrap();
        let held = vec![1_u8; 64 << 20];
        let watch = Watch::over(std::process::id());
        rest(Duration::from_millis(100));
        assert!(watch.end() >= Peak(before.max(64 << 20)), "{}", held.len());
        assert_eq!(high_water(u32::MAX), None);
    }

    #[test]
    fn a_child_counts_once_it_runs_its_own_program() {
        use std::io::{BufRead as _, BufReader};
        use std::process::{Command, Stdio};

        // A child that still runs this program, as one does shortly after `spawn`: that it has printed a line shows that it runs.
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "memory::tests::this_process_has_a_peak_that_grows"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert!(matches!(high_water(child.id()), Some(0) | None));
        std::io::copy(&mut output, &mut std::io::sink()).unwrap();
        child.wait().unwrap();

        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.as_mut().unwrap(), child.stdout.take().unwrap());
        std::io::Write::write_all(input, b"runs\n").unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert!(high_water(child.id()).unwrap() > 0);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    /// Runs Python, which is asked to hold so many MB in the shell's child.
    fn shell_that_holds(megabytes: u32) -> String {
        format!(
            "python3 -c 'held = bytearray(b\"x\") * ({megabytes} << 20); print(1, flush=True); input()'; exit $?"
        )
    }

    #[test]
    fn the_peak_includes_processes_that_a_process_starts() {
        use std::io::{BufRead as _, BufReader};
        use std::process::{Command, Stdio};

        let mut shell = Command::new("sh")
            .args(["-c", &shell_that_holds(64)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(shell.stdout.take().unwrap());
        let watch = Watch::over(shell.id());
        output.read_line(&mut String::new()).unwrap();
        rest(Duration::from_millis(100));
        assert!(high_water(shell.id()).unwrap() < 32 << 20, "the shell itself is small");
        let peak = watch.end();
        assert!(peak >= Peak(64 << 20) && peak < Peak(128 << 20), "{peak}");
        drop(shell.stdin.take());
        shell.wait().unwrap();
        assert_eq!(resident_with_descendants(shell.id()), 0, "gone");
    }

    #[test]
    fn a_group_ends_a_process_whose_child_needs_more_than_its_limit() {
        use std::process::{Command, Stdio};

        let run = |limit: u64| {
            let group = MemoryGroup::new(limit)?;
            let line = format!("{}; {}", group.join_line(), shell_that_holds(64));
            let status = Command::new("sh")
                .args(["-c", &line])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            // At the end of its input Python ends with 1; the kernel's signal gives another code.
            Some((group.kills(), status.code()))
        };
        let Some(large) = run(256 << 20) else {
            eprintln!("SKIPPED: this machine lets nobody make control groups");
            return;
        };
        assert_eq!(large, (0, Some(1)));
        assert_eq!(run(32 << 20), Some((1, Some(137))));
    }
}
