//! URLs that are as the parser would write them, recognised by their bytes: most links are, and parsing and writing each again took as long as
//! reading a third of a page's markup.
//!
//! Only what is certain counts as plain; everything else is the parser's. Source: WHATWG URL Standard, sections 3.5 (hosts), 4.4 (basic URL
//! parser) and 1.3 (percent-encode sets). The property tests compare with the parser.

use std::net::Ipv4Addr;

/// Where the parts of an absolute http or https URL end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    /// The end of the host name.
    pub(super) host: u32,
    /// The end of the port, and the beginning of the path.
    pub(super) authority: u32,
}

/// The parts of a text that is an absolute URL, without userinfo and fragment, which the parser would leave as it is.
pub(super) fn absolute(text: &str) -> Option<Ends> {
    let (start, default_port) = if text.starts_with("https://") {
        (8, 443)
    } else if text.starts_with("http://") {
        (7, 80)
    } else {
        return None;
    };
    let authority = start + memchr::memchr(b'/', &text.as_bytes()[start..])?;
    let (name, port) = match text[start..authority].split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (&text[start..authority], None),
    };
    let is_plain = is_plain_host(name)
        && port.is_none_or(|port| is_plain_port(port, default_port))
        && is_plain_path(&text[authority..]);
    let end = |end: usize| u32::try_from(end).ok();
    is_plain.then_some(Ends { host: end(start + name.len())?, authority: end(authority)? })
}

/// Whether a host name is in lower case, without labels that IDNA (UTS #46) would look into, and no number.
fn is_plain_host(name: &str) -> bool {
    let mut last = b'.';
    for &byte in name.as_bytes() {
        let is_plain = match byte {
            b'a'..=b'z' | b'0'..=b'9' => true,
            // Not twice: `xn--` begins a label in Punycode.
            b'-' | b'.' => last != byte,
            _ => false,
        };
        if !is_plain {
            return false;
        }
        last = byte;
    }
    if last == b'.' {
        return false;
    }
    let label = &name[memchr::memrchr(b'.', name.as_bytes()).map_or(0, |at| at + 1)..];
    // A name whose last label may be a number is an IPv4 address, in one of several spellings.
    label.starts_with(|first: char| first.is_ascii_lowercase()) || name.parse::<Ipv4Addr>().is_ok()
}

fn is_plain_port(port: &str, default: u16) -> bool {
    let is_number = !port.starts_with('0') && port.bytes().all(|byte| byte.is_ascii_digit());
    is_number && port.parse::<u16>().is_ok_and(|port| port != default)
}

/// What has to be done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    /// It is as the parser would write it.
    Plain,
    /// A segment may mean this directory or the one above: see [`push_without_dots`].
    Dots,
}

/// What has to be done to a path that begins with `/` or behind one, with its query; none where it is the parser's: something may have to be
/// escaped, or a segment may be dots in escapes.
pub(super) fn path(path_and_query: &str) -> Option<Path> {
    let mut path = Path::Plain;
    // The segment so far is dots, or nothing.
    let mut is_start = true;
    let mut allowed = IN_PATH;
    for &byte in path_and_query.as_bytes() {
        let class = CLASSES[usize::from(byte)];
        if class & allowed == 0 {
            return None;
        }
        if is_start && class & DOT != 0 {
            if byte == b'%' {
                return None;
            }
            path = Path::Dots;
            continue;
        }
        if byte == b'?' {
            allowed = IN_QUERY;
        }
        is_start = byte == b'/' && allowed == IN_PATH;
    }
    Some(path)
}

/// Whether a path that begins with `/` or behind one, and its query, are as the parser would write them.
fn is_plain_path(path_and_query: &str) -> bool {
    path(path_and_query) == Some(Path::Plain)
}

/// Appends a path and its query to a text that ends with a URL's directory, or with its origin where the path begins with `/`. The URL's own path begins
/// at `root`. A segment `.` means its own directory, and `..` the parent; the parent of the root is the root (WHATWG URL Standard, section 4.4, path
/// state).
pub(super) fn push_without_dots(text: &mut String, root: usize, path_and_query: &str) {
    let end = memchr::memchr(b'?', path_and_query.as_bytes()).unwrap_or(path_and_query.len());
    let (mut path, query) = path_and_query.split_at(end);
    if text.len() == root {
        text.push('/');
        path = path.strip_prefix('/').unwrap_or(path);
    }
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." => {}
            ".." => {
                let inside = &text.as_bytes()[root..text.len() - 1];
                text.truncate(root + memchr::memrchr(b'/', inside).map_or(1, |at| at + 1));
            }
            segment => {
                text.push_str(segment);
                if segments.peek().is_some() {
                    text.push('/');
                }
            }
        }
    }
    text.push_str(query);
}

/// Is in a path as it is. `?` too, which ends it.
const IN_PATH: u8 = 1;
/// Is in a query as it is.
const IN_QUERY: u8 = 2;
/// May begin `.`, `..` or one of their escapes.
const DOT: u8 = 4;

/// What each byte may be. `"`, `#`, `'`, `<`, `>`, `[`, `\`, `]`, `^`, `` ` ``, `{`, `|`, `}`, controls, blanks and what isn't ASCII are the parser's.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let everywhere = *b"-_~!$&()*+,;=:@/%.?";
    let mut at = 0;
    while at < everywhere.len() {
        classes[everywhere[at] as usize] = IN_PATH | IN_QUERY;
        at += 1;
    }
    let mut byte = 0;
    while byte < 128 {
        if (byte as u8).is_ascii_alphanumeric() {
            classes[byte] = IN_PATH | IN_QUERY;
        }
        byte += 1;
    }
    classes[b'.' as usize] |= DOT;
    classes[b'%' as usize] |= DOT;
    classes
};
