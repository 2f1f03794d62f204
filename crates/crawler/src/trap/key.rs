//! What a URL has in common with others of its host: the path before its query, and the path with digits masked.

use ::costly::group;

/// The keys under which a URL is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Keys {
    /// Path before the query; none for a URL without one.
    pub(super) query: Option<u64>,
    /// Path with digits masked; none for a path without any.
    pub(super) shape: Option<u64>,
    /// Path up to its last slash, with digits masked.
    pub(super) folder: u64,
    /// Parameters of the query.
    pub(super) parameters: usize,
}

impl Keys {
    /// Reads path and query. 0.1-0.3 microseconds.
    pub(super) fn of(path_and_query: &str) -> Self {
        let (path, query) = match path_and_query.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path_and_query, None),
        };
        let shape = path.bytes().any(|byte| byte.is_ascii_digit());
        Self {
            query: query.map(|_| hash(b'q', path.as_bytes())),
            shape: shape.then(|| hash(b's', shape_of(path).as_bytes())),
            folder: hash(b'f', shape_of(folder(path)).as_bytes()),
            parameters: query
                .map_or(0, |query| query.split(['&', ';']).filter(|part| !part.is_empty()).count()),
        }
    }
}

/// The key of what a host's pages say: of those whose URLs were found on pages with new content. No path has it.
pub(super) const HOST: u64 = hash(b'h', b"");

/// The key of what the others say: of those whose URLs were found on pages with known content, or are like one of theirs.
pub(super) const REPEATS: u64 = hash(b'r', b"");

/// Fewest letters and digits of a last segment that may be a made-up name.
const TOKEN: usize = 12;

/// What a URL has in common with others that may show the same page: its last segment with its query, wherever that is; its path, whatever
/// the query and the parameters of its last segment; its folder, if the last segment may be a made-up name.
pub(crate) fn variants(path_and_query: &str) -> impl Iterator<Item = u64> {
    let (path, query) = match path_and_query.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path_and_query, None),
    };
    let bare = path.strip_suffix('/').unwrap_or(path);
    let start = bare.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, name) = bare.split_at(start);
    let in_folder = folder.len() > 1 && !name.is_empty();
    let tail = in_folder.then(|| hash(b't', &path_and_query.as_bytes()[start..]));
    let parameters = path[start..].find(';').map(|place| start + place);
    let path = (query.is_some() || parameters.is_some())
        .then(|| hash(b'p', &path.as_bytes()[..parameters.unwrap_or(path.len())]));
    let is_token = name.len() >= TOKEN && name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let folder = (in_folder && is_token).then(|| hash(b'u', folder.as_bytes()));
    [tail, path, folder].into_iter().flatten()
}

/// A path up to its last slash.
pub(super) fn folder(path: &str) -> &str {
    path.rfind('/').map_or("/", |slash| &path[..=slash])
}

/// Characters from which on a word with digits in it counts as a made-up name (session, hash, UUID).
const NAME: usize = 8;

/// The key of what costs its site much: the path and the names of the parameters.
pub(super) fn costly_key(path_and_query: &str) -> u64 {
    // A URL by itself is enough to tell the groups of one host apart.
    hash(b'c', group(&format!("http://a{path_and_query}")).as_bytes())
}

/// The shape of a path: `/cal/2031/04` is `/cal/#/#`; a long word of letters and digits is `*`.
pub fn shape(path: &str) -> String {
    shape_of(path)
}

fn shape_of(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while !rest.is_empty() {
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(word);
        let digits = head.bytes().filter(u8::is_ascii_digit).count();
        if digits > 1 && head.len() >= NAME && digits < head.len() {
            out.push('*');
        } else {
            let mut within = false;
            for c in head.chars() {
                if !c.is_ascii_digit() {
                    out.push(c);
                } else if !within {
                    out.push('#');
                }
                within = c.is_ascii_digit();
            }
        }
        let other = tail.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(tail.len());
        out.push_str(&tail[..other]);
        rest = &tail[other..];
    }
    out
}

/// FNV-1a, 64 bit. Stored, so it must not change; a site that makes collisions only spends its own budgets.
pub(super) const fn hash(kind: u8, bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let mut hash = (0xcbf2_9ce4_8422_2325 ^ kind as u64).wrapping_mul(PRIME);
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(PRIME);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_masked_and_made_up_names_too() {
        for (path, expected) in [
            ("/cal/2031/04", "/cal/#/#"),
            ("/item123.html", "/item#.html"),
            ("/a/b", "/a/b"),
            ("/s/4f3c2b1a9d8e7f60/x", "/s/*/x"),
            ("/s/123456789012345/x", "/s/#/x"),
            ("/mp3/1a2b", "/mp#/#a#b"),
            ("/x9e3779b9-3", "/*-#"),
            ("/area51map", "/*"),
            ("/a1b2c3d", "/a#b#c#d"),
            // One digit numbers a word.
            ("/chapter1", "/chapter#"),
            ("/caf%C3%A9/7", "/caf%C#%A#/#"),
            ("/é/7ü8", "/é/#ü#"),
        ] {
            assert_eq!(shape(path), expected, "{path}");
        }
    }

    #[test]
    fn urls_share_a_key_where_they_differ_in_query_or_digits_alone() {
        let keys = Keys::of;
        assert_eq!(keys("/cal?m=1&y=2").query, keys("/cal?x").query);
        assert_ne!(keys("/cal?m=1").query, keys("/cul?m=1").query);
        assert_eq!((keys("/cal").query, keys("/cal").shape), (None, None));
        assert_eq!(keys("/s/qwx").folder, keys("/s/").folder);
        assert_eq!(keys("/2031/qwx?a/b").folder, keys("/2032/y").folder);
        assert_ne!(keys("/s/qwx").folder, keys("/qwx").folder);
        assert_eq!(keys("/item/1").shape, keys("/item/22?x").shape);
        assert_ne!(keys("/item/1").shape, keys("/other/1").shape);
        assert_eq!(keys("/a?b=1&c=2;d&&").parameters, 3);
        assert_ne!(keys("/1?x").query, keys("/1?x").shape);
    }

    proptest::proptest! {
        #[test]
        fn a_shape_has_no_digit_outside_names(path in "/\\PC{0,60}") {
            proptest::prop_assert!(!shape(&path).bytes().any(|byte| byte.is_ascii_digit()));
        }
    }
}
