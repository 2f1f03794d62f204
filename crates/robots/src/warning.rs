//! What the author of a file, and its reader, should know about single lines.

use std::fmt;

use serde::Serialize;

/// Names a line of a file and what is odd about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// The number of the line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// What is odd.
    pub kind: WarningKind,
    /// The line or the part of it that is meant, in lossy UTF-8, cut after 100 bytes; may be empty.
    pub text: String,
}

/// Says what is odd about a line or a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WarningKind {
    /// The file starts with a byte order mark.
    ByteOrderMark,
    /// The file is UTF-16.
    Utf16,
    /// The file is UTF-32.
    Utf32,
    /// The file is longer than the limit and was cut.
    TooLong,
    /// The file is an HTML page.
    Html,
    /// No line has a known field.
    NoKnownField,
    /// The line is longer than 16,663 bytes.
    LongLine,
    /// The line holds a NUL byte.
    Nul,
    /// A Unicode space, an invisible or a full-width character where plain ASCII is meant.
    OddCharacter,
    /// A line separator of Unicode, a vertical tab, a form feed or a written `\n` within the line.
    LineSeparator,
    /// The line isn't UTF-8.
    NotUtf8,
    /// The field is misspelt in a way that is read all the same.
    Typo,
    /// The field is unknown and looks like a misspelt known one: the line has no effect.
    LikelyTypo,
    /// The field is unknown: the line has no effect.
    UnknownField,
    /// The colon is missing.
    MissingColon,
    /// The line is no `field: value` pair.
    NotAPair,
    /// A rule before any user-agent line belongs to no robot.
    RuleBeforeAgent,
    /// A user-agent line without a name.
    EmptyAgent,
    /// Several names on a user-agent line.
    SeveralAgents,
    /// A name with other characters than letters, `-` and `_`.
    AgentCharacters,
    /// A group without rules at the end of the file.
    GroupWithoutRules,
    /// Blank lines part the user-agent line from its rules.
    BlankInGroup,
    /// No blank line before the user-agent line of a new group.
    NoBlankBetweenGroups,
    /// Several paths, or a path with a blank, on a line.
    SeveralPaths,
    /// A path that starts with neither `/` nor `*`.
    NoSlash,
    /// A full URL in place of a path.
    FullUrl,
    /// A full URL of another site.
    OtherSite,
    /// An Allow line without a path.
    EmptyAllow,
    /// A `%` without two hex digits.
    BadEscape,
    /// A `$` that isn't the last character.
    DollarInside,
    /// A Crawl-delay that is no number of seconds.
    BadDelay,
    /// A Request-rate that can't be read.
    BadRate,
    /// A Visit-time that can't be read.
    BadVisitTime,
    /// Text behind the value of a timing line.
    TextAfterValue,
    /// A Sitemap line without a URL.
    EmptySitemap,
    /// A Sitemap value that is no full URL.
    RelativeSitemap,
    /// A Content-Usage or Content-Signal value that can't be read.
    BadSignal,
    /// More Sitemap, Host, License, Comment, Clean-param or timing lines than are kept.
    TooManyLines,
    /// A `*` at the end of a path. This and the following kinds are those of [`lint`](crate::lint).
    TrailingStar,
    /// A regular expression in place of a path.
    RegularExpression,
    /// A `\` in a path.
    Backslash,
    /// A `/.extension$`, which matches only a file of this very name.
    BareExtension,
    /// A `#` within a path, which starts a comment.
    HashInPath,
    /// A line with an HTML tag.
    HtmlTag,
    /// An empty Disallow line beside other rules.
    EmptyDisallow,
    /// An Allow line that wins over no Disallow line of its group.
    AllowWithoutEffect,
    /// One path on an Allow and on a Disallow line of a group.
    AllowedAndDisallowed,
    /// A robot that an earlier group names as well.
    RepeatedAgent,
    /// Further warnings are not listed.
    More,
}

impl WarningKind {
    /// Returns the name used in outputs, e.g. `missing-colon`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// Says in a sentence what it means and what to do about it.
    pub fn advice(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> (&'static str, &'static str) {
        use WarningKind as K;
        match self {
            K::ByteOrderMark => (
                "byte-order-mark",
                "the file starts with a byte order mark; some robots then miss the first line: save it as UTF-8 without one",
            ),
            K::Utf16 => ("utf16", "the file is UTF-16; most robots can't read it: save it as UTF-8"),
            K::Utf32 => ("utf32", "the file is UTF-32; other robots can't read it: save it as UTF-8"),
            K::TooLong => (
                "too-long",
                "the file is too long; what follows the limit was not read: most robots stop after 500 KiB",
            ),
            K::Html => ("html", "this is an HTML page and not a robots.txt: serve plain text, or answer 404"),
            K::NoKnownField => ("no-known-field", "no line has a known field: the file has no effect"),
            K::LongLine => ("long-line", "the line is longer than 16,663 bytes; robots cut it"),
            K::Nul => ("nul", "the line holds a NUL byte; robots disagree on where it ends"),
            K::OddCharacter => (
                "odd-character",
                "the line holds a Unicode space, an invisible or a full-width character, or a control character; other robots \
                 take it literally and miss the line: type it again in plain ASCII",
            ),
            K::LineSeparator => (
                "line-separator",
                "the line holds a line separator that isn't LF, CR or CRLF, or a written \\n; most robots read the rest as a part of the \
                 same line: put each rule on a line of its own",
            ),
            K::NotUtf8 => ("not-utf8", "the line isn't UTF-8; its bytes over 127 are compared as %XX"),
            K::Typo => ("typo", "the field is misspelt; some robots will skip the line"),
            K::LikelyTypo => {
                ("likely-typo", "the field is unknown, so the line has no effect; it looks misspelt")
            }
            K::UnknownField => {
                ("unknown-field", "the field is unknown: the line has no effect; a comment starts with `#`")
            }
            K::MissingColon => {
                ("missing-colon", "the colon after the field is missing; some robots will skip the line")
            }
            K::NotAPair => (
                "not-a-pair",
                "the line isn't of the form `field: value`: it has no effect; a comment starts with `#`",
            ),
            K::RuleBeforeAgent => {
                ("rule-before-agent", "the rule is before any User-agent line: it applies to no robot")
            }
            K::EmptyAgent => ("empty-agent", "the User-agent line names no robot; write `*` for all robots"),
            K::SeveralAgents => (
                "several-agents",
                "several names on one line; most robots see only the first: give each its own User-agent line",
            ),
            K::AgentCharacters => (
                "agent-characters",
                "a name may hold only letters, `-` and `_`; robots cut it at the first other character",
            ),
            K::GroupWithoutRules => (
                "group-without-rules",
                "the group has no rules: everything is allowed to the robots that it names",
            ),
            K::BlankInGroup => (
                "blank-in-group",
                "a blank line parts the User-agent line from its rules; old robots end the group there",
            ),
            K::NoBlankBetweenGroups => (
                "no-blank-between-groups",
                "no blank line before this new group; very old robots join it to the one above",
            ),
            K::SeveralPaths => (
                "several-paths",
                "a line takes one path; write each path on a line of its own, and a blank in a path as %20",
            ),
            K::NoSlash => {
                ("no-slash", "the path doesn't start with `/` or `*`: most robots will never match it")
            }
            K::FullUrl => {
                ("full-url", "a full URL where a path is expected: most robots will never match it")
            }
            K::OtherSite => ("other-site", "the URL belongs to another site: the line has no effect here"),
            K::EmptyAllow => ("empty-allow", "an Allow line without a path has no effect"),
            K::BadEscape => ("bad-escape", "a `%` without two hex digits; write a literal one as %25"),
            K::DollarInside => (
                "dollar-inside",
                "a `$` marks the end of the URL only as the last character; here it is a literal one",
            ),
            K::BadDelay => ("bad-delay", "the delay is no number of seconds: the line has no effect"),
            K::BadRate => (
                "bad-rate",
                "not of the form `pages/time` with an optional `hhmm-hhmm`: the line has no effect",
            ),
            K::BadVisitTime => ("bad-visit-time", "not of the form `hhmm-hhmm`: the line has no effect"),
            K::TextAfterValue => (
                "text-after-value",
                "the text after the value is ignored; other robots may skip the line: write a plain number \
                 of seconds, and explanations behind a `#`",
            ),
            K::EmptySitemap => ("empty-sitemap", "the Sitemap line has no URL"),
            K::RelativeSitemap => ("relative-sitemap", "a Sitemap value must be a full URL"),
            K::BadSignal => ("bad-signal", "the preferences can't be read: the line says nothing"),
            K::TooManyLines => (
                "too-many-lines",
                "the file has more Sitemap, Host, License, Comment, Clean-param or timing lines than are kept; of timing lines the \
                 slowest counts",
            ),
            K::TrailingStar => (
                "trailing-star",
                "a `*` at the end means nothing, as a rule matches every path that begins with it; old robots take it \
                 literally: leave it out",
            ),
            K::RegularExpression => (
                "regular-expression",
                "this looks like a regular expression; in a path only `*` (anything) and `$` (the end) have a meaning",
            ),
            K::Backslash => ("backslash", "a `\\` parts no directories in a URL: write `/`"),
            K::BareExtension => (
                "bare-extension",
                "this matches only a file of this very name; `/*.extension$` matches all files that end so",
            ),
            K::HashInPath => (
                "hash-in-path",
                "a `#` starts a comment, so the path ends before it; write one that belongs to the path as %23",
            ),
            K::HtmlTag => ("html-tag", "the line holds HTML; a robots.txt is plain text"),
            K::EmptyDisallow => (
                "empty-disallow",
                "an empty Disallow line forbids nothing and changes nothing beside other rules; `/` forbids everything",
            ),
            K::AllowWithoutEffect => (
                "allow-without-effect",
                "no Disallow line of the group covers this path, or only a longer one does: the line changes nothing, and \
                 it forbids nothing else",
            ),
            K::AllowedAndDisallowed => (
                "allowed-and-disallowed",
                "the group allows and disallows this path: most robots take it for allowed, older ones for disallowed",
            ),
            K::RepeatedAgent => (
                "repeated-agent",
                "an earlier group names this robot too; some robots read only the first one: write one group",
            ),
            K::More => ("more", "further warnings are not listed"),
        }
    }
}

impl fmt::Display for Warning {
    /// Writes one sentence, e.g. ``line 3: `Disalow: /x`: the field is misspelt; some robots will skip the line``.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if !self.text.is_empty() {
            write!(f, "`{}`: ", self.text)?;
        }
        f.write_str(self.kind.advice())
    }
}

/// Collects warnings up to a bound; says at the end that there were more.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    list: Vec<Warning>,
    quiet: bool,
}

/// Warnings kept of one file.
const MOST: usize = 200;

impl Notes {
    /// Drops everything that is noted.
    pub(crate) fn quiet() -> Self {
        Self { list: Vec::new(), quiet: true }
    }

    pub(crate) fn add(&mut self, line: u32, kind: WarningKind, text: &[u8]) {
        // What concerns the file as a whole is never dropped.
        if self.quiet || self.list.len() > MOST && line > 0 {
            return;
        }
        let warning = if self.list.len() == MOST && line > 0 {
            Warning { line, kind: WarningKind::More, text: String::new() }
        } else {
            Warning { line, kind, text: lossy(text, 100) }
        };
        self.list.push(warning);
    }

    pub(crate) fn into_list(mut self) -> Vec<Warning> {
        self.list.sort_by_key(|warning| (warning.kind == WarningKind::More, warning.line));
        self.list
    }
}

/// Decodes bytes for people: lossy UTF-8, cut after `most` bytes, control characters dropped.
pub(crate) fn lossy(bytes: &[u8], most: usize) -> String {
    let cut = bytes.len() > most;
    let mut text = String::from_utf8_lossy(&bytes[..bytes.len().min(most)]).into_owned();
    if text.contains(char::is_control) {
        text.retain(|c| !c.is_control() || c == '\t');
    }
    if cut {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_cut_and_has_no_control_characters() {
        assert_eq!(lossy(b"abc", 3), "abc");
        assert_eq!(lossy(b"abcd", 3), "abc\u{2026}");
        assert_eq!(lossy(b"a\tb\x01\x1bc", 9), "a\tbc");
    }
}
