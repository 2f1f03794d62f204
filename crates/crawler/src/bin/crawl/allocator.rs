//! Makes the allocator return memory.
//!
//! That of glibc takes its settings from the environment, when a process begins. By default it keeps what large bodies
//! took, once for each of up to eight heaps a processor: twice as much as is in use, with many hosts that send them.
//!
//! That of musl takes one lock for all threads, so a program for musl has jemalloc, with settings that come the same way.

use std::ffi::OsString;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// What a crawl runs with: two heaps, whose pages go back a tenth of a second after their last use,
/// with their addresses, which count under `ulimit -d`.
#[cfg(target_env = "musl")]
const SETTINGS: [(&str, &str); 1] =
    [("_RJEM_MALLOC_CONF", "narenas:2,dirty_decay_ms:100,muzzy_decay_ms:0,retain:false")];

/// What a crawl runs with: blocks of 128 KiB and more go back at once, and leave no gaps in the four heaps, at whose ends little is kept.
#[cfg(not(target_env = "musl"))]
const SETTINGS: [(&str, &str); 3] =
    [("MALLOC_MMAP_THRESHOLD_", "131072"), ("MALLOC_ARENA_MAX", "4"), ("MALLOC_TRIM_THRESHOLD_", "2097152")];

/// Re-executes the program with these settings, in the same process: same id, same streams, same arguments.
///
/// Does nothing if one of them is already set, by this or by the user, and on systems without these allocators. If the system
/// refuses, the process continues without them.
pub(crate) fn reexec(arguments: impl Iterator<Item = OsString>) {
    if !cfg!(all(target_os = "linux", any(target_env = "gnu", target_env = "musl")))
        || SETTINGS.iter().any(|(name, _)| std::env::var_os(name).is_some())
    {
        return;
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        let mut arguments = arguments;
        let (Ok(program), Some(name)) = (std::env::current_exe(), arguments.next()) else { return };
        let error = std::process::Command::new(program).arg0(name).args(arguments).envs(SETTINGS).exec();
        tracing::debug!("can't re-execute the program: {error}");
    }
}
