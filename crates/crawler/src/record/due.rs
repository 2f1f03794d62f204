//! When a stored page becomes unavailable: keys of tree `due`, in the order of time.

use jiff::Timestamp;

use super::link_key;
use page::ids::HostId;
use page::url::Fingerprint;

/// Key: seconds since 1970 (u64, big-endian), host id, fingerprint.
pub(crate) fn due_key(date: Timestamp, host: HostId, page: Fingerprint) -> Vec<u8> {
    // A fraction of a second is rounded up: never early, and at most a second late.
    let seconds = date.as_second() + i64::from(date.subsec_nanosecond() > 0);
    let mut key = u64::try_from(seconds).unwrap_or_default().to_be_bytes().to_vec();
    key.extend(link_key(host, page));
    key
}

/// Reads what [`due_key`] wrote.
pub(crate) fn read_due_key(key: &[u8]) -> Option<(Timestamp, HostId, Fingerprint)> {
    let (date, rest) = key.split_first_chunk::<8>()?;
    let (host, rest) = rest.split_first_chunk::<4>()?;
    let page = <[u8; 8]>::try_from(rest).ok()?;
    let date =
        i64::try_from(u64::from_be_bytes(*date)).ok().and_then(|at| Timestamp::from_second(at).ok())?;
    Some((date, HostId(u32::from_be_bytes(*host)), Fingerprint(u64::from_be_bytes(page))))
}
