//! A fingerprint of a page's text without tags, scripts and blanks. Pages that differ only in links, session ids or styles share it.

/// Bytes of a page that are looked at.
const MOST: usize = 256 * 1024;

/// The mark of an HTML page's bytes. Kept in memory alone, never stored. One pass, no allocation.
pub fn text_mark(html: &[u8]) -> u32 {
    let mut rest = &html[..html.len().min(MOST)];
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    while !rest.is_empty() {
        let text = memchr::memchr(b'<', rest).unwrap_or(rest.len());
        for byte in rest[..text].iter().filter(|byte| !byte.is_ascii_whitespace()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        rest = &rest[text..];
        for name in [&b"<script"[..], b"<style"] {
            if rest.len() > name.len() && rest[..name.len()].eq_ignore_ascii_case(name) {
                rest = past_end(rest, &name[1..]);
            }
        }
        if rest.starts_with(b"<") {
            rest = memchr::memchr(b'>', rest).map_or(&[], |end| &rest[end + 1..]);
        }
    }
    (hash ^ hash >> 32) as u32
}

/// What begins with the end tag of a raw-text element.
fn past_end<'a>(rest: &'a [u8], name: &[u8]) -> &'a [u8] {
    let end = memchr::memmem::find_iter(rest, b"</")
        .find(|at| rest[at + 2..].get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name)));
    end.map_or(&[], |at| &rest[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_counts_and_how_it_is_linked_does_not() {
        let one = text_mark(b"<p>April 2031</p><a href='/x?sid=1'>next</a><script>var sid = 1</script>");
        for same in [
            &b"<p>April 2031</p><a href='/x?sid=2'>next</a><SCRIPT src=x>var sid = 2; a < b</script >"[..],
            b"<p class=x>April\n 2031<a href=y>next</a><style>p {}</style>",
        ] {
            assert_eq!(text_mark(same), one, "{}", String::from_utf8_lossy(same));
        }
        for other in [&b"<p>April 2032</p><a>next</a>"[..], b"", b"<script>April 2031 next"] {
            assert_ne!(text_mark(other), one);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_it(html in proptest::collection::vec(proptest::sample::select(&b"<>/script yle!a"[..]), 0..200)) {
            let _mark = text_mark(&html);
        }
    }
}
