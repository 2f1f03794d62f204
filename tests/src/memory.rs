//! Watches the memory of a running program.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::wire::rest;

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

fn high_water(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
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
}
