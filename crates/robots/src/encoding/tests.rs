use super::*;

fn wide(text: &str, width: usize, is_big: bool) -> Vec<u8> {
    let units: Vec<u32> = if width == 2 {
        text.encode_utf16().map(u32::from).collect()
    } else {
        text.chars().map(u32::from).collect()
    };
    let bytes = |unit: u32| {
        if is_big { unit.to_be_bytes()[4 - width..].to_vec() } else { unit.to_le_bytes()[..width].to_vec() }
    };
    units.into_iter().flat_map(bytes).collect()
}

#[test]
fn a_cut_drops_the_unfinished_line() {
    let cut = |max| Body::open(b"ab\ncd\nef", max).plain().0;
    assert_eq!(cut(8), b"ab\ncd\nef");
    assert_eq!(cut(7), b"ab\ncd\n");
    assert_eq!(cut(5), b"ab\ncd");
    assert_eq!(cut(4), b"ab\n");
    assert_eq!(cut(1), b"");
    assert!(Body::open(b"abc", 2).truncated);
}

#[test]
fn marks_are_dropped_once_and_in_part() {
    let plain = |body| Body::open(body, 99).plain().0;
    assert_eq!(plain(b"\xef\xbb\xbfU"), b"U");
    assert_eq!(plain(b"\xef\xbbU"), b"U");
    assert_eq!(plain(b"\xef\xbb\xbf\xef\xbb\xbfU"), b"\xef\xbb\xbfU");
    let decoded = |body| Body::open(body, 99).decoded();
    assert_eq!(decoded(b"\xff\xfeU\0:\0").as_deref(), Some(&b"U:"[..]));
    assert_eq!(decoded(b"\xfe\xff\0U\0:").as_deref(), Some(&b"U:"[..]));
    assert_eq!(decoded(b"\xff\xfe\0\0U\0\0\0:\0\0\0").as_deref(), Some(&b"U:"[..]));
    assert_eq!(decoded(b"\0\0\xfe\xff\0\0\0U\0\0\0:").as_deref(), Some(&b"U:"[..]));
    assert_eq!(decoded(b"U:"), None);
}

#[test]
fn wide_encodings_without_a_mark_are_found_by_their_nul_bytes() {
    // Half of the text has no NUL bytes in UTF-16.
    let text = "# \u{442}\u{435}\u{43a}\u{441}\u{442} \u{434}\u{43b}\u{44f} \u{440}\u{43e}\u{431}\u{43e}\u{442}\u{43e}\u{432}\nUser-agent: *\nDisallow: /\u{43f}\n";
    for (width, is_big) in [(2, false), (2, true), (4, false), (4, true)] {
        let body = wide(text, width, is_big);
        let opened = Body::open(&body, 9999);
        assert_eq!(opened.wide, Some(Wide { width, is_big, is_marked: false }), "{width} {is_big}");
        assert_eq!(opened.decoded().as_deref(), Some(text.as_bytes()));
        let ascii: String = text.chars().filter(char::is_ascii).collect();
        let stripped = String::from_utf8_lossy(&opened.without_nul().unwrap_or_default()).into_owned();
        assert!(stripped.contains("User-agent: *\nDisallow: /"), "{ascii} {stripped}");
    }
    for other in [
        &b"User-agent: *\nDisallow: /\n"[..],
        b"\x7fELF\0\0\x01\x02\x03\0rest of it",
        b"a\0",
        b"\0\0\0\0\0\0\0\0",
    ] {
        assert_eq!(Body::open(other, 99).wide, None, "{other:?}");
    }
}

#[test]
fn nul_bytes_of_a_line_that_is_cut_off_are_not_seen() {
    let without = |max| Body::open(b"a\nb\0c\nd", max).without_nul();
    assert_eq!((without(3), without(4)), (None, None));
    assert_eq!(without(5).as_deref(), Some(&b"a\nbc"[..]), "the limit is the end of the line");
    assert_eq!(without(6).as_deref(), Some(&b"a\nbc\n"[..]));
    assert_eq!(without(7).as_deref(), Some(&b"a\nbc\nd"[..]));
}

#[test]
fn a_cut_wide_file_is_its_whole_lines() {
    let body = wide("ab\ncd\nef\n", 2, false);
    let cut = |max| Body::open(&body, max).decoded();
    assert_eq!(cut(18).as_deref(), Some(&b"ab\ncd\nef\n"[..]));
    assert_eq!(cut(17).as_deref(), Some(&b"ab\ncd\n"[..]));
    assert_eq!(cut(11).as_deref(), Some(&b"ab\n"[..]));
    assert_eq!(cut(3), None);
}
