use super::*;

fn text(line: &[u8]) -> Option<String> {
    let repaired = repair(line, false)?;
    Some(String::from_utf8_lossy(&repaired.bytes).into_owned())
}

#[test]
fn what_a_reader_sees_as_ascii_becomes_ascii() {
    let rows: [(&[u8], &str); 29] = [
        ("Disallow:\u{a0}/".as_bytes(), "Disallow: /"),
        ("Disallow:\u{3000}/a".as_bytes(), "Disallow: /a"),
        ("Disallow: \u{2003}\u{200b}/a\u{202f}".as_bytes(), "Disallow:  /a "),
        ("Disallow\u{a0}: /".as_bytes(), "Disallow : /"),
        ("\u{a0}Disallow: /".as_bytes(), " Disallow: /"),
        ("\u{feff}User-agent: *".as_bytes(), "User-agent: *"),
        ("User\u{2011}agent: *".as_bytes(), "User-agent: *"),
        ("User\u{2013}agent: a\u{2013}b".as_bytes(), "User-agent: a\u{2013}b"),
        ("Disallow\u{ff1a}\u{ff0f}".as_bytes(), "Disallow:/"),
        ("User-agent: \u{ff0a}".as_bytes(), "User-agent: *"),
        ("Dis\u{ad}allow: /pri\u{200b}vate".as_bytes(), "Disallow: /private"),
        ("Disallow: /a\u{a0}/b".as_bytes(), "Disallow: /a /b"),
        ("Disallow:/a\u{200e} # \u{a0}".as_bytes(), "Disallow:/a # \u{a0}"),
        ("Disallow: /\u{645}\u{200c}\u{62e}\u{200d}".as_bytes(), "Disallow: /\u{645}\u{200c}\u{62e}"),
        ("Disallow:\u{a0}\u{200c}/a\u{200d} ".as_bytes(), "Disallow: /a "),
        ("Disallow: \u{200b}\u{200c} \u{fe0f}/a".as_bytes(), "Disallow:  /a"),
        ("Disallow\u{a0}/a".as_bytes(), "Disallow /a"),
        (b"Disallow:\x01/\x7fa", "Disallow:/a"),
        ("\u{ef}\u{bb}\u{bf}User-agent: *".as_bytes(), "User-agent: *"),
        (b"Disallow:\xa0/", "Disallow: /"),
        (b"Disallow\xa0:\xa0/\xa0", "Disallow : / "),
        (b"\xff\xfeDisallow: /", "Disallow: /"),
        (b"User\x96agent: *", "User-agent: *"),
        (b"Dis\xadallow: /", "Disallow: /"),
        // GB 2312: full-width colon, slash, star and space.
        (b"Disallow\xa3\xba\xa3\xaf", "Disallow:/"),
        (b"User-agent:\xa1\xa1\xa3\xaa", "User-agent: *"),
        // Shift_JIS, Big5 and EUC-JP.
        (b"Disallow\x81\x46/", "Disallow:/"),
        (b"Disallow\xa1\x47/", "Disallow:/"),
        (b"Disallow\xa1\xa7/", "Disallow:/"),
    ];
    for (line, want) in rows {
        assert_eq!(text(line).as_deref(), Some(want), "{}", line.escape_ascii());
    }
}

#[test]
fn other_text_is_left_alone() {
    let rows: [&[u8]; 8] = [
        b"User-agent: *\r\nDisallow: /a\t# x\n",
        "Disallow: /\u{e9}\u{65e5}\u{672c} ".as_bytes(),
        "Disallow: /\u{ff08}\u{ff21}\u{ff09}".as_bytes(),
        "# \u{a0}\u{feff}\u{ff1a}\nDisallow: /a".as_bytes(),
        "Disallow: /\u{645}\u{200c}\u{62e}".as_bytes(),
        b"Disallow: /caf\xe9/x",
        // A no-break space within a value may be a part of another character.
        b"Disallow: /\xc4\xa0\xd0/x",
        b"",
    ];
    for line in rows {
        assert_eq!(text(line), None, "{}", line.escape_ascii());
    }
}

#[test]
fn lines_keep_their_numbers() {
    let repaired =
        repair("a\u{a0}: b\r\nc\n\r\u{a0}d\r# \u{a0}\ne\u{3000}".as_bytes(), false).map(|text| text.lines);
    assert_eq!(repaired, Some(vec![1, 4, 6]));
}
