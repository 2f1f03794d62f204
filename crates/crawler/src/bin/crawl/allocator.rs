//! The allocator of the program, and what makes it return memory.
//!
//! On Linux it is jemalloc: a page takes some 300 blocks, most of which another thread gives back, and for these glibc's takes a lock
//! of its heaps, and musl's one lock for all threads. C libraries keep that of the system. Both get their settings from the environment,
//! when a process begins; by default they keep what large bodies took, which is several times what is in use.

use std::ffi::OsString;
use std::num::NonZeroUsize;

#[cfg(all(target_os = "linux", feature = "jemalloc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Variables of glibc's allocator: blocks of 128 KiB and more go back at once, and leave no gaps in the four heaps, at whose ends
/// little is kept.
const OF_GLIBC: [(&str, &str); 3] =
    [("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_ARENA_MAX", "4"), ("MALLOC_TRIM_THRESHOLD_", "2097152")];

/// The variable of jemalloc.
const OF_JEMALLOC: &str = "_RJEM_MALLOC_CONF";

/// The settings of jemalloc: a heap for each four processors, whose pages go back half a second after their last use, with their
/// addresses, which count under `ulimit -d`. Threads keep blocks of up to 128 KiB to themselves; those of 512 KiB and more go back at once.
fn of_jemalloc(processors: usize) -> String {
    let heaps = processors.div_ceil(4);
    format!(
        "narenas:{heaps},dirty_decay_ms:500,muzzy_decay_ms:0,retain:false,tcache_max:131072,oversize_threshold:524288"
    )
}

/// Re-executes the program with these settings, in the same process: same id, same streams, same arguments.
///
/// Does nothing if one of them is already set, by this or by the user, and on systems without these allocators. If the system
/// refuses, the process continues without them.
pub(crate) fn reexec(arguments: impl Iterator<Item = OsString>) {
    let mut settings = Vec::new();
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        settings.extend(OF_GLIBC.map(|(name, value)| (name, value.to_owned())));
    }
    if cfg!(all(target_os = "linux", feature = "jemalloc")) {
        let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        settings.push((OF_JEMALLOC, of_jemalloc(processors)));
    }
    if settings.is_empty() || settings.iter().any(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        let mut arguments = arguments;
        let (Ok(program), Some(name)) = (std::env::current_exe(), arguments.next()) else { return };
        let error = std::process::Command::new(program).arg0(name).args(arguments).envs(settings).exec();
        tracing::debug!("can't re-execute the program: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_processors_share_more_heaps() {
        for (processors, heaps) in [(1, 1), (2, 1), (4, 1), (5, 2), (64, 16)] {
            assert!(of_jemalloc(processors).starts_with(&format!("narenas:{heaps},")));
        }
    }
}
