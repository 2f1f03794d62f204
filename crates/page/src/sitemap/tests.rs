//! Documents as they are found, and as nobody should send them.

use std::io::Write as _;

use proptest::prelude::*;

use super::*;

fn base() -> Url {
    Url::parse("http://a.test/maps/sitemap.xml").unwrap()
}

fn of(text: &str) -> Sitemap {
    read(text.as_bytes(), false, &base(), &SitemapLimits::default())
}

fn urls(sitemap: &Sitemap) -> Vec<&str> {
    sitemap.urls.iter().map(|entry| entry.url.as_str()).collect()
}

fn urlset(inner: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{inner}</urlset>"
    )
}

fn entries(count: usize) -> String {
    let entries = (0..count).map(|n| format!("<url><loc>http://a.test/{n}</loc></url>"));
    entries.collect::<Vec<_>>().concat()
}

#[test]
fn the_example_of_the_protocol_is_read_and_ordered() {
    let text = urlset(
        "<url><loc>http://a.test/</loc><lastmod>2005-01-01</lastmod><changefreq>monthly</changefreq><priority>0.8</priority></url>\
         <url><loc>http://a.test/catalog?item=12&amp;desc=vacation_hawaii</loc><changefreq>weekly</changefreq></url>\
         <url><loc>http://a.test/catalog?item=73&#38;desc=x</loc><lastmod>2004-12-23</lastmod></url>\
         <url><loc> http://a.test/late </loc><lastmod>2004-12-24T18:00:15+00:00</lastmod><priority>7</priority></url>\
         <url><loc><![CDATA[http://a.test/first]]></loc><priority>1.0</priority></url>",
    );
    let sitemap = of(&text);
    assert_eq!((sitemap.form, sitemap.bad, &sitemap.fault), (SitemapFormat::UrlSet, 0, &None));
    assert_eq!(
        urls(&sitemap),
        [
            "http://a.test/first",
            "http://a.test/",
            "http://a.test/late",
            "http://a.test/catalog?item=73&desc=x",
            "http://a.test/catalog?item=12&desc=vacation_hawaii",
        ]
    );
    assert_eq!(sitemap.urls[1].lastmod, Some("2005-01-01T00:00:00Z".parse().unwrap()));
}

#[test]
fn extensions_bring_no_urls_of_their_own() {
    let sitemap = of(&urlset(
        "<url><image:image><image:loc>http://a.test/i.png</image:loc></image:image><loc>http://a.test/p</loc>\
         <xhtml:link rel='alternate' hreflang='de' href='http://a.test/de'/><image:loc>http://a.test/j.png</image:loc></url>\
         <url><image:loc>http://a.test/k.png</image:loc></url>",
    ));
    assert_eq!((urls(&sitemap), sitemap.bad), (vec!["http://a.test/p"], 1));
}

#[test]
fn indexes_feeds_and_lists_are_read() {
    for (text, form, expected) in [
        (
            "<sitemapindex><sitemap><loc>http://a.test/1.xml.gz</loc><lastmod>2004</lastmod></sitemap>\
             <sitemap><loc>http://a.test/2.xml</loc><lastmod>2005</lastmod></sitemap></sitemapindex>",
            SitemapFormat::Index,
            &["http://a.test/2.xml", "http://a.test/1.xml.gz"][..],
        ),
        (
            "<rss version='2.0'><channel><title>t</title><link>http://a.test/</link>\
             <atom:link href='http://a.test/feed' rel='self'/>\
             <item><title>x</title><link>http://a.test/x</link><pubDate>Sat, 07 Sep 2002 09:42:31 GMT</pubDate></item>\
             <item><atom:link href='http://a.test/no'/><link>/y</link></item></channel></rss>",
            SitemapFormat::Rss,
            &["http://a.test/x", "http://a.test/y"],
        ),
        (
            "<rdf:RDF xmlns:rdf='x'><channel/><item rdf:about='x'><link>http://a.test/z</link></item></rdf:RDF>",
            SitemapFormat::Rss,
            &["http://a.test/z"],
        ),
        (
            "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://a.test/'/><entry><link rel='self' href='/s'/>\
             <link href='../e?a=1&amp;b=2'/><updated>2003-12-13T18:30:02Z</updated></entry></feed>",
            SitemapFormat::Atom,
            &["http://a.test/e?a=1&b=2"],
        ),
        (
            "\u{feff}http://a.test/1\r\nnonsense\n\n http://a.test/2\n/relative\nftp://a.test/",
            SitemapFormat::Text,
            &["http://a.test/1", "http://a.test/2"],
        ),
    ] {
        let sitemap = of(text);
        assert_eq!(
            (sitemap.form, urls(&sitemap).as_slice(), &sitemap.fault),
            (form, expected, &None),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_sitemap_is_said() {
    for (text, fault) in [
        ("<!DOCTYPE html><html><body>not found</body></html>", Fault::DocType),
        ("<html><body>not found</body></html>", Fault::NotOne),
        ("not found", Fault::NotOne),
        ("", Fault::NotOne),
        (
            "<?xml version='1.0'?><!DOCTYPE urlset [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><urlset/>",
            Fault::DocType,
        ),
    ] {
        let sitemap = of(text);
        assert!(sitemap.urls.is_empty());
        assert!(
            sitemap.fault == Some(fault.clone())
                || fault == Fault::DocType && sitemap.fault == Some(Fault::NotOne),
            "{text}: {sitemap:?}"
        );
    }
    let billion = "<?xml version='1.0'?><!DOCTYPE l [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]><urlset><url><loc>http://a.test/&b;</loc></url></urlset>";
    assert!(of(billion).urls.is_empty());
    let entity = of(&urlset("<url><loc>http://a.test/?&b;</loc></url>"));
    assert_eq!(urls(&entity), ["http://a.test/?&b;"]);
}

#[test]
fn what_is_broken_counts_up_to_the_break() {
    let text = urlset("<url><loc>http://a.test/1</loc></url><url><loc>http://a.test/2");
    let sitemap = of(&text[..text.len() - 9]);
    assert_eq!(urls(&sitemap), ["http://a.test/1"]);
    assert_eq!(sitemap.fault, Some(Fault::Broken("it ends unexpectedly".to_owned())));
    let broken = of("<urlset><url><loc>http://a.test/1</loc></url><!-- </urlset>");
    assert_eq!(urls(&broken), ["http://a.test/1"]);
    assert!(matches!(broken.fault, Some(Fault::Broken(_))), "{broken:?}");
}

/// Five entries, the second with something in its title.
fn feed(title: &str) -> String {
    let item = |n: usize| {
        let title = if n == 2 { title } else { "ok" };
        format!("<item><title>{title}</title><link>http://a.test/{n}?a=1&amp;b=2</link></item>")
    };
    format!("<rss version='2.0'><channel>{}</channel></rss>", (1..6).map(item).collect::<String>())
}

#[test]
fn characters_that_begin_no_markup_cost_no_url() {
    let expected: Vec<String> = (1..6).map(|n| format!("http://a.test/{n}?a=1&b=2")).collect();
    for title in [
        "&eacute;t&eacute; &lsquo;x&rsquo;",
        "R&D and Salt & Pepper",
        "AT&T; R&D;",
        "a < b",
        "a <3 b <",
        "a<b",
        "x<y and z",
        "if x<y and z>w",
        "a <b>bold",
        "one<br>two<br>three",
        "not </i> open",
        "</>",
        "<!important> <?",
        "a <b c=\"d",
        "&",
        "<",
    ] {
        if title.ends_with("<?") {
            // It lasts up to the next `?>`, of which there is none.
            assert!(matches!(of(&feed(title)).fault, Some(Fault::Broken(_))));
            continue;
        }
        let sitemap = of(&feed(title));
        assert_eq!(
            (urls(&sitemap), sitemap.fault.clone()),
            (expected.iter().map(String::as_str).collect(), None),
            "{title}"
        );
    }
}

#[test]
fn ill_formed_sitemaps_are_read_on() {
    let loc = |url: &str| format!("<url><loc>{url}</loc></url>");
    let (first, last) = (loc("http://a.test/1"), loc("http://a.test/3"));
    for (middle, expected) in [
        ("<url><loc>http://a.test/2?a=1&b=2</loc></url>", Some("http://a.test/2?a=1&b=2")),
        ("<url><loc>http://a.test/2?a=1&copy=2&amp;c=3</loc></url>", Some("http://a.test/2?a=1&copy=2&c=3")),
        ("<url><loc>http://a.test/2?a<b</loc></url>", Some("http://a.test/2?a%3Cb")),
        ("<url><loc>http://a.test/2</lock></url>", Some("http://a.test/2")),
        ("<url><loc>http://a.test/2</loc>", Some("http://a.test/2")),
        ("<url><loc>http://a.test/2<lastmod>2020-01-01</lastmod></url>", Some("http://a.test/2")),
        ("<url><loc>http://a.test/2</loc></urll>", Some("http://a.test/2")),
        ("</loc></url></b><url><loc>http://a.test/2</loc></url>", Some("http://a.test/2")),
        (
            "<url><image:image><image:title>Salt & Pepper</image:title></image:image><loc>http://a.test/2</loc></url>",
            Some("http://a.test/2"),
        ),
        ("Salt & Pepper < 3", None),
    ] {
        let sitemap = of(&urlset(&format!("{first}{middle}{last}")));
        let all: Vec<&str> =
            ["http://a.test/1"].into_iter().chain(expected).chain(["http://a.test/3"]).collect();
        let mut read = urls(&sitemap);
        // Dates decide the order.
        read.sort_unstable();
        assert_eq!((read, sitemap.bad, sitemap.fault.clone()), (all, 0, None), "{middle}");
    }
    let atom = "<feed><entry><title>R&D</title><link href='/e?a=1&b=2'/></entry><entry><link href=\"/f?<x>\"/></entry></feed>";
    assert_eq!(urls(&of(atom)), ["http://a.test/e?a=1&b=2", "http://a.test/f?%3Cx%3E"]);
}

#[test]
fn relative_urls_are_resolved_and_counted() {
    let sitemap = of(&urlset(
        "<url><loc>/a</loc></url><url><loc>b?x</loc></url><url><loc>//c.test/</loc></url><url><loc>http://a.test/d</loc></url>\
         <url><loc>mailto:a@b.test</loc></url><url><loc></loc></url>",
    ));
    assert_eq!(
        urls(&sitemap),
        ["http://a.test/a", "http://a.test/maps/b?x", "http://c.test/", "http://a.test/d"]
    );
    assert_eq!((sitemap.relative, sitemap.bad, &sitemap.fault), (3, 2, &None));
    let index = of("<sitemapindex><sitemap><loc>part.xml</loc></sitemap></sitemapindex>");
    assert_eq!((urls(&index), index.relative), (vec!["http://a.test/maps/part.xml"], 1));
    // Feeds may have them, and a line of text is no URL then.
    let feed = of("<rss><channel><item><link>/y</link></item></channel></rss>");
    assert_eq!((urls(&feed), feed.relative), (vec!["http://a.test/y"], 0));
    let lines = of("http://a.test/1\n/relative");
    assert_eq!((urls(&lines), lines.relative, lines.bad), (vec!["http://a.test/1"], 0, 1));
}

#[test]
fn limits_cut_and_say_so() {
    let entries = entries(20);
    let text = urlset(&entries);
    let limits = SitemapLimits { urls: 7, ..SitemapLimits::default() };
    let cut = read(text.as_bytes(), false, &base(), &limits);
    assert_eq!((cut.urls.len(), cut.fault), (7, Some(Fault::Urls)));
    let exact = SitemapLimits { urls: 20, ..limits };
    assert_eq!(read(text.as_bytes(), false, &base(), &exact).fault, None);
    let limits = SitemapLimits { bytes: 500, ..SitemapLimits::default() };
    let cut = read(text.as_bytes(), false, &base(), &limits);
    assert!((1..20).contains(&cut.urls.len()));
    assert_eq!(cut.fault, Some(Fault::Bytes));
    assert_eq!(read(text.as_bytes(), true, &base(), &SitemapLimits::default()).fault, Some(Fault::Bytes));
    let deep = format!("<urlset>{}", "<a>".repeat(1000));
    assert_eq!(of(&deep).fault, Some(Fault::Elements));
    let long = urlset(&format!("<url><loc>http://a.test/{}</loc></url>", "x".repeat(9000)));
    assert_eq!((of(&long).urls.len(), of(&long).bad), (0, 1));
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_is_unpacked_within_the_limit() {
    let text = urlset("<url><loc>http://a.test/1</loc></url>");
    let packed = gzip(text.as_bytes());
    assert_eq!(urls(&read(&packed, false, &base(), &SitemapLimits::default())), ["http://a.test/1"]);
    let half = &packed[..packed.len() - 12];
    assert!(matches!(read(half, false, &base(), &SitemapLimits::default()).fault, Some(Fault::Broken(_))));
    let bomb = gzip(&vec![b' '; 5 << 20]);
    let limits = SitemapLimits { bytes: 1 << 20, ..SitemapLimits::default() };
    assert_eq!(read(&bomb, false, &base(), &limits).fault, Some(Fault::NotOne));
    // No more than the limit is ever unpacked, and one byte that tells that there is more.
    assert_eq!(read(&bomb, false, &base(), &limits).bytes, 1 << 20);
    let twice = gzip(&packed);
    assert_eq!(read(&twice, false, &base(), &limits).fault, Some(Fault::NotOne));
    let members = gzip(b"").repeat(2_000);
    assert!(matches!(read(&members, false, &base(), &limits).fault, Some(Fault::Broken(_))));
}

#[test]
fn encodings_are_those_that_the_document_names() {
    let text = "<?xml version='1.0' encoding='ISO-8859-1'?><urlset><url><loc>http://a.test/\u{e4}</loc></url></urlset>";
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    let limits = SitemapLimits::default();
    assert_eq!(urls(&read(&latin, false, &base(), &limits)), ["http://a.test/%C3%A4"]);
    let wide: Vec<u8> = "\u{feff}<urlset><url><loc>http://a.test/\u{e4}</loc></url></urlset>"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(urls(&read(&wide, false, &base(), &limits)), ["http://a.test/%C3%A4"]);
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("<urlset>".to_owned()),
        Just("<sitemapindex>".to_owned()),
        Just("<rss>".to_owned()),
        Just("<url>".to_owned()),
        Just("</url>".to_owned()),
        Just("<loc>http://a.test/</loc>".to_owned()),
        Just("<loc/>".to_owned()),
        Just("<item><link>/x</link></item>".to_owned()),
        Just("<![CDATA[".to_owned()),
        Just("]]>".to_owned()),
        Just("<!DOCTYPE x [".to_owned()),
        Just("&#x110000;&amp;&".to_owned()),
        Just("<!--".to_owned()),
        Just("<link href='/\u{e4}'/>".to_owned()),
        "\\PC{0,12}",
        "[<>/a-z&;'\"= ]{0,20}",
    ]
}

proptest! {
    #[test]
    fn no_document_breaks_the_reader(pieces in prop::collection::vec(piece(), 0..60), cut in any::<bool>()) {
        let text = pieces.concat();
        let limits = SitemapLimits { urls: 5, bytes: 400, elements: 6, value_bytes: 30, ..SitemapLimits::default() };
        let sitemap = read(text.as_bytes(), cut, &base(), &limits);
        prop_assert!(sitemap.urls.len() <= limits.urls);
        prop_assert!(sitemap.urls.iter().all(|entry| (0.0..=1.0).contains(&entry.priority)));
        prop_assert!(sitemap.form != SitemapFormat::Other || sitemap.urls.is_empty());
        prop_assert_eq!(read(text.as_bytes(), cut, &base(), &limits), sitemap, "the same bytes, the same answer");
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..300), packed in any::<bool>()) {
        let bytes = if packed { [&[0x1f, 0x8b, 8, 0][..], &bytes].concat() } else { bytes };
        let _sitemap = read(&bytes, false, &base(), &SitemapLimits::default());
    }

    #[test]
    fn every_url_of_a_sitemap_comes_back(count in 0..200_usize) {
        let entries = entries(count);
        let sitemap = of(&urlset(&entries));
        let expected: Vec<String> = (0..count).map(|n| format!("http://a.test/{n}")).collect();
        prop_assert_eq!(urls(&sitemap), expected);
    }
}

/// The largest documents that the limits let through, in the values that grow most when they are encoded: memory is that of a part.
#[test]
fn a_sitemap_is_read_in_the_memory_of_a_part_whatever_its_size() {
    for (value, is_long) in [("\u{e9}", true), ("\"", true), ("\u{e9}", false), ("a", false)] {
        let value = value.repeat(if is_long { 4_000 } else { 300 });
        let entry = |n: usize| format!("<url><loc>http://a.test/{n}{value}</loc></url>");
        let lines = (0..).map(entry).scan(0, |length, entry| {
            *length += entry.len();
            (*length < 50 << 20).then_some(entry)
        });
        let packed = gzip(urlset(&lines.collect::<String>()).as_bytes());
        let (mut most, mut given) = (0, 0);
        let taken = allocation_counter::measure(|| {
            let mut give = |form, part: Vec<SitemapUrl>| {
                assert_eq!(form, SitemapFormat::UrlSet);
                most = most.max(part.iter().map(|entry| entry.url.as_str().len()).sum::<usize>());
                given += part.len() as u64;
                true
            };
            let sitemap = read_parts(&packed[..], false, &base(), &SitemapLimits::default(), &mut give);
            given += sitemap.urls.len() as u64;
            assert_eq!(sitemap.count, given);
            assert_eq!(sitemap.too_long > 0, is_long, "{sitemap:?}");
            assert_eq!(sitemap.urls.is_empty(), is_long);
        });
        assert!(most <= 9 << 20, "{most} bytes in one part");
        assert!(taken.bytes_max < 16 << 20, "{} bytes at once", taken.bytes_max);
    }
}

#[test]
fn the_length_of_a_url_counts_as_it_would_be_requested() {
    let limits = SitemapLimits { url_length: 40, ..SitemapLimits::default() };
    let text = urlset(
        "<url><loc>http://a.test/\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}</loc></url><url><loc>http://a.test/\u{e9}\u{e9}\u{e9}\u{e9}</loc></url>\
         <url><loc>http://a.test/\"\"\"\"\"\"\"\"\"</loc></url><url><loc>ftp://a.test/</loc></url>",
    );
    let sitemap = read(text.as_bytes(), false, &base(), &limits);
    // 14 bytes, and six for each letter.
    assert_eq!(urls(&sitemap), ["http://a.test/%C3%A9%C3%A9%C3%A9%C3%A9"]);
    assert_eq!((sitemap.too_long, sitemap.bad, sitemap.count), (2, 1, 1));
    let lines = "http://a.test/\"\"\"\"\"\"\"\"\"\nhttp://a.test/1\n";
    let sitemap = read(lines.as_bytes(), false, &base(), &limits);
    assert_eq!((urls(&sitemap), sitemap.too_long), (vec!["http://a.test/1"], 1));
}

#[test]
fn a_token_without_end_is_never_held() {
    for start in
        ["<!--", "<urlset ", "<urlset><url><loc>", "<urlset><![CDATA[", "<urlset><?x ", "<urlset a=\""]
    {
        let packed = gzip(format!("{start}{}", "x".repeat(20 << 20)).as_bytes());
        let taken = allocation_counter::measure(|| {
            let sitemap = read(&packed, false, &base(), &SitemapLimits::default());
            assert!(sitemap.urls.is_empty() && sitemap.fault.is_some(), "{start}");
        });
        assert!(taken.bytes_max < 6 << 20, "{start}: {} bytes", taken.bytes_max);
    }
    let line = gzip(&vec![b'x'; 20 << 20]);
    let taken = allocation_counter::measure(|| {
        assert_eq!(read(&line, false, &base(), &SitemapLimits::default()).fault, Some(Fault::NotOne));
    });
    assert!(taken.bytes_max < 1 << 20, "{} bytes", taken.bytes_max);
}
