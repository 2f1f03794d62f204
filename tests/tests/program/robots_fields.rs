//! Fields and limits of robots.txt whose effect shows in the crawl alone.

use std::time::Duration;

use whole_program::site::{Answer, Sites};

use crate::scene::{Scene, sorted};

/// Octets of a robots.txt that are read (RFC 9309 section 2.5 asks for 500 KiB at least).
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
    // A whole comment line may end in the padding's last octets: the rule starts a line of its own.
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
