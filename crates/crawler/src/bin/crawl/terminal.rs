//! Messages to the user on stderr, and whether they are coloured.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::{ColorChoice, ValueEnum};
use page::clean::clean;

/// When messages are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// Returns whether a stream is coloured. `NO_COLOR` counts when it is set and not empty (no-color.org).
    pub(crate) fn allows(self, is_terminal: bool, no_color: Option<&OsString>) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && no_color.is_none_or(|value| value.is_empty()),
        }
    }

    /// Finds `--color` before the command line is read, because help and usage errors are coloured as well.
    pub(crate) fn asked(args: &[OsString]) -> Self {
        let args: Vec<_> =
            args.iter().map(|arg| arg.to_string_lossy()).take_while(|arg| arg != "--").collect();
        let joined = args.iter().filter_map(|arg| arg.strip_prefix("--color="));
        let apart = args.windows(2).filter(|pair| pair[0] == "--color").map(|pair| pair[1].as_ref());
        joined.chain(apart).find_map(|name| Self::from_str(name, false).ok()).unwrap_or_default()
    }

    pub(crate) fn for_help(self) -> ColorChoice {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
    }
}

/// Messages to the user, on stderr; results go to stdout.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Console {
    /// Results and progress are JSON lines.
    pub(crate) json: bool,
    /// Only errors are printed.
    pub(crate) quiet: bool,
    /// 0 results and warnings, 1 what happens, 2 every decision.
    pub(crate) verbose: u8,
    /// When messages are coloured.
    pub(crate) color: Color,
}

impl Console {
    /// Returns whether stderr is coloured.
    pub(crate) fn colors_stderr(self) -> bool {
        self.color.allows(io::stderr().is_terminal(), std::env::var_os("NO_COLOR").as_ref())
    }

    /// Prints an error.
    pub(crate) fn error(self, what: &str) {
        self.say("error", "\x1b[1;31m", what);
    }

    /// Prints a warning, unless quiet.
    pub(crate) fn warning(self, what: &str) {
        if !self.quiet {
            self.say("warning", "\x1b[1;33m", what);
        }
    }

    /// Prints a note, unless quiet.
    pub(crate) fn note(self, what: &str) {
        if !self.quiet {
            self.say("note", "\x1b[1m", what);
        }
    }

    fn say(self, label: &str, color: &str, what: &str) {
        let (on, off) = if self.colors_stderr() { (color, "\x1b[0m") } else { ("", "") };
        // If stderr can't be written, there is nowhere to report it.
        drop(writeln!(io::stderr().lock(), "{on}{label}:{off} {}", clean(what)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_is_for_terminals_and_for_who_asks() {
        let (set, empty) = (OsString::from("1"), OsString::new());
        for (color, terminal, no_color, expected) in [
            (Color::Auto, true, None, true),
            (Color::Auto, false, None, false),
            (Color::Auto, true, Some(&set), false),
            (Color::Auto, true, Some(&empty), true),
            (Color::Always, false, Some(&set), true),
            (Color::Never, true, None, false),
        ] {
            assert_eq!(color.allows(terminal, no_color), expected, "{color:?} {terminal} {no_color:?}");
        }
    }

    #[test]
    fn the_wish_is_known_before_the_line_is_read() {
        for (line, expected) in [
            ("crawl --color never --help", Color::Never),
            ("crawl show --color=always", Color::Always),
            ("crawl --color blue", Color::Auto),
            ("crawl -- --color never", Color::Auto),
            ("crawl", Color::Auto),
        ] {
            let args: Vec<_> = line.split(' ').map(OsString::from).collect();
            assert_eq!(Color::asked(&args), expected, "{line}");
        }
    }
}
