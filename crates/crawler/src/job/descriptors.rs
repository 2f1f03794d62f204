//! How many requests the open-file limit of the process allows.

use std::num::NonZero;

/// Descriptors that the crawl needs beside its connections: database, archive, log, streams, runtime, DNS.
const OWN: usize = 32;

/// Requests in flight that the process has descriptors for: half of the remaining ones may be held by idle connections. No bound
/// where the system doesn't say (Linux does, in `/proc/self/limits`). Beyond it a crawl would still go on, by pauses.
pub(super) fn limit() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    soft_limit(&limits).map_or(usize::MAX, |limit| most(limit).get())
}

fn soft_limit(limits: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

fn most(limit: usize) -> NonZero<usize> {
    NonZero::new(limit.saturating_sub(OWN) / 2).unwrap_or(NonZero::<usize>::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_read_and_halved() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            64                   4096                 files     \n";
        assert_eq!(soft_limit(text), Some(64));
        assert_eq!(soft_limit(&text.replace("64 ", "unlimited ")), None);
        assert_eq!([0, 33, 64, 1024].map(|limit| most(limit).get()), [1, 1, 16, 496]);
        assert!(limit() > 0);
    }
}
