//! Fields and limits of robots.txt whose effect shows in the crawl alone.

use std::path::Path;
use std::time::Duration;

use whole_program::output_dir::files_with;
use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

/// Bytes of a robots.txt that are read (RFC 9309 section 2.5 asks for 500 KiB at least).
const READ: usize = 512_000;

#[test]
fn a_noindex_field_keeps_the_content_of_its_pages_out() {
    let robots = "User-agent: *\nNoindex: /hidden\n";
    let sites = Sites::new()
        .page("a.test", "/robots.txt", Answer::content("text/plain", robots))
        .page("a.test", "/", Answer::html("<title>front</title><a href=/hidden>h</a>"))
        .page("a.test", "/hidden", Answer::html("<title>kept-out</title><a href=/next>n</a>"))
        .page("a.test", "/next", Answer::html("<title>next</title>"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    assert_eq!(
        sorted(scene.server.pages()),
        ["http://a.test/", "http://a.test/hidden", "http://a.test/next"],
        "noindex alone leaves the links open"
    );
    let pages = scene.table("pages");
    let hidden = pages.iter().find(|page| page["url"] == "http://a.test/hidden").expect("a row");
    assert_eq!(hidden["title"], serde_json::Value::Null);
    assert_eq!(hidden["indexed"], false);
    let because = hidden["directives"].to_string();
    assert!(because.contains("robots.txt line 2"), "{because}");
}

#[test]
fn a_rule_that_the_size_limit_cuts_never_opens_more() {
    let start = "User-agent: *\nDisallow: /private\n";
    let cut = "Allow: /private";
    let mut robots = start.to_owned();
    let padding = READ - start.len() - cut.len();
    robots.push_str(&format!("#{}\n", "x".repeat(98)).repeat(padding / 100));
    robots.push_str(&format!("#{}\n", "x".repeat(98))[..padding % 100]);
    assert_eq!(robots.len() + cut.len(), READ);
    // A whole comment line may end in the padding's last bytes: the rule starts a line of its own.
    let robots = format!("{}\n{cut}/only-this-page\n", &robots[..robots.len() - 1]);
    assert_eq!(&robots[READ - cut.len()..READ], cut);
    let sites = Sites::new()
        .page("a.test", "/robots.txt", Answer::content("text/plain", robots).after(Duration::ZERO))
        .page("a.test", "/", Answer::html("<a href=/private/x>x</a><a href=/open>o</a>"))
        .page("a.test", "/private/x", Answer::html("private"))
        .page("a.test", "/open", Answer::html("open"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    assert_eq!(sorted(scene.server.pages()), ["http://a.test/", "http://a.test/open"]);
}

/// Text in UTF-16 or UTF-32, without a byte order mark.
fn wide(text: &str, width: usize) -> Vec<u8> {
    let units: Vec<u32> = if width == 2 {
        text.encode_utf16().map(u32::from).collect()
    } else {
        text.chars().map(u32::from).collect()
    };
    units.into_iter().flat_map(|unit| unit.to_le_bytes()[..width].to_vec()).collect()
}

/// Of each site, the front page alone may be fetched: what its owner wrote is plain to a reader, and odd in its bytes.
#[test]
fn rules_that_look_plain_to_their_author_are_honoured() {
    let rules = "User-agent: *\r\nDisallow: /private\r\n";
    let robots: [(&str, Vec<u8>); 10] = [
        // Another robot's permission, and another robot's denial of what its cut name shares with ours.
        ("other.test", "User-agent: Agent1\nAllow: /\n\nUser-agent: *\nDisallow: /private\n".into()),
        ("cut.test", "User-agent: Agent\nDisallow: /private\n\nUser-agent: *\nAllow: /\n".into()),
        ("space.test", "User-agent:\u{a0}*\nDisallow:\u{a0}/private\n".into()),
        ("latin.test", b"User-agent: *\nDisallow:\xa0/private\n".to_vec()),
        ("colon.test", "User-agent\u{ff1a}*\nDisallow\u{ff1a}/private\n".into()),
        ("two-marks.test", "\u{feff}\u{feff}User-agent: *\nDisallow: /private\n".into()),
        ("utf16.test", wide(rules, 2)),
        ("utf32.test", wide(rules, 4)),
        (
            "appended.test",
            [b"User-agent: *\r\nDisallow: /x\r\n", &wide("Disallow: /private\r\n", 2)[..]].concat(),
        ),
        ("nul.test", [&b"\0\0\0"[..], rules.as_bytes()].concat()),
    ];
    let mut sites = Sites::new();
    for (host, body) in &robots {
        sites = sites
            .page(host, "/robots.txt", Answer::content("text/plain", body.clone()))
            .page(host, "/", Answer::html("<title>front</title><a href=/private>p</a>"))
            .page(host, "/private", Answer::html("<title>marker-of-private</title>"));
    }
    let scene = Scene::new(sites);
    let crawl = Crawl::new(["--agent", "Agent2/1.0", "--delay", "20ms", "--adaptive", "0"])
        .args([Path::new("--seed"), &scene.seeds(), Path::new("--out"), &scene.out()])
        .args(scene.server.resolve());
    crawl.run().expect(0);
    let mut want: Vec<_> = robots.iter().map(|(host, _)| format!("http://{host}/")).collect();
    want.sort();
    assert_eq!(sorted(scene.server.pages()), want);
    assert!(files_with(&scene.out(), &["marker-of-private"]).is_empty());
    let skipped = scene.look("show", &["skipped", "--json"]).expect(0).json();
    let by_rules = skipped.iter().filter(|row| row.to_string().contains("/private")).count();
    assert_eq!(by_rules, robots.len(), "{skipped:?}");
}

#[test]
fn a_delay_beyond_the_year_9999_is_shown_and_exported() {
    let hosts =
        [("a.test", "Crawl-delay: 9999999999999"), ("b.test", "Request-rate: 1/18446744073709551615")];
    let sites = hosts.iter().fold(Sites::new(), |sites, (host, line)| {
        let robots = Answer::content("text/plain", format!("User-agent: *\n{line}\n"));
        sites.page(host, "/robots.txt", robots).page(host, "/", Answer::html("<title>front</title>"))
    });
    let scene = Scene::new(sites);
    scene.crawl().run().expect(10);
    assert_eq!(scene.server.pages(), Vec::<String>::new());
    // The last moment that RFC 3339 has, less the largest offset of a zone.
    let next: Vec<_> = scene.table("hosts").iter().map(|host| host["next_at"].to_string()).collect();
    assert_eq!(next, vec!["\"9999-12-30T22:00:00.999Z\""; hosts.len()]);
    for format in ["sqlite", "parquet", "csv", "jsonl"] {
        let out = scene.path(&format!("tables.{format}"));
        scene.look("export", &["--format", format, "-o", out.to_str().expect("UTF-8")]).expect(0);
    }
    for command in ["show", "audit"] {
        scene.look(command, &[]).expect(0);
    }
    scene.resume().run().expect(10);
}
