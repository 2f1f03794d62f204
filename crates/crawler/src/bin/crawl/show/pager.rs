//! Where a result goes: standard output, or on a terminal the pager of the user.

use std::ffi::OsString;
use std::io::{self, BufWriter, Stdout, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Standard output, perhaps through a pager: `$PAGER`, or `less -FRX`, which ends by itself where everything fits on the screen. An empty
/// `PAGER`, and one that can't be started, is none.
pub(crate) enum Pager {
    Plain(BufWriter<Stdout>),
    Paged(Child, BufWriter<ChildStdin>),
}

impl Pager {
    /// Starts it where it is wanted.
    pub(crate) fn start(is_wanted: bool) -> Self {
        let paged = if is_wanted { Self::paged(std::env::var_os("PAGER")) } else { None };
        paged.unwrap_or_else(|| Self::Plain(BufWriter::new(io::stdout())))
    }

    fn paged(pager: Option<OsString>) -> Option<Self> {
        let mut command = match pager {
            Some(pager) if pager.is_empty() => return None,
            // It may have options of its own, as in `less -S`.
            Some(pager) => {
                let mut command = Command::new("sh");
                command.arg("-c").arg(pager);
                command
            }
            None => {
                let mut command = Command::new("less");
                command.arg("-FRX");
                command
            }
        };
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let stdin = child.stdin.take()?;
        Some(Self::Paged(child, BufWriter::new(stdin)))
    }

    /// Writes what is still held, and waits until the user has seen it.
    pub(crate) fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut out) => {
                let flushed = out.flush();
                // What is still in the buffer has been written, or nobody wants it.
                let (_, _) = out.into_parts();
                flushed
            }
            Self::Paged(mut child, mut out) => {
                let flushed = out.flush();
                let (stdin, _) = out.into_parts();
                drop(stdin);
                child.wait()?;
                flushed
            }
        }
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Paged(_, out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Paged(_, out) => out.flush(),
        }
    }
}
