//! Watches the memory of a running program.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::hostile::wire::rest;

/// The most memory that a program had resident, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peak(pub u64);

impl std::fmt::Display for Peak {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} MB", self.0 / 1_000_000)
    }
}

/// A watch over one process; reads the kernel's own high-water mark until the process is gone.
///
/// What a process takes in its very last moments (10 ms) is missed.
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
                mark.fetch_max(bytes, Ordering::Relaxed);
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

/// The most memory that a process had resident so far, in bytes; none when it is gone.
///
/// 0 while it is a child of this process that has not taken up its own program: until then it shares this process's memory (as `vfork` has
/// it, and shortly after `spawn` has returned too), and the kernel's mark would be this process's.
pub fn high_water(pid: u32) -> Option<u64> {
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    // Read first: once the program is its own, so is the mark.
    let own = pid == std::process::id() || program(&pid.to_string())? != program("self")?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let bytes = line.split_whitespace().next()?.parse::<u64>().ok()? * 1024;
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
}
