//! Pauses that sites asked for, recorded as soon as the head of a response is received.
//!
//! A pause is stored with the commit of its response: after its body is read. A process that is killed before would
//! forget it, and the next one would send a request too early. So each is appended to a file at once, which survives
//! the
//! process (not a power cut: the file isn't synced; the machine takes longer than most pauses to come back). The next process waits
//! for the rest, records that, and empties the file. A pause that was already recorded stays as it is.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use robots::StatusClass;
use serde::{Deserialize, Serialize};

use crate::nofollow;
use crate::pace::{BACK_OFF_FIRST, Delay, DelayReason};
use crate::store::StoreError;
use page::clock::{Boot, Clock};

/// The file's name in the output directory.
pub const FILE: &str = "pauses.jsonl";

/// When the file is this long, what is over is dropped from it.
const COMPACT_AT: u64 = 256 << 10;

/// One pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// Form of this record: 1.
    pub v: u32,
    /// The host that asked for it.
    pub host: String,
    /// The status of its answer.
    pub status: u16,
    /// How long, in milliseconds.
    pub wait_ms: u64,
    /// What set it.
    pub why: DelayReason,
    /// When, on the machine's own clock.
    pub boot: Option<Boot>,
}

impl Noted {
    /// The rest of the pause. All of it, if it is unknown how much time has passed.
    pub fn remaining(&self, now: Option<Boot>) -> Delay {
        let passed = now.and_then(|now| now.since(self.boot)).unwrap_or_default();
        Delay { length: Duration::from_millis(self.wait_ms).saturating_sub(passed), why: self.why }
    }
}

/// The pause that the head of an answer asks for, if it does.
fn pause(status: u16, retry_after: Option<Duration>) -> Option<Delay> {
    let own = Delay { length: BACK_OFF_FIRST, why: DelayReason::BackOff };
    let asked = retry_after.map(|length| Delay { length, why: DelayReason::RetryAfter });
    if StatusClass::of(status).is_pushback() {
        return Some(asked.map_or(own, |asked| own.or_longer(asked)));
    }
    asked
}

/// The file.
#[derive(Debug)]
pub struct PauseLog {
    path: PathBuf,
    clock: Clock,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    /// Made with the first pause.
    file: Option<File>,
    bytes: u64,
    compact_at: u64,
}

impl PauseLog {
    /// Takes up the file of an output directory; there may be none.
    pub fn open(root: &Path, clock: Clock) -> Result<Self, StoreError> {
        let path = root.join(FILE);
        let bytes = match fs::metadata(&path) {
            Ok(about) => about.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(source) => return Err(StoreError::Io { path, source }),
        };
        let open = Mutex::new(Open { file: None, bytes, compact_at: COMPACT_AT });
        Ok(Self { path, clock, open })
    }

    /// What the file holds. A line that was truncated by the end of its process is ignored.
    pub fn noted(&self) -> Result<impl Iterator<Item = Noted> + use<>, StoreError> {
        self.read().map_err(|source| StoreError::Io { path: self.path.clone(), source })
    }

    fn read(&self) -> io::Result<impl Iterator<Item = Noted> + use<>> {
        let file = match nofollow::open(&self.path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let lines = file.into_iter().flat_map(|file| BufReader::new(file).split(b'\n').map_while(Result::ok));
        Ok(lines.filter_map(|line| serde_json::from_slice(&line).ok()))
    }

    /// Notes what the head of an answer asks for; most ask for nothing.
    pub fn note(&self, host: &str, status: u16, retry_after: Option<Duration>) {
        let Some(Delay { length, why }) = pause(status, retry_after) else { return };
        let wait_ms = u64::try_from(length.as_millis()).unwrap_or(u64::MAX);
        let noted = Noted { v: 1, host: host.to_owned(), status, wait_ms, why, boot: self.clock.boot() };
        if let Err(error) = self.append(&noted) {
            // The commit that is to come meets the same disk, and says so.
            tracing::warn!(%error, "a pause can't be noted before its commit");
        }
    }

    fn append(&self, noted: &Noted) -> io::Result<()> {
        let mut line = serde_json::to_vec(noted)?;
        line.push(b'\n');
        let mut open = self.lock();
        if open.file.is_none() {
            open.file = Some(
                nofollow::options().create(true).append(true).open(&self.path).map_err(nofollow::explain)?,
            );
            if open.bytes > 0 {
                // The file of a killed process may end in the middle of a line.
                line.insert(0, b'\n');
            }
        }
        if let Some(file) = &mut open.file {
            file.write_all(&line)?;
        }
        open.bytes += line.len() as u64;
        if open.bytes >= open.compact_at {
            self.compact(&mut open)?;
        }
        Ok(())
    }

    /// Drops what is over.
    fn compact(&self, open: &mut Open) -> io::Result<()> {
        let now = self.clock.boot();
        let part = self.path.with_extension("part");
        let mut kept = BufWriter::new(nofollow::create(&part)?);
        for noted in self.read()?.filter(|noted| !noted.remaining(now).length.is_zero()) {
            serde_json::to_writer(&mut kept, &noted)?;
            kept.write_all(b"\n")?;
        }
        drop(kept.into_inner()?);
        fs::rename(&part, &self.path)?;
        let file = nofollow::options().append(true).open(&self.path).map_err(nofollow::explain)?;
        open.bytes = file.metadata()?.len();
        open.compact_at = COMPACT_AT.max(2 * open.bytes);
        open.file = Some(file);
        Ok(())
    }

    /// Removes the file: everything in it is on record.
    pub fn clear(&self) {
        let mut open = self.lock();
        if open.bytes == 0 {
            return;
        }
        open.file = None;
        open.bytes = 0;
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, "the pauses that are on record can't be dropped");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn only_what_asks_for_a_pause_is_noted() {
        assert_eq!(pause(200, None), None);
        assert_eq!(pause(500, None), None);
        let back_off = Delay { length: secs(60), why: DelayReason::BackOff };
        for status in [429, 503] {
            assert_eq!(pause(status, None), Some(back_off));
            assert_eq!(pause(status, Some(secs(5))), Some(back_off));
        }
        for status in [200, 301, 404, 429, 503] {
            let asked = Some(Delay { length: secs(90), why: DelayReason::RetryAfter });
            assert_eq!(pause(status, Some(secs(90))), asked);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_recorded_pause_continues_in_the_next_process() {
        let top = tempfile::tempdir().unwrap();
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let log = PauseLog::open(top.path(), clock).unwrap();
        log.note("a.test", 200, None);
        assert!(!top.path().join(FILE).exists());
        log.note("a.test", 429, Some(secs(3_600)));
        log.note("b.test", 503, None);
        // The process dies in the middle of a line.
        let cut = r#"{"v":1,"host":"c.te"#;
        File::options().append(true).open(top.path().join(FILE)).unwrap().write_all(cut.as_bytes()).unwrap();
        tokio::time::advance(secs(20)).await;
        let clock = clock.next_process(false);
        let log = PauseLog::open(top.path(), clock).unwrap();
        log.note("d.test", 404, Some(secs(9)));
        let noted: Vec<_> = log.noted().unwrap().collect();
        let remaining: Vec<_> = noted
            .iter()
            .map(|noted| (noted.host.as_str(), noted.remaining(clock.boot()).length.as_secs_f64().round()))
            .collect();
        assert_eq!(remaining, [("a.test", 3_580.0), ("b.test", 40.0), ("d.test", 9.0)]);
        let rebooted = clock.next_process(true).boot();
        assert_eq!(noted[0].remaining(rebooted).length, secs(3_600), "unknown: all of it");
        log.clear();
        assert!(!top.path().join(FILE).exists() && log.noted().unwrap().next().is_none());
        log.note("e.test", 429, None);
        assert_eq!(log.noted().unwrap().count(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_file_loses_what_is_over() {
        let top = tempfile::tempdir().unwrap();
        let clock = Clock::simulated("2026-01-01T00:00:00Z".parse().unwrap());
        let log = PauseLog::open(top.path(), clock).unwrap();
        log.note("long.test", 503, Some(secs(86_400)));
        for n in 0..9_000 {
            log.note(&format!("h{n}.test"), 200, Some(secs(60)));
            if n % 100 == 0 {
                tokio::time::advance(secs(10)).await;
            }
            assert!(fs::metadata(top.path().join(FILE)).unwrap().len() <= COMPACT_AT + 200);
        }
        let noted: Vec<_> = log.noted().unwrap().collect();
        assert_eq!(noted.first().map(|noted| noted.host.as_str()), Some("long.test"));
        assert_eq!(noted.last().map(|noted| noted.host.as_str()), Some("h8999.test"));
        assert!(noted.len() < 3_000, "{}", noted.len());
    }
}
