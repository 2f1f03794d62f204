//! The one percent-normalisation of rules and URLs (RFC 9309 section 2.2.2).

use std::borrow::Cow;

/// The byte is never raw in a URL: it is compared as `%XX`.
pub(crate) const ENCODE: u8 = 1;
/// `%`.
pub(crate) const PERCENT: u8 = 2;
/// `$`.
pub(crate) const DOLLAR: u8 = 4;
/// `*`.
pub(crate) const STAR: u8 = 8;
/// A blank: space, tab, vertical tab or form feed.
pub(crate) const BLANK: u8 = 16;
/// A byte over 127.
pub(crate) const HIGH: u8 = 32;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        class[i] = match b {
            b' ' | b'\t' | 0x0b | 0x0c => BLANK | ENCODE,
            0..=0x1f | 0x7f | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'[' | b']' => {
                ENCODE
            }
            0x80.. => HIGH | ENCODE,
            b'%' => PERCENT,
            b'$' => DOLLAR,
            b'*' => STAR,
            _ => 0,
        };
        i += 1;
    }
    class
};

/// Joins the classes of all bytes.
pub(crate) fn classes(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |classes, &b| classes | CLASS[usize::from(b)])
}

/// Returns whether a byte is a space, tab, vertical tab or form feed.
pub(crate) fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | 0x0b | 0x0c)
}

/// Removes blanks at both ends.
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_blank(*first)
    {
        bytes = rest;
    }
    while let [rest @ .., last] = bytes
        && is_blank(*last)
    {
        bytes = rest;
    }
    bytes
}

/// Splits at blanks; never gives an empty word.
pub(crate) fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|&b| is_blank(b)).filter(|word| !word.is_empty())
}

/// Reads the two hex digits behind a `%` at the start of `bytes`.
pub(crate) fn escaped(bytes: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = bytes else { return None };
    let digit = |b: u8| char::from(b).to_digit(16);
    Some((digit(*high)? * 16 + digit(*low)?) as u8)
}

/// Finds a `%` without two hex digits.
pub(crate) fn has_bad_escape(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'%', bytes).any(|at| escaped(&bytes[at..]).is_none())
}

/// Writes one byte as `%XX`.
pub(crate) fn push_escape(out: &mut Vec<u8>, b: u8) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', HEX[usize::from(b >> 4)], HEX[usize::from(b & 15)]]);
}

/// Normalises a rule or a URL: escapes of unreserved characters are decoded, other escapes get upper-case hex, bytes that a
/// URL never carries raw are escaped, everything else (reserved characters, a lone `%`) stays.
///
/// Idempotent. Linear in time; borrows where nothing changes. `classes`: those of the bytes. Source: RFC 9309 section 2.2.2.
pub(crate) fn normalise(bytes: &[u8], classes: u8) -> Cow<'_, [u8]> {
    if classes & (ENCODE | PERCENT) == 0 {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len() + 16);
    normalise_into(bytes, classes, &mut out);
    Cow::Owned(out)
}

/// As [`normalise`], behind what is in `out`.
pub(crate) fn normalise_into(bytes: &[u8], classes: u8, out: &mut Vec<u8>) {
    if classes & (ENCODE | PERCENT) == 0 {
        return out.extend_from_slice(bytes);
    }
    // Hex digits that a lone `%` still wants: an escape is not decoded into the place where it would complete one.
    let mut wanted = 0_u8;
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        if let Some(decoded) = escaped(&bytes[i..]) {
            if is_unreserved(decoded) && !(wanted > 0 && decoded.is_ascii_hexdigit()) {
                out.push(decoded);
            } else {
                push_escape(out, decoded);
            }
            wanted = 0;
            i += 3;
            continue;
        }
        if CLASS[usize::from(b)] & ENCODE != 0 {
            push_escape(out, b);
        } else {
            out.push(b);
        }
        wanted = match b {
            b'%' => 2,
            _ if b.is_ascii_hexdigit() => wanted.saturating_sub(1),
            _ => 0,
        };
        i += 1;
    }
}

fn is_unreserved(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8(normalise(bytes, classes(bytes)).into_owned()).expect("normalised text is ASCII")
    }

    #[test]
    fn rfc9309_2_2_2_unreserved_is_decoded_and_the_rest_upper_cased() {
        assert_eq!(text(b"/foo/bar/%62%61%7a"), "/foo/bar/baz");
        assert_eq!(text(b"/%7efred%2fhi"), "/~fred%2Fhi");
        assert_eq!(text("/ツ".as_bytes()), "/%E3%83%84");
        assert_eq!(text(b"/a b|<c>[d]"), "/a%20b%7C%3Cc%3E%5Bd%5D");
        assert_eq!(text(b"/a%zz%2"), "/a%zz%2");
        // No escape is decoded into the place where it would complete another one.
        assert_eq!(text(b"/%%34%31"), "/%%341");
        assert_eq!(text(b"/%4%31"), "/%4%31");
        assert_eq!(text(b"/%g%41"), "/%gA");
        assert_eq!(text(b"/?a=b&c;d,e:f@g!h$i'j(k)l*m+n"), "/?a=b&c;d,e:f@g!h$i'j(k)l*m+n");
    }

    proptest! {
        #[test]
        fn normalise_is_idempotent(bytes in "([%a-f0-9/~é]|%[0-9A-Fa-f]{2}){0,40}") {
            let once = text(bytes.as_bytes());
            prop_assert_eq!(text(once.as_bytes()), once);
        }
    }
}
