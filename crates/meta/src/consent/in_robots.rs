//! `Content-Usage` and `Content-Signal` lines of the robots.txt group that addresses us.

use jiff::Timestamp;

use super::{Location, Signal, Statement, out_of_form};
use crate::{Origin, Source};

/// Lines of a group that are read.
const LINES: usize = 1_000;

/// Is one line of the group that addresses us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RobotsLine<'a> {
    /// The field's name; other fields than the two are passed over.
    pub field: &'a str,
    /// The value without comment: a path, blanks, and the signals; without a path it's for `/`.
    pub value: &'a str,
    /// The line's number, from 1.
    pub line: u32,
}

/// Finds what the lines of a group say about a path (with query), for each of the two fields: the longest path that
/// matches decides, and of several lines with that path every one counts.
///
/// The caller has checked that robots.txt lets the path be fetched: a closed path has no preference at all.
pub fn robots_statements<'a>(
    lines: impl IntoIterator<Item = RobotsLine<'a>>,
    path: &str,
    at: Timestamp,
) -> Vec<Statement> {
    let mut matching: Vec<(Signal, usize, RobotsLine<'a>, &'a str)> = Vec::new();
    for line in lines.into_iter().take(LINES) {
        let signal = match line.field.trim() {
            field if field.eq_ignore_ascii_case("content-usage") => Signal::ContentUsage,
            field if field.eq_ignore_ascii_case("content-signal") => Signal::ContentSignal,
            _ => continue,
        };
        let (pattern, list) = split_path(line.value);
        let location = Location::new(pattern);
        if location.matches(path) {
            matching.push((signal, location.octets(), line, list));
        }
    }
    let longest = |signal| matching.iter().filter(|m| m.0 == signal).map(|m| m.1).max();
    let longest = [Signal::ContentUsage, Signal::ContentSignal].map(|signal| (signal, longest(signal)));
    let deciding = matching.iter().filter(|m| longest.contains(&(m.0, Some(m.1))));
    let read = deciding.flat_map(|(signal, _, line, list)| {
        let out_of_form::Read { clean, out_of_form } = out_of_form::read(*signal, list);
        let clean = clean.into_iter().map(|claim| (claim, ""));
        let denied = out_of_form.into_iter().map(|claim| (claim, " (out of form)"));
        clean.chain(denied).map(move |(claim, form)| {
            let name = format!("{}{form}", line.field);
            let source = Source::new(Origin::RobotsTxt, line.line, &name, line.value);
            Statement { signal: *signal, claim, source, at }
        })
    });
    read.collect()
}

/// Splits a value into path and list; the path begins with `/` or `*` and ends at the first blank.
fn split_path(value: &str) -> (&str, &str) {
    let value = value.trim();
    if value.starts_with(['/', '*']) {
        let end = value.find([' ', '\t']).unwrap_or(value.len());
        (&value[..end], value[end..].trim())
    } else {
        ("/", value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::statement::tests_support::words;

    fn said(lines: &[(&str, &str)], path: &str) -> String {
        let lines = lines.iter().zip(1..).map(|((field, value), line)| RobotsLine { field, value, line });
        let statements = robots_statements(lines, path, Timestamp::UNIX_EPOCH);
        words(&statements.iter().map(|s| s.claim).collect::<Vec<_>>())
    }

    #[test]
    fn the_longest_path_decides() {
        let lines = [
            ("Allow", "/"),
            ("Disallow", "/never/"),
            ("Content-Usage", "/ train-ai=n"),
            ("content-usage", "/ai-ok/\ttrain-ai=y"),
        ];
        assert_eq!(said(&lines, "/test"), "ai-train:deny");
        assert_eq!(said(&lines, "/ai-ok/x"), "ai-train:allow");
    }

    #[test]
    fn equal_paths_add_up_and_each_field_decides_for_itself() {
        let lines = [
            ("Content-Usage", "train-ai=y"),
            ("Content-Usage", "/ train-ai=n, search=y"),
            ("Content-signal", "search=yes, ai-train=no, use=reference"),
            ("Content-Signal", "/a* search=no"),
        ];
        assert_eq!(
            said(&lines, "/"),
            "ai-train:allow ai-train:deny search:allow search:allow ai-train:deny use:reference"
        );
        assert_eq!(said(&lines, "/abc"), "ai-train:allow ai-train:deny search:allow search:deny");
        assert_eq!(said(&[("Content-Usage", "/x train-ai=n")], "/y"), "");
    }

    #[test]
    fn the_line_is_kept_as_evidence() {
        let line = RobotsLine { field: "Content-Usage", value: "/ train-ai=n", line: 7 };
        let statements = robots_statements([line], "/", Timestamp::UNIX_EPOCH);
        assert_eq!(statements[0].source.to_string(), "robots.txt line 7: Content-Usage: / train-ai=n");
    }
}
