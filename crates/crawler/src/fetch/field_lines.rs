//! The header section of a response, read from its bytes where the HTTP client omits lines.
//!
//! The client drops a field line that has a control character, no colon, or a name that isn't a token (RFC 9110 section 5). A
//! restriction may be in it, so a header section with such a line is read again here: control characters are removed.

use std::collections::HashMap;

use hyper::HeaderMap;

use super::FieldLines;

/// Fields that say where a body ends, how it is coded, or where a redirect leads: a malformed line of theirs is never used.
const FRAMING: [&str; 4] = ["content-length", "transfer-encoding", "content-encoding", "location"];

/// Fields that only restrict. They are read even if other characters surround their names.
const RESTRICTIVE: [&str; 5] =
    ["x-robots-tag", "robots-tag", "content-usage", "content-signal", "tdm-reservation"];

/// Fields whose reader takes a control character both as part of a word and as its end.
const READ_BOTH_WAYS: [&str; 2] = ["x-robots-tag", "robots-tag"];

/// Most lines of one response that [`line_faults`] lists.
const MOST_FAULTS: usize = 20;

/// A field line that isn't valid HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LineFault {
    /// Number of the field line in the header section, from 0.
    pub position: usize,
    /// What is wrong with it.
    pub message: &'static str,
    /// The name of the field, in lower case; empty if it can't be read.
    pub name: String,
    /// Its value as it was read, or the whole line.
    pub value: Vec<u8>,
}

/// A field that may not have a control character has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the field {0} has a control character")]
pub(super) struct Malformed(String);

/// Returns the field lines of a response: those of the client, or those in `head`, its status line and header section as sent,
/// where that has lines that the client doesn't read.
///
/// Control characters are removed from names and values. Lines that can't be read all the same are omitted:
/// [`line_faults`] lists them.
pub(super) fn field_lines(of_client: &HeaderMap, head: Option<&[u8]>) -> (FieldLines, Result<(), Malformed>) {
    let Some(head) = head.filter(|head| !is_valid(head)) else {
        let lines = of_client.iter();
        let lines = lines.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec()));
        return (lines.collect(), Ok(()));
    };
    let mut outcome = Ok(());
    let lines = read(head).into_iter().filter_map(|line| {
        if line.fault.is_some() && FRAMING.contains(&line.name.as_str()) {
            outcome = Err(Malformed(line.name));
            return None;
        }
        (!line.is_unread).then_some((line.name, line.value))
    });
    (grouped(lines), outcome)
}

/// Returns the field lines in a status line and header section as archived, read as those of a response.
pub(crate) fn field_lines_of(head: &[u8]) -> FieldLines {
    grouped(read(head).into_iter().filter(|line| !line.is_unread).map(|line| (line.name, line.value)))
}

/// Lists the field lines of a header section as sent that aren't valid HTTP, whether they could be read or not: the first 20 and,
/// in their last place, how many more there are.
pub(crate) fn line_faults(head: &[u8]) -> Vec<LineFault> {
    if is_valid(head) {
        return Vec::new();
    }
    let mut faults: Vec<LineFault> = Vec::new();
    let mut more = 0_usize;
    for (position, line) in read(head).into_iter().enumerate() {
        let Some(message) = line.fault else { continue };
        if faults.len() == MOST_FAULTS {
            more += 1;
        } else {
            faults.push(LineFault { position, message, name: line.name, value: line.value });
        }
    }
    if more > 0 {
        let value = format!("{more}").into_bytes();
        faults.push(LineFault {
            position: 0,
            message: "more field lines that aren't valid HTTP",
            name: String::new(),
            value,
        });
    }
    faults
}

/// Whether the client reads every line as it is. Cost: one pass, no allocation.
fn is_valid(head: &[u8]) -> bool {
    lines_of(head).all(|line| {
        let Some(colon) = memchr::memchr(b':', line) else { return false };
        is_token(without_blanks(&line[..colon])) && !line[colon..].iter().any(|byte| is_control(*byte))
    })
}

/// A field name without the spaces and tabs behind it, which the client passes over.
fn without_blanks(mut name: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t'] = name {
        name = rest;
    }
    name
}

/// One field with the lines that continue it.
struct Line {
    name: String,
    value: Vec<u8>,
    fault: Option<&'static str>,
    is_unread: bool,
}

fn read(head: &[u8]) -> Vec<Line> {
    let mut fields: Vec<(&[u8], Vec<u8>)> = Vec::new();
    for line in lines_of(head) {
        let start = line.iter().position(|byte| !is_control(*byte)).unwrap_or_default();
        match fields.last_mut() {
            // RFC 9112 section 5.2: a line that begins with white space continues the one before.
            Some((_, folded)) if matches!(line.get(start), Some(b' ' | b'\t')) => {
                folded.push(b' ');
                folded.extend_from_slice(line.trim_ascii());
            }
            _ => fields.push((line, Vec::new())),
        }
    }
    fields.into_iter().map(|(line, folded)| read_line(line, &folded)).collect()
}

fn read_line(line: &[u8], folded: &[u8]) -> Line {
    let whole = || without_controls(&[line, folded].concat());
    let unread =
        |message| Line { name: String::new(), value: whole(), fault: Some(message), is_unread: true };
    let Some(colon) = memchr::memchr(b':', line) else {
        return unread("a header line without a colon, not read");
    };
    let written = without_controls(&line[..colon]);
    let mut name = written.trim_ascii();
    let mut is_mended = written.len() != colon || line.starts_with(b" ") || line.starts_with(b"\t");
    if !is_token(name) {
        let is_mark = |byte: &u8| !is_tchar(*byte) || matches!(byte, b'\'' | b'`');
        let start = name.iter().position(|byte| !is_mark(byte)).unwrap_or(name.len());
        let end = name.iter().rposition(|byte| !is_mark(byte)).map_or(start, |last| last + 1);
        name = &name[start..end];
        if !RESTRICTIVE.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes())) {
            return unread("a header line with an invalid name, ignored");
        }
        is_mended = true;
    }
    // A token is ASCII.
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let sent = [&line[colon + 1..], folded].concat();
    let mut value = without_controls(&sent);
    is_mended |= value.len() != sent.len();
    if READ_BOTH_WAYS.contains(&name.as_str()) {
        value = sent;
    }
    let is_edge = |byte: &u8| is_control(*byte) || byte.is_ascii_whitespace();
    let start = value.iter().position(|byte| !is_edge(byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_edge(byte)).map_or(start, |last| last + 1);
    let value = value[start..end].to_vec();
    let fault = is_mended.then_some("a header line that isn't valid HTTP, read all the same");
    Line { name, value, fault, is_unread: false }
}

/// The lines between the status line and the empty line, without their ends.
fn lines_of(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.skip(1).take_while(|line| !line.is_empty())
}

/// Brings lines of the same name together, at the place of the first one.
fn grouped(lines: impl Iterator<Item = (String, Vec<u8>)>) -> FieldLines {
    let mut places = HashMap::new();
    let mut groups: Vec<FieldLines> = Vec::new();
    for (name, value) in lines {
        let place = *places.entry(name.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push((name, value)),
            None => groups.push(vec![(name, value)]),
        }
    }
    groups.into_iter().flatten().collect()
}

fn without_controls(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| !is_control(*byte)).collect()
}

/// What a field value may not hold (RFC 9110 section 5.5).
fn is_control(byte: u8) -> bool {
    byte < b' ' && byte != b'\t' || byte == 0x7f
}

fn is_token(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| is_tchar(*byte))
}

/// Bytes of a field name (RFC 9110 section 5.6.2).
fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_head(fields: &[u8]) -> (FieldLines, Result<(), Malformed>) {
        let head = [b"HTTP/1.1 200 OK\r\n", fields, b"\r\n\r\n"].concat();
        field_lines(&HeaderMap::new(), Some(&head))
    }

    fn line(name: &str, value: &[u8]) -> (String, Vec<u8>) {
        (name.to_owned(), value.to_vec())
    }

    #[test]
    fn control_characters_are_removed_from_names_and_values() {
        for control in (1..=8).chain(11..=12).chain(14..=31).chain([0x7f]) {
            for name in
                ["Retry-After", "Cache-Control", "Content-Usage", "tdm-reservation", "Link", "Content-Type"]
            {
                for field in [
                    [name.as_bytes(), b": 1", &[control]].concat(),
                    [name.as_bytes(), b": ", &[control], b"1"].concat(),
                    [name.as_bytes(), &[control], b": 1"].concat(),
                    [&[control], name.as_bytes(), b": 1"].concat(),
                    [name.as_bytes(), b": 1\r\n\t", &[control]].concat(),
                ] {
                    let (lines, outcome) = read_head(&[b"A: b\r\n", &*field].concat());
                    let expected = [line("a", b"b"), line(&name.to_ascii_lowercase(), b"1")];
                    assert_eq!((lines.as_slice(), outcome), (&expected[..], Ok(())), "{control:x} {field:?}");
                }
            }
        }
    }

    #[test]
    fn x_robots_tag_keeps_control_characters_inside_its_value() {
        let (lines, _) =
            read_head(b"X-Robots-Tag: \x01noi\x01ndex\x0c\r\nrobots-tag:\x7f*=noindex\x0bnofollow");
        let expected = [line("x-robots-tag", b"noi\x01ndex"), line("robots-tag", b"*=noindex\x0bnofollow")];
        assert_eq!(lines, expected);
    }

    #[test]
    fn framing_fields_with_control_characters_are_malformed() {
        for name in ["Content-Length", "transfer-encoding", "CONTENT-ENCODING", "Location"] {
            for field in [format!("{name}: 5\x01"), format!("{name}\x01: 5"), format!("\x0c{name}: 5")] {
                let (_, outcome) = read_head(field.as_bytes());
                assert_eq!(outcome, Err(Malformed(name.to_ascii_lowercase())), "{field:?}");
            }
        }
        assert_eq!(read_head(b"Content-Length: 5\r\nA: b\x01").1, Ok(()));
    }

    #[test]
    fn names_values_and_folded_lines_are_read_without_what_surrounds_them() {
        let head = b"HTTP/1.1 200 OK\r\nX-A:b\r\nX-C : \t d \r\n: none\r\nno field\r\nX-E: f,\r\n g\r\n\th\r\nX-I:\r\n\
            X-\x01J\x7f: \x0c k\x1b\r\n\r\nX-Body: x";
        // RFC 9112 section 5.2: a fold is one or more spaces.
        let expected = [("x-a", "b"), ("x-c", "d"), ("x-e", "f, g h"), ("x-i", ""), ("x-j", "k")];
        let expected = expected.map(|(name, value)| line(name, value.as_bytes()));
        assert_eq!(field_lines_of(head), expected);
        assert_eq!(field_lines_of(b""), Vec::new());
    }

    #[test]
    fn lines_that_cant_be_read_are_listed_and_the_others_read() {
        let head = b"HTTP/1.1 200 OK\r\n X-Robots-Tag: none\r\ngarbage\x1b line\r\nX Foo: a\r\n b\r\n\
            \"X-Robots-Tag\"\xc2\xa0: noarchive\r\nX-Robots-Tag: noai\r\n: x\r\nA:\r\n\r\nbody: x";
        let (lines, outcome) = field_lines(&HeaderMap::new(), Some(head));
        let robots = ["none", "noarchive", "noai"].map(|value| line("x-robots-tag", value.as_bytes()));
        assert_eq!(lines, [&robots[..], &[line("a", b"")]].concat());
        assert_eq!(outcome, Ok(()));
        let faults: Vec<_> = line_faults(head)
            .into_iter()
            .map(|fault| (fault.position, fault.name, String::from_utf8(fault.value).unwrap()))
            .collect();
        let expected = [
            (0, "x-robots-tag", "none"),
            (1, "", "garbage line"),
            (2, "", "X Foo: a b"),
            (3, "x-robots-tag", "noarchive"),
            (5, "", ": x"),
        ]
        .map(|(position, name, value)| (position, name.to_owned(), value.to_owned()));
        assert_eq!(faults, expected);
    }

    #[test]
    fn a_flood_of_lines_is_counted() {
        let head = format!("HTTP/1.1 200 OK\r\n{}\r\n", "x\r\n".repeat(1_000));
        let faults = line_faults(head.as_bytes());
        assert_eq!(faults.len(), MOST_FAULTS + 1);
        assert_eq!(faults[MOST_FAULTS].value, b"980");
    }

    #[test]
    fn valid_lines_are_those_of_the_client() {
        let mut of_client = HeaderMap::new();
        of_client.insert("a", "b".parse().unwrap());
        for head in [
            &b"HTTP/1.1 200 OK\r\nA \t: b\r\n\r\n"[..],
            b"HTTP/1.0 200\nA:b\n\n",
            b"HTTP/1.1 200 OK\r\n\r\nx",
        ] {
            assert_eq!(field_lines(&of_client, Some(head)), (vec![line("a", b"b")], Ok(())));
            assert_eq!(line_faults(head), []);
        }
        assert_eq!(field_lines(&of_client, None).0, [line("a", b"b")]);
        // A line that continues another one is valid for the client, and no fault.
        let folded = b"HTTP/1.1 200 OK\r\nA: b,\r\n  c\r\n\r\n";
        assert_eq!(field_lines(&of_client, Some(folded)).0, [line("a", b"b, c")]);
        assert_eq!(line_faults(folded), []);
    }
}
