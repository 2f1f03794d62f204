//! `Content-Usage` and `Content-Signal` lines of the robots.txt group that addresses us.

use jiff::Timestamp;
use robots::memory::{block, list};
use serde::{Deserialize, Serialize};

use super::location::normalise;
use super::{Claim, Consent, Location, Purpose, Signal, Statement, malformed};
use crate::{Source, SourceKind};

/// Lines of a group that are read.
const LINES: usize = 1_000;

/// Bytes of all these lines together, without the fields' names.
const TEXT: usize = 64 * 1024;

/// Longest line that is read, in bytes.
const LINE: usize = 2_048;

/// One line of the group that addresses us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RobotsLine<'a> {
    /// The field's name; other fields than the two are passed over.
    pub field: &'a str,
    /// The value without comment: a path, blanks, and the signals; without a path it's for `/`.
    pub value: &'a str,
    /// The line's number, from 1.
    pub line: u32,
}

/// One line as it is kept with a robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentLine {
    /// Its number, from 1.
    pub line: u32,
    /// Which of the two fields it is.
    pub signal: Signal,
    /// Its value as written.
    pub value: String,
}

/// Lines that weren't read, because there are too many of them or they are too long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadLines {
    /// The first of them.
    pub line: u32,
    /// Its field.
    pub signal: Signal,
    /// How many they are.
    pub count: u32,
    /// What every path begins with that they could speak of, percent-escapes normalised.
    pub start: String,
}

/// Holds the lines of one robots.txt: those of the two fields in the group that addresses us, in file order.
///
/// At most 1,000 lines with 64 KiB of text, each of at most 2 KiB. Further ones aren't read, and deny every use of the
/// pages that they could speak of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConsentLines {
    /// The lines that are read.
    pub lines: Vec<ConsentLine>,
    /// The others, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<UnreadLines>,
}

impl ConsentLines {
    /// Takes the lines of a group, in any order; other fields are passed over.
    pub fn read<'a>(lines: impl IntoIterator<Item = RobotsLine<'a>>) -> Self {
        let mut lines: Vec<(Signal, RobotsLine<'a>)> =
            lines.into_iter().filter_map(|line| Some((signal(line.field)?, line))).collect();
        lines.sort_by_key(|(_, line)| line.line);
        let mut read = Self::default();
        let mut text = 0;
        for (signal, line) in lines {
            text += line.value.len();
            let is_over = read.lines.len() >= LINES || text > TEXT || line.value.len() > LINE;
            if is_over {
                read.leave(signal, line);
            } else {
                read.lines.push(ConsentLine { line: line.line, signal, value: line.value.to_owned() });
            }
        }
        read
    }

    /// Counts a line that isn't read.
    fn leave(&mut self, signal: Signal, line: RobotsLine<'_>) {
        let location = Location::new(split_path(line.value).0);
        let start = String::from_utf8_lossy(location.literal_start());
        match &mut self.unread {
            None => {
                let start = start.into_owned();
                self.unread = Some(UnreadLines { line: line.line, signal, count: 1, start });
            }
            Some(unread) => {
                unread.count += 1;
                let common = unread.start.bytes().zip(start.bytes()).take_while(|(a, b)| a == b).count();
                unread.start.truncate(unread.start.floor_char_boundary(common));
            }
        }
    }

    /// Returns the bytes that this takes on the heap, with what an allocator adds to each block.
    pub fn memory(&self) -> usize {
        let unread = self.unread.as_ref().map_or(0, |unread| block(unread.start.capacity()));
        let values = self.lines.iter().map(|line| block(line.value.capacity()));
        list::<ConsentLine>(self.lines.capacity()) + values.sum::<usize>() + unread
    }

    /// Returns whether nothing is said.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.unread.is_none()
    }
}

impl From<&robots::Signals> for ConsentLines {
    /// Takes the Content-Usage and Content-Signal lines of a robots.txt that was read for us.
    fn from(signals: &robots::Signals) -> Self {
        let usage = signals.content_usage().iter().map(|line| ("Content-Usage", line));
        let signal = signals.content_signal().iter().map(|line| ("Content-Signal", line));
        let lines =
            usage.chain(signal).map(|(field, line)| RobotsLine { field, value: &line.raw, line: line.line });
        // Behind so many lines none is read: of these the paths are enough.
        let usage = signals.later_usage().map(|(line, path)| (Signal::ContentUsage, line, path));
        let signal = signals.later_signal().map(|(line, path)| (Signal::ContentSignal, line, path));
        let mut later: Vec<_> = usage.chain(signal).collect();
        later.sort_by_key(|&(_, line, _)| line);
        let mut read = Self::read(lines);
        for (signal, line, path) in &later {
            read.leave(*signal, RobotsLine { field: "", value: path, line: *line });
        }
        read
    }
}

impl UnreadLines {
    /// Says in words what wasn't read.
    pub fn words(&self) -> String {
        let lines = if self.count == 1 { "line wasn't" } else { "lines weren't" };
        let start = if self.start.len() > 1 { format!(" of {}", self.start) } else { String::new() };
        format!(
            "{} {lines} read, this one first (limits: {LINES} lines, {TEXT} bytes in all, {LINE} in one): every use{start} is denied",
            self.count
        )
    }
}

/// Answers what the lines of one robots.txt say about paths.
///
/// Cost of an answer: at most the text of the lines times the path.
#[derive(Debug, Clone, Default)]
pub struct RobotsSignals {
    lines: Vec<Prepared>,
    unread: Option<UnreadLines>,
}

#[derive(Debug, Clone)]
struct Prepared {
    line: u32,
    signal: Signal,
    location: Location,
    value: String,
    said: malformed::Read,
}

impl RobotsSignals {
    /// Prepares lines for many paths.
    pub fn new(lines: &ConsentLines) -> Self {
        let prepare = |line: &ConsentLine| {
            let (path, list) = split_path(&line.value);
            Prepared {
                line: line.line,
                signal: line.signal,
                location: Location::new(path),
                value: line.value.clone(),
                said: malformed::read(line.signal, list),
            }
        };
        Self { lines: lines.lines.iter().map(prepare).collect(), unread: lines.unread.clone() }
    }

    /// Finds what the lines say about a path (with query), for each of the two fields: the longest path that matches
    /// decides, and of several lines with that path every one counts. Where lines weren't read that could speak of the
    /// path, every use is denied.
    ///
    /// The caller has checked that robots.txt lets the path be fetched: a closed path has no preference at all.
    pub fn statements(&self, path: &str, at: Timestamp) -> Vec<Statement> {
        let deciding = self.deciding(path);
        let read = deciding.flat_map(|line| {
            let clean = line.said.clean.iter().map(|claim| (*claim, ""));
            let denied = line.said.malformed.iter().map(|claim| (*claim, " (malformed)"));
            clean.chain(denied).map(|(claim, form)| {
                let name = format!("{}{form}", name(line.signal));
                let source = Source::new(SourceKind::RobotsTxt, line.line, &name, &line.value);
                Statement { signal: line.signal, claim, source, at }
            })
        });
        let mut statements: Vec<Statement> = read.collect();
        if let Some(unread) = self.unread_about(path) {
            let source =
                Source::new(SourceKind::RobotsTxt, unread.line, name(unread.signal), &unread.words());
            let deny = |purpose| Statement {
                signal: unread.signal,
                claim: Claim::Purpose(purpose, Consent::Deny),
                source: source.clone(),
                at,
            };
            statements.extend(Purpose::ALL.map(deny));
        }
        statements
    }

    /// Returns the bytes that this takes on the heap, with what an allocator adds to each block.
    pub fn memory(&self) -> usize {
        let line = |line: &Prepared| {
            line.location.memory()
                + block(line.value.capacity())
                + list::<Claim>(line.said.clean.capacity())
                + list::<Claim>(line.said.malformed.capacity())
        };
        let unread = self.unread.as_ref().map_or(0, |unread| block(unread.start.capacity()));
        list::<Prepared>(self.lines.capacity()) + self.lines.iter().map(line).sum::<usize>() + unread
    }

    /// Returns the numbers of the lines that decide about a path, those of `Content-Usage` first.
    pub fn deciding_lines(&self, path: &str) -> Vec<u32> {
        self.deciding(path).map(|line| line.line).collect()
    }

    /// Tells of the lines that weren't read, where they could speak of a path.
    pub fn unread_about(&self, path: &str) -> Option<&UnreadLines> {
        let path = normalise(path);
        self.unread.as_ref().filter(|unread| path.starts_with(unread.start.as_bytes()))
    }

    fn deciding(&self, path: &str) -> impl Iterator<Item = &Prepared> {
        let path = normalise(path);
        let matching: Vec<&Prepared> =
            self.lines.iter().filter(|line| line.location.matches_normalised(&path)).collect();
        [Signal::ContentUsage, Signal::ContentSignal].into_iter().flat_map(move |signal| {
            let of_field = matching.iter().copied().filter(move |line| line.signal == signal);
            let longest = of_field.clone().map(|line| line.location.bytes()).max();
            of_field.filter(move |line| Some(line.location.bytes()) == longest).collect::<Vec<_>>()
        })
    }
}

/// As [`RobotsSignals::statements`], for one path.
pub fn robots_statements<'a>(
    lines: impl IntoIterator<Item = RobotsLine<'a>>,
    path: &str,
    at: Timestamp,
) -> Vec<Statement> {
    RobotsSignals::new(&ConsentLines::read(lines)).statements(path, at)
}

fn signal(field: &str) -> Option<Signal> {
    match field.trim() {
        field if field.eq_ignore_ascii_case("content-usage") => Some(Signal::ContentUsage),
        field if field.eq_ignore_ascii_case("content-signal") => Some(Signal::ContentSignal),
        _ => None,
    }
}

fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::ContentUsage => "Content-Usage",
        _ => "Content-Signal",
    }
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

    /// Returns whether a declared search is denied for a path.
    fn denies_search(lines: &ConsentLines, path: &str) -> bool {
        let statements = RobotsSignals::new(lines).statements(path, Timestamp::UNIX_EPOCH);
        super::super::combine(&statements).consent(Purpose::Search) == Some(Consent::Deny)
    }

    fn lines(values: impl Iterator<Item = String>) -> ConsentLines {
        let values: Vec<String> = values.collect();
        let line = |(value, line)| RobotsLine { field: "Content-Signal", value, line };
        ConsentLines::read(values.iter().map(String::as_str).zip(1..).map(line))
    }

    #[test]
    fn lines_over_the_limit_deny_what_they_could_speak_of() {
        let allow = |from: usize, to: usize| (from..to).map(|n| format!("/a/{n} search=yes"));
        let whole = lines(allow(0, LINES));
        assert!(whole.unread.is_none() && !denies_search(&whole, "/a/7"));
        // The last line says no; its path is unknown until it is read.
        let over = lines(allow(0, LINES).chain([String::from("/b/ search=no")]));
        assert_eq!(over.unread.as_ref().map(|unread| (unread.line, unread.count)), Some((1001, 1)));
        assert!(
            denies_search(&over, "/b/") && denies_search(&over, "/b/x?y") && denies_search(&over, "/%62/x")
        );
        assert!(!denies_search(&over, "/a/7") && !denies_search(&over, "/"));
        let more = lines(allow(0, LINES).chain(["/b/c search=no".to_owned(), "/b/d* search=no".to_owned()]));
        assert!(denies_search(&more, "/b/x") && !denies_search(&more, "/a/7"));
        for path in ["* search=no", "search=no", "/*/x search=no"] {
            let all = lines(allow(0, LINES).chain([path.to_owned()]));
            assert!(denies_search(&all, "/a/7") && denies_search(&all, "/"), "{path}");
        }
        let every = RobotsSignals::new(&over).statements("/b/", Timestamp::UNIX_EPOCH);
        let denied: Vec<_> = every.iter().map(|s| s.claim.purpose_name()).collect();
        assert_eq!(denied, Purpose::ALL.map(Purpose::name));
        let place = every[0].source.to_string();
        assert!(place.starts_with("robots.txt line 1001: Content-Signal: 1 line wasn't read"), "{place}");
    }

    #[test]
    fn long_lines_and_much_text_are_over_the_limit() {
        let long = lines([format!("/x {}search=no", " ".repeat(LINE))].into_iter());
        assert!(long.lines.is_empty() && denies_search(&long, "/x") && !denies_search(&long, "/y"));
        let much = lines((0..100).map(|n| format!("/{n}{} search=no", "x".repeat(1_000))));
        assert_eq!((much.lines.len(), much.unread.as_ref().map(|unread| unread.line)), (64, Some(65)));
        assert!(denies_search(&much, "/"));
        let text: usize = much.lines.iter().map(|line| line.value.len()).sum();
        assert!(text <= TEXT);
    }

    #[test]
    fn what_is_kept_says_the_same_when_it_is_read_again() {
        let kept = lines((0..1_100).map(|n| format!("/{} ai-train: no, search=yes", n % 7)));
        let again: ConsentLines = serde_json::from_str(&serde_json::to_string(&kept).unwrap()).unwrap();
        let said = |lines: &ConsentLines| RobotsSignals::new(lines).statements("/3", Timestamp::UNIX_EPOCH);
        assert_eq!(said(&again), said(&kept));
        assert_eq!(RobotsSignals::new(&kept).deciding_lines("/3")[..3], [4, 11, 18]);
    }

    #[test]
    fn what_was_not_read_is_said_with_the_paths_that_it_may_speak_of() {
        let words = |count, start: &str| {
            UnreadLines { line: 7, signal: Signal::ContentUsage, count, start: start.to_owned() }.words()
        };
        assert!(
            words(1, "/").starts_with("1 line wasn't read") && words(1, "/").ends_with("every use is denied")
        );
        assert!(
            words(2, "").starts_with("2 lines weren't read") && words(2, "").ends_with("every use is denied")
        );
        assert!(words(3, "/p").ends_with("every use of /p is denied"));
        assert!(words(3, "/private/").ends_with("every use of /private/ is denied"));
    }
}
