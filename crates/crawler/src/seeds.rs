//! The seed file: one URL per line; an invalid line is reported with its number, the rest is crawled.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use encoding_rs::Encoding;
use serde::{Deserialize, Serialize};
use url::Url;

use page::clean::clean_to;
use page::url::CrawlUrl;

/// Most bytes of a seed file; about five million URLs.
const MAX_BYTES: u64 = 512 << 20;
/// Characters of a bad line that a report shows.
const SHOWN: usize = 80;

/// What a seed file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeedList {
    /// Line number (from 1) and URL, in the order of the file; duplicates are kept.
    pub seeds: Vec<(usize, CrawlUrl)>,
    /// Lines that aren't URLs that we crawl, in the order of the file.
    pub bad: Vec<BadLine>,
    /// Lines whose URL is crawled, and may not be what was meant.
    pub doubtful: Vec<BadLine>,
}

/// A line of a seed file that isn't a URL that we crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("line {line_no}: {text:?} {why}")]
pub struct BadLine {
    /// Line number, from 1.
    #[serde(rename = "line")]
    pub line_no: usize,
    /// The line, without user name and password, cleaned for a terminal and cut to 80 characters.
    pub text: String,
    /// What is wrong with it, and what would be right.
    pub why: String,
}

impl From<Vec<CrawlUrl>> for SeedList {
    /// A list without bad lines, one URL a line.
    fn from(urls: Vec<CrawlUrl>) -> Self {
        Self { seeds: (1..).zip(urls).collect(), ..Self::default() }
    }
}

/// Why a seed file can't be used at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedError {
    /// The system refused: not there, not readable.
    #[error("can't read the seed file {path}")]
    Unreadable {
        /// Its path, or `-`.
        path: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is a directory.
    #[error("the seed file {path} is a directory: give a file with one URL per line")]
    Directory {
        /// Its path.
        path: String,
    },
    /// It is larger than 512 MiB.
    #[error("the seed file {path} has more than {MAX_BYTES} bytes")]
    TooLarge {
        /// Its path, or `-`.
        path: String,
    },
    /// It has no line with text but comments.
    #[error("the seed file {path} has no URL: write one http or https URL per line")]
    Empty {
        /// Its path, or `-`.
        path: String,
    },
}

/// True for what is meant as a URL, and not as the path of a file.
pub fn is_url(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| ["http", "https"].contains(&scheme.as_str()))
}

/// The place of the seeds as it may be stored: URLs, where they are given themselves, without user names and passwords.
pub fn without_passwords(place: &Path) -> PathBuf {
    let Some(text) = place.to_str().filter(|text| is_url(text)) else { return place.to_owned() };
    let words = text.split_whitespace().map(|word| match seed(word) {
        Ok(url) if word.contains('@') => url.to_string().into(),
        Ok(_) => Cow::from(word),
        Err(_) => without_secrets(word),
    });
    words.collect::<Vec<_>>().join(" ").into()
}

/// Reads a seed file, or standard input for `-`; URLs, with blanks between them, are their own list. A list of bad lines alone is no error here: see [`SeedList::seeds`].
pub fn read(path: &Path) -> Result<SeedList, SeedError> {
    let name = page::clean::clean(&path.display().to_string()).into_owned();
    let unreadable = |source| SeedError::Unreadable { path: name.clone(), source };
    if let Some(text) = path.to_str().filter(|text| is_url(text)) {
        let lines: Vec<&str> = text.split_whitespace().collect();
        return Ok(parse(lines.join("\n").as_bytes()));
    }
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.is_dir() {
            return Err(SeedError::Directory { path: name });
        }
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(SeedError::TooLarge { path: name });
    }
    let list = parse(&bytes);
    if list.seeds.is_empty() && list.bad.is_empty() {
        return Err(SeedError::Empty { path: name });
    }
    Ok(list)
}

/// Reads the bytes of a seed file: UTF-8, or UTF-16 with its byte order mark; LF, CRLF or CR ends a line. Never fails.
///
/// Blank lines are skipped, and so is what follows a `#` at the start of a line or after a blank.
pub fn parse(bytes: &[u8]) -> SeedList {
    let decoded;
    let bytes = match Encoding::for_bom(bytes) {
        Some((encoding, mark)) if encoding == encoding_rs::UTF_8 => &bytes[mark..],
        Some((encoding, _)) => {
            decoded = encoding.decode(bytes).0;
            decoded.as_bytes()
        }
        None => bytes,
    };
    let mut list = SeedList::default();
    for (line, line_no) in lines(bytes).zip(1..) {
        let told =
            |text: &str, why: String| BadLine { line_no, text: clean_to(&without_secrets(text), SHOWN), why };
        let Ok(text) = std::str::from_utf8(line) else {
            let shown = String::from_utf8_lossy(&line[..line.len().min(8 * SHOWN)]);
            list.bad.push(told(&shown, "isn't UTF-8 text".to_owned()));
            continue;
        };
        let text = without_comment(text).trim();
        if text.is_empty() {
            continue;
        }
        match seed(text) {
            Ok(url) => {
                list.doubtful.extend(doubt(text, &url).map(|why| told(text, why)));
                list.seeds.push((line_no, url));
            }
            Err(why) => list.bad.push(told(text, why)),
        }
    }
    list
}

/// Splits at LF, CRLF and CR.
fn lines(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let end = memchr::memchr2(b'\n', b'\r', bytes).unwrap_or(bytes.len());
        let line = &bytes[..end];
        let skip = if bytes[end..].starts_with(b"\r\n") { 2 } else { 1 };
        bytes = bytes.get(end + skip..).unwrap_or_default();
        Some(line)
    })
}

/// Cuts at a `#` that begins the line or follows a blank; one inside a URL is its fragment.
fn without_comment(text: &str) -> &str {
    let starts = |at: usize| at == 0 || text[..at].ends_with([' ', '\t']);
    text.match_indices('#').map(|(at, _)| at).find(|&at| starts(at)).map_or(text, |at| &text[..at])
}

/// A line without what may be the user name and password of its URL: all between the scheme and the last `@`, since a password may hold anything.
fn without_secrets(text: &str) -> Cow<'_, str> {
    match text.rsplit_once('@') {
        Some((before, after)) => {
            let scheme = before.find("://").map_or("", |end| &before[..end + "://".len()]);
            format!("{scheme}...@{after}").into()
        }
        None => text.into(),
    }
}

/// Why the URL of a line may not be the one that was meant.
fn doubt(text: &str, url: &CrawlUrl) -> Option<String> {
    let read = Url::parse(text).ok()?;
    if !read.username().is_empty() || read.password().is_some() {
        return Some(format!(
            "has a user name or a password: nobody logs in, neither is stored, and {url} is requested without them"
        ));
    }
    // `http://h/,Home`: the first column of a table.
    let (first, rest) = text.split_once(',')?;
    let is_column = first.ends_with('/') || rest.starts_with('"') || rest.contains("://");
    (is_column && seed(first).is_ok()).then(|| {
        format!(
            "looks like a line of a CSV file: if {} is meant, write that URL alone",
            clean_to(first, SHOWN)
        )
    })
}

fn seed(text: &str) -> Result<CrawlUrl, String> {
    if text.chars().any(char::is_control) {
        return Err("has control characters".to_owned());
    }
    if text.contains(char::is_whitespace) {
        return Err("has more than one word: write one URL per line".to_owned());
    }
    let mut url = Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => {
            format!("has no scheme: write https://{}", clean_to(&without_secrets(text), 40))
        }
        error => format!("isn't a URL: {error}"),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        // `example.org:8080/` reads as a URL of the scheme `example.org`.
        return Err(format!(
            "has the scheme {:?}: only http and https are crawled",
            clean_to(url.scheme(), 40)
        ));
    }
    // Neither sent nor stored; both calls can only fail for URLs without a host, which http never is.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    CrawlUrl::from_url(url).map_err(|error| format!("can't be crawled: {error}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn urls(bytes: &[u8]) -> Vec<(usize, String)> {
        parse(bytes).seeds.into_iter().map(|(line, url)| (line, url.to_string())).collect()
    }

    #[test]
    fn one_url_a_line() {
        let text = b"\xef\xbb\xbfhttps://a.test/\r\n\r\n# a comment\r\n  http://b.test/x#part  # ours\r\n\thttp://c.test\n#http://d.test/";
        let expected = [(1, "https://a.test/"), (4, "http://b.test/x"), (5, "http://c.test/")];
        assert_eq!(urls(text), expected.map(|(line, url)| (line, url.to_owned())));
        assert_eq!(parse(text).bad, []);
    }

    #[test]
    fn urls_in_the_place_of_a_file_are_their_own_list() {
        let list = read(Path::new("https://a.test HTTP://b.test/x#part http://")).unwrap();
        let found: Vec<_> = list.seeds.iter().map(|(line, url)| (*line, url.as_str())).collect();
        assert_eq!(found, [(1, "https://a.test/"), (2, "http://b.test/x")]);
        assert_eq!(list.bad.len(), 1);
        for (text, expected) in [
            ("https://a.test", true),
            ("HTTP://a", true),
            ("a.test", false),
            ("ftp://a.test", false),
            ("dir/http", false),
        ] {
            assert_eq!(is_url(text), expected, "{text}");
        }
        assert!(matches!(read(Path::new("a.test")), Err(SeedError::Unreadable { .. })));
    }

    #[test]
    fn every_line_end_counts() {
        for text in [
            "http://a.test/\nhttp://b.test/",
            "http://a.test/\r\nhttp://b.test/\r\n",
            "http://a.test/\rhttp://b.test/\r",
        ] {
            assert_eq!(
                urls(text.as_bytes()),
                [(1, "http://a.test/".to_owned()), (2, "http://b.test/".to_owned())]
            );
        }
    }

    #[test]
    fn utf_16_with_its_mark_is_read() {
        let text: Vec<u8> = "\u{feff}http://a.test/ä\r\nhttp://b.test/\r\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(urls(&text), [(1, "http://a.test/%C3%A4".to_owned()), (2, "http://b.test/".to_owned())]);
    }

    #[test]
    fn an_invalid_line_is_reported_and_the_rest_is_read() {
        let text = b"http://a.test/\nexample.org/x\nftp://a.test/\nhttp://\nhttp://a.test/ http://b.test/\n\xff\xfe\xfa\nhttp://a\x1b[31m.test/\nhttp://[::1\nhttp://z.test/\n";
        let list = parse(text);
        assert_eq!(list.seeds.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 9]);
        let told: Vec<_> = list.bad.iter().map(|bad| (bad.line_no, bad.why.as_str())).collect();
        assert_eq!(told.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(told[0].1, "has no scheme: write https://example.org/x");
        assert!(told[1].1.contains("only http and https"));
        assert_eq!(told[4].1, "isn't UTF-8 text");
        assert!(list.bad.iter().all(|bad| !bad.to_string().chars().any(char::is_control)));
    }

    #[test]
    fn userinfo_is_dropped() {
        assert_eq!(urls(b"http://ann:secret@a.test/x"), [(1, "http://a.test/x".to_owned())]);
    }

    #[test]
    fn no_line_that_is_told_of_has_a_password() {
        let lines = [
            ("http://ann:zqsecret@a.test/x", "http://...@a.test/x"),
            ("http://ann:zq/secret@a.test/x", "http://...@a.test/x"),
            ("http://ann:zqs@cret@a.test/x", "http://...@a.test/x"),
            ("ann:zqsecret@a.test/x", "...@a.test/x"),
            ("ftp://ann:zqsecret@a.test/x", "ftp://...@a.test/x"),
            ("http://ann:zqsecret@[::1", "http://...@[::1"),
            ("http://ann:zqsecret@a.test/ http://b.test/", "http://...@a.test/ http://b.test/"),
        ];
        for (line, shown) in lines {
            let list = parse(line.as_bytes());
            let told: Vec<_> = list.bad.iter().chain(&list.doubtful).collect();
            assert_eq!(told.len(), 1, "{line}");
            assert_eq!(told[0].text, shown);
            assert!(!format!("{list:?}").contains("zqs"), "{list:?}");
        }
    }

    #[test]
    fn urls_are_stored_as_the_place_of_the_seeds_without_passwords() {
        let stored =
            |place: &str| without_passwords(Path::new(place)).into_os_string().into_string().unwrap();
        assert_eq!(
            stored("http://ann:zqsecret@a.test/x HTTP://b.test http://ann:zq@[::1"),
            "http://a.test/x HTTP://b.test http://...@[::1"
        );
        assert_eq!(stored("lists/ann@home.txt"), "lists/ann@home.txt");
    }

    #[test]
    fn a_line_of_a_table_is_doubted_and_a_comma_in_a_path_is_not() {
        let doubts = |line: &str| parse(line.as_bytes()).doubtful.len();
        for line in ["http://h.test/,Home", "http://h.test/a,\"A\"", "http://h.test/a,http://b.test/"] {
            assert_eq!(doubts(line), 1, "{line}");
        }
        for line in ["http://h.test/a,b", "http://h.test/1,2.html", "http://h.test/?at=52.5,13.4"] {
            assert_eq!(doubts(line), 0, "{line}");
        }
    }

    #[test]
    fn a_file_that_cannot_serve_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("seeds");
        assert!(matches!(read(&file), Err(SeedError::Unreadable { .. })));
        assert!(matches!(read(dir.path()), Err(SeedError::Directory { .. })));
        for empty in ["", "\n\n", "# nothing\n", "\u{feff}"] {
            std::fs::write(&file, empty).unwrap();
            assert!(matches!(read(&file), Err(SeedError::Empty { .. })), "{empty:?}");
        }
        std::fs::write(&file, "nonsense\n").unwrap();
        let list = read(&file).unwrap();
        assert_eq!((list.seeds.len(), list.bad.len()), (0, 1));
    }

    #[test]
    fn a_hundred_thousand_lines_keep_their_numbers() {
        let lines: Vec<_> = (1..=100_000).map(|n| format!("https://host{}.test/page/{n}", n % 977)).collect();
        let list = parse(
            lines
                .join(
                    "
",
                )
                .as_bytes(),
        );
        assert_eq!(list.seeds.len(), 100_000);
        assert!(list.seeds.iter().all(|(line, url)| url.path() == format!("/page/{line}")));
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let list = parse(&bytes);
            prop_assert!(list.bad.iter().all(|bad| bad.text.chars().count() <= SHOWN));
        }
    }
}
