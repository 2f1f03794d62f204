//! Warnings for the author of a file alone: the classic mistakes (FAQ of the standard of 1994, and those that came with patterns).

use robots::{Options, WarningKind as K, lint};

fn kinds(file: &str) -> Vec<(u32, K)> {
    lint(file.as_bytes(), &Options::default()).iter().map(|warning| (warning.line, warning.kind)).collect()
}

#[test]
fn every_mistake_has_its_line() {
    let rows: &[(&str, &[(u32, K)])] = &[
        ("User-agent: *\nDisallow: /tmp/\n", &[]),
        // The FAQ: write /tmp/ and not /tmp/*.
        ("User-agent: *\nDisallow: /tmp/*\n", &[(2, K::TrailingStar)]),
        ("User-agent: *\nDisallow: /*\nDisallow: /a*$", &[(2, K::TrailingStar), (3, K::TrailingStar)]),
        ("User-agent: *\nDisallow: *\n", &[(2, K::TrailingStar)]),
        // Within a path it means something.
        ("User-agent: *\nDisallow: /*/tmp/\nDisallow: /*.gif$\nDisallow: /a*b\n", &[]),
        ("User-agent: *\nDisallow: /.*\\.php$\n", &[(2, K::RegularExpression)]),
        (
            "User-agent: *\nDisallow: ^/admin\nDisallow: /(a|b)/\nDisallow: /[0-9]/",
            &[(2, K::RegularExpression), (3, K::RegularExpression), (4, K::RegularExpression)],
        ),
        (
            "User-agent: *\nDisallow: /.git\nDisallow: /.*/x\nDisallow: /a(b)\nDisallow: /*?filter[price]=\n",
            &[],
        ),
        ("User-agent: *\nDisallow: /a\\b\n", &[(2, K::Backslash)]),
        ("User-agent: *\nDisallow: /.jpg$\nDisallow: /.well-known/x$\n", &[(2, K::BareExtension)]),
        ("User-agent: *\nDisallow: /a#b\nDisallow: /a #b\nDisallow: /a# b\n", &[(2, K::HashInPath)]),
        ("User-agent: *\r\nDisallow: /x\r\nDisallow: /a#b\r\n", &[(3, K::HashInPath)]),
        ("User-agent: *\nDisallow: /a<br>\n</p>\n", &[(2, K::HtmlTag), (3, K::HtmlTag)]),
        // Less than and greater than alone are no tag.
        ("User-agent: *\nDisallow: /ab<5>\nDisallow: /c<\nDisallow: /d</\n", &[]),
        ("<html>\n<p>User-agent: *</p>\n", &[]),
        ("User-agent: *\nDisallow:\n", &[]),
        ("User-agent: *\nDisallow: /a\nDisallow:\n", &[(3, K::EmptyDisallow)]),
        // An Allow alone forbids nothing.
        ("User-agent: *\nAllow: /public\n", &[(2, K::AllowWithoutEffect)]),
        ("User-agent: *\nAllow: /a/b\nDisallow: /a\n", &[]),
        ("User-agent: *\nAllow: /a\nDisallow: /a/b\n", &[(2, K::AllowWithoutEffect)]),
        ("User-agent: *\nAllow: /b\nDisallow: /a\n", &[(2, K::AllowWithoutEffect)]),
        ("User-agent: *\nAllow: /$\nDisallow: /\nAllow: /*?$\nDisallow: /*?\n", &[]),
        ("User-agent: *\nAllow: /b/c\nDisallow: /*.gif\n", &[(2, K::AllowWithoutEffect)]),
        ("User-agent: *\nAllow: /b/c/d\nDisallow: /*.gif\n", &[]),
        ("User-agent: *\nDisallow: /%61\nAllow: /a\n", &[(3, K::AllowedAndDisallowed)]),
        // The Disallow of another group is another robot's.
        ("User-agent: a\nDisallow: /a\n\nUser-agent: b\nAllow: /a/b\n", &[(5, K::AllowWithoutEffect)]),
        (
            "User-agent: *\nDisallow: /a\n\nUser-agent: b\nDisallow: /\n\nUser-agent: *\nDisallow: /c\n",
            &[(7, K::RepeatedAgent)],
        ),
        (
            "User-agent: Bot/1.0\nDisallow: /a\n\nUser-agent: x\nUser-agent: bOT\nDisallow: /c\n",
            &[(5, K::RepeatedAgent)],
        ),
        ("User-agent: a\nUser-agent: a\nDisallow: /c\n", &[]),
        (
            "Crawl-delay: 5\nSitemap: https://a.example/m\nUser-agent: *\nDisallow: /c\n",
            &[(1, K::RuleBeforeAgent)],
        ),
        ("", &[]),
    ];
    for (file, want) in rows {
        assert_eq!(kinds(file), *want, "{file}");
    }
}

#[test]
fn files_in_wide_encodings_are_looked_at_too() {
    let file: Vec<u8> =
        "User-agent: *\nDisallow: /tmp/*\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let warnings = lint(&file, &Options::default());
    assert_eq!(
        warnings.iter().map(|warning| (warning.line, warning.kind)).collect::<Vec<_>>(),
        [(2, K::TrailingStar)]
    );
}

#[test]
fn hostile_files_are_looked_at_in_bounded_time_and_space() {
    let rules: Vec<_> = (0..20_000).map(|i| format!("Allow: /{i}*\nDisallow: /x{i}*\n")).collect();
    let file = format!("User-agent: *\n{}", rules.concat());
    assert_eq!(lint(file.as_bytes(), &Options::default()).len(), 201);
}

proptest::proptest! {
    #[test]
    fn any_bytes_give_warnings_within_the_file(body: Vec<u8>) {
        for warning in lint(&body, &Options::default()) {
            proptest::prop_assert!(warning.line as usize <= body.len() + 1);
            proptest::prop_assert!(!warning.to_string().contains(|c: char| c.is_control() && c != '\t'));
        }
    }
}
