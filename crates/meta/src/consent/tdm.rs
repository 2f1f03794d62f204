//! `TDMRep`: reservation of text and data mining (W3C community group report).

mod entries;

use robots::memory::{block, list};
use serde::{Deserialize, Serialize};

use self::entries::Entries;
use super::location::Location;
use crate::fold::{Word, words};
use crate::walk::{cut, trim};
use crate::{DirectiveSource, Directives, Source, SourceKind, Sources, Warning};

/// Bytes of `/.well-known/tdmrep.json` that are read; a longer file is not used.
pub const FILE_LIMIT: usize = 512 * 1024;
/// Entries that are kept.
const ENTRY_LIMIT: usize = 1_000;
const RESERVATION: &str = "tdm-reservation";
const POLICY: &str = "tdm-policy";
/// Bytes of a policy's URL that are kept.
const POLICY_LIMIT: usize = 2_048;

/// What one place says about text and data mining.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reservation {
    /// 1 = reserved, 0 = not; nothing for any other value.
    pub reservation: Option<u8>,
    /// URL of the policy.
    pub policy: Option<String>,
}

/// The site's file `/.well-known/tdmrep.json`.
#[derive(Debug, Clone, Default)]
pub struct TdmFile {
    entries: Vec<(Location, Reservation)>,
    /// There is more than is kept.
    is_cut: bool,
}

impl TdmFile {
    /// Reads the file; nothing in it that is no entry stops the reading of the others. A file that is no JSON array
    /// says nothing. Paths that no entry matches are reserved where there are more entries than are kept (1,000), and all
    /// paths where the file is too long to be read.
    pub fn parse(file: &[u8]) -> Self {
        // A byte order mark isn't JSON, but many files begin with one.
        let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        let Entries { kept, count } = match file.len() {
            0..=FILE_LIMIT => serde_json::from_slice(file).unwrap_or_default(),
            _ => Entries::default(),
        };
        Self { entries: kept, is_cut: file.len() > FILE_LIMIT || count > ENTRY_LIMIT }
    }

    /// Returns the bytes that this takes on the heap, with what an allocator adds to each block.
    pub fn memory(&self) -> usize {
        let entry = |(location, reservation): &(Location, Reservation)| {
            location.memory() + reservation.policy.as_ref().map_or(0, |policy| block(policy.capacity()))
        };
        list::<(Location, Reservation)>(self.entries.capacity())
            + self.entries.iter().map(entry).sum::<usize>()
    }

    /// Finds what the file says about a path (with query): the first entry that matches.
    pub fn lookup(&self, path: &str) -> Option<&Reservation> {
        const UNREAD: Reservation = Reservation { reservation: Some(1), policy: None };
        let entry = self.entries.iter().find(|(location, _)| location.matches(path));
        entry.map(|(_, reservation)| reservation).or(self.is_cut.then_some(&UNREAD))
    }
}

/// Combines file, response header and page: a later one replaces an earlier one, absence never resets.
/// The directives hold what header and page say.
pub fn effective(file: Option<&Reservation>, directives: &Directives) -> Reservation {
    let page = directives.tdm_reservation;
    let file = file.cloned().unwrap_or_default();
    Reservation {
        reservation: page.or(file.reservation),
        policy: directives.tdm_policy.clone().or(file.policy),
    }
}

/// Reads the reservation of header lines and meta tags; the page overrides the header. Within one of the
/// two a reservation wins.
pub(crate) fn read_response(sources: &Sources<'_>, directives: &mut Directives) {
    let headers = (0..).zip(sources.headers).map(|(number, (name, value))| Line {
        origin: SourceKind::Header,
        position: number,
        name: name.trim(),
        value,
    });
    let metas = sources.metas.iter().filter_map(|tag| {
        let (name, value) = (tag.name.as_deref()?, tag.content.as_deref()?);
        Some(Line { origin: SourceKind::Meta, position: tag.position, name: trim(name), value })
    });
    let mut because = Vec::new();
    for said in [read(headers, directives), read(metas, directives)] {
        if said.0.reservation.is_some() {
            // The protocol lets the page permit what the header reserves; the reservation is kept as a note.
            if directives.tdm_reservation > said.0.reservation {
                let replaced = because.drain(..).map(|because: DirectiveSource| because.source);
                directives
                    .warnings
                    .extend(replaced.map(|source| Warning::new("replaced by the page", source)));
            }
            directives.tdm_reservation = said.0.reservation;
            because = said.1;
        }
        directives.tdm_policy = said.0.policy.or(directives.tdm_policy.take());
    }
    directives.because.append(&mut because);
}

/// A header line or a meta tag.
struct Line<'a> {
    origin: SourceKind,
    position: u32,
    name: &'a str,
    value: &'a str,
}

fn read<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    directives: &mut Directives,
) -> (Reservation, Vec<DirectiveSource>) {
    let mut said = Reservation::default();
    let mut because = Vec::new();
    for line in lines {
        let value = trim(line.value);
        if line.name.eq_ignore_ascii_case(RESERVATION) {
            let source = Source::new(line.origin, line.position, RESERVATION, line.value);
            match value.parse().ok().and_then(bit) {
                Some(bit) => {
                    said.reservation = said.reservation.max(Some(bit));
                    because.push(DirectiveSource { directive: format!("{RESERVATION}:{bit}"), source });
                }
                None if holds_one(value) => {
                    said.reservation = Some(1);
                    directives.warnings.push(Warning::new("malformed reservation, applied", source.clone()));
                    because.push(DirectiveSource { directive: format!("{RESERVATION}:1"), source });
                }
                None => directives.warnings.push(Warning::new("neither 0 nor 1", source)),
            }
        } else if line.name.eq_ignore_ascii_case(POLICY) && !value.is_empty() && said.policy.is_none() {
            said.policy = Some(cut(value, POLICY_LIMIT).to_owned());
        }
    }
    because
        .retain(|because| because.directive.ends_with(if said.reservation == Some(1) { '1' } else { '0' }));
    (said, because)
}

/// Returns whether a value that is neither 0 nor 1 has the number 1 in it: `1.`, `1; x`, `tdm-reservation=1`.
fn holds_one(value: &str) -> bool {
    let is_one = |word: &Word| word.text() == "1" && !word.is_negative();
    [false, true].iter().any(|loose| words(value, *loose).iter().any(is_one))
}

fn bit(number: u64) -> Option<u8> {
    u8::try_from(number).ok().filter(|number| *number <= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_that_matches_counts() {
        let file = TdmFile::parse(
            br#"[{"location": "/free/", "tdm-reservation": 0},
                 {"location": "*.jpg$", "tdm-reservation": "1", "tdm-policy": "https://a.example/p.json"},
                 {"location": 5}, "x", {"location": "/odd", "tdm-reservation": 2},
                 {"location": "/", "tdm-reservation": 1}]"#,
        );
        let said = |path| file.lookup(path).and_then(|r| r.reservation);
        assert_eq!(said("/free/x"), Some(0));
        assert_eq!(said("/a/b.jpg"), Some(1));
        assert_eq!(said("/a/b.jpg?x"), Some(1));
        assert_eq!(said("/odd"), None);
        assert_eq!(said("/"), Some(1));
        assert_eq!(file.lookup("/b.jpg").unwrap().policy.as_deref(), Some("https://a.example/p.json"));
    }

    #[test]
    fn what_was_not_read_of_a_file_reserves() {
        let entries = |count: usize| {
            let entries: Vec<String> =
                (0..count).map(|n| format!("{{\"location\": \"/{n}/\", \"tdm-reservation\": 0}}")).collect();
            TdmFile::parse(format!("[{}]", entries.join(",")).as_bytes())
        };
        let said = |file: &TdmFile, path| file.lookup(path).and_then(|r| r.reservation);
        let whole = entries(ENTRY_LIMIT);
        assert_eq!((said(&whole, "/7/"), said(&whole, "/x")), (Some(0), None));
        let more = entries(ENTRY_LIMIT + 1);
        assert_eq!(
            (said(&more, "/7/"), said(&more, "/1000/"), said(&more, "/x")),
            (Some(0), Some(1), Some(1))
        );
        let long = format!("[]{}", " ".repeat(FILE_LIMIT));
        assert_eq!(said(&TdmFile::parse(long.as_bytes()), "/x"), Some(1));
    }

    #[test]
    fn a_reservation_that_the_page_replaces_is_noted() {
        let headers = [("TDM-Reservation".to_owned(), "1".to_owned())];
        let tag = crate::MetaTag {
            name: Some("tdm-reservation".into()),
            content: Some("0".into()),
            ..Default::default()
        };
        let mut directives = Directives::default();
        read_response(&Sources { headers: &headers, metas: &[tag] }, &mut directives);
        assert_eq!(directives.tdm_reservation, Some(0));
        assert_eq!(directives.because[0].to_string(), "tdm-reservation:0 (meta tdm-reservation: 0)");
        assert_eq!(directives.warnings[0].to_string(), "replaced by the page (header tdm-reservation: 1)");
    }

    #[test]
    fn a_reservation_malformed_counts_and_a_permission_does_not() {
        let read = |value: &str| {
            let headers = [("TDM-Reservation".to_owned(), value.to_owned())];
            let mut directives = Directives::default();
            read_response(&Sources { headers: &headers, metas: &[] }, &mut directives);
            (directives.tdm_reservation, directives.warnings.len())
        };
        for value in ["1.", "1;", "1, 0", "=1", "１", "1\u{fffd}", "1 (reserved)", "tdm-reservation: 1"] {
            assert_eq!(read(value), (Some(1), 1), "{value}");
        }
        for value in ["yes", "10", "2", "-1", "0.", "true", "v10"] {
            assert_eq!(read(value), (None, 1), "{value}");
        }
        assert_eq!((read("1"), read(" \"0\"")), ((Some(1), 0), (Some(0), 0)));
        let file = TdmFile::parse(b"\xef\xbb\xbf[{\"location\": \"/\", \"tdm-reservation\": 1}]");
        assert_eq!(file.lookup("/x").and_then(|said| said.reservation), Some(1), "a byte order mark");
    }

    #[test]
    fn what_is_no_entry_is_passed_over_whatever_it_holds() {
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let file = format!(
            r#"[null, -1, 1.5, true, "x", [[1], {{"a": 0}}], {{}}, {{"location": ["/x"], "tdm-reservation": 1}},
                {{"location": "/x", "tdm-reservation": {deep}, "tdm-policy": {{"a": 1}}, "more": {{"b": {deep}}}}},
                {{"location": "/y", "location": "/z", "tdm-reservation": 0, "tdm-reservation": "1"}}]"#
        );
        let file = TdmFile::parse(file.as_bytes());
        let said = |path| file.lookup(path).map(|said| (said.reservation, said.policy.clone()));
        assert_eq!(said("/x"), Some((None, None)));
        assert_eq!((said("/y"), said("/z")), (None, Some((Some(1), None))), "the last of equal names");
    }

    #[test]
    fn a_broken_file_says_nothing() {
        for file in [&b""[..], b"{}", b"[", b"\xff", b"[[]]", b"[{}]"] {
            assert!(TdmFile::parse(file).lookup("/").is_none());
        }
        let deep = "[".repeat(100_000);
        assert!(TdmFile::parse(deep.as_bytes()).lookup("/").is_none());
    }

    #[test]
    fn the_later_place_replaces_and_absence_never_resets() {
        let file = Reservation { reservation: Some(1), policy: Some("p".to_owned()) };
        let page = |tdm_reservation| Directives { tdm_reservation, ..Directives::default() };
        assert_eq!(effective(Some(&file), &page(None)), file);
        assert_eq!(effective(Some(&file), &page(Some(0))).reservation, Some(0));
        assert_eq!(effective(None, &page(Some(1))).reservation, Some(1));
        assert_eq!(effective(None, &page(None)), Reservation::default());
    }
}
