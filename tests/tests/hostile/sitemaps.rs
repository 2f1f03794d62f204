//! Sitemaps that are bombs, loops, lies. The crawls here read sitemaps (`--sitemaps`).

use std::fmt::Write as _;
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use whole_program::hostile::Expect::{Answers, AtMost, Decides, Never};
use whole_program::hostile::http::{answer, coded, gzip, gzip_bomb, open_head, page, redirect, text, typed};
use whole_program::hostile::{Ask, Scenario, Serve, Wire};

use crate::crawl::{Plan, run};

static BOMB: LazyLock<Vec<u8>> = LazyLock::new(|| gzip_bomb(100));

/// robots.txt names `/map.xml`, which is this; everything else is a page.
fn map(ask: &Ask, bytes: impl FnOnce() -> Vec<u8>) -> Vec<u8> {
    match ask.path.as_str() {
        "/robots.txt" => {
            text(format!("User-agent: *\nDisallow: /closed\nSitemap: http://{}/map.xml\n", ask.host))
        }
        "/map.xml" => bytes(),
        "/sitemap.xml" => answer(404, &[], ""),
        _ => page(format!("<title>{}</title>", ask.path)),
    }
}

fn urlset(urls: &str) -> Vec<u8> {
    typed(
        "application/xml",
        format!(
            "<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{urls}</urlset>"
        ),
    )
}

fn xml(body: impl AsRef<[u8]>) -> Vec<u8> {
    typed("application/xml", body)
}

const FAILED: &[whole_program::hostile::Expect] = &[Answers("/", 200), Decides("/map.xml", "sitemap_failed")];

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario::everything(
        "map-good",
        "robots",
        Serve::Answer(|ask| {
            map(ask, || {
                urlset(&format!(
                    "<url><loc>http://{}/found</loc></url><url><loc>http://{}/closed</loc></url>",
                    ask.host, ask.host
                ))
            })
        }),
        &[Answers("/", 200), Answers("/found", 200), Never("/closed"), Decides("/map.xml", "sitemap_read")],
    ),
    Scenario::everything(
        "map-laughs",
        "body",
        Serve::Answer(|ask| {
            map(ask, || {
                let mut entities = String::from("<!ENTITY a0 'ha'>");
                for n in 1..30 {
                    let _ = write!(entities, "<!ENTITY a{n} '&a{m};&a{m};&a{m};&a{m};'>", m = n - 1);
                }
                xml(format!(
                    "<?xml version='1.0'?><!DOCTYPE x [{entities}]><urlset><url><loc>http://{}/&a29;</loc></url></urlset>",
                    ask.host
                ))
            })
        }),
        &[Answers("/", 200), Never("/ha"), AtMost(5)],
    ),
    Scenario::everything(
        "map-external-entity",
        "address",
        Serve::Answer(|ask| {
            map(ask, || {
                xml(format!(
                    "<!DOCTYPE x [<!ENTITY x SYSTEM 'http://127.0.0.1:{}/'><!ENTITY y SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>http://{}/&x;&y;</loc></url></urlset>",
                    ask.secret, ask.host
                ))
            })
        }),
        &[Answers("/", 200), AtMost(5)],
    ),
    Scenario::everything(
        "map-bomb",
        "body",
        Serve::Answer(|ask| map(ask, || coded("gzip", &*BOMB))),
        &[Answers("/", 200), AtMost(5)],
    ),
    Scenario::everything(
        "map-bomb-in-a-file",
        "body",
        Serve::Answer(|ask| map(ask, || typed("application/gzip", &*BOMB))),
        &[Answers("/", 200), AtMost(5)],
    ),
    Scenario::everything(
        "map-bomb-in-a-bomb",
        "body",
        Serve::Answer(|ask| map(ask, || coded("gzip", gzip(&*BOMB)))),
        &[Answers("/", 200), AtMost(5)],
    ),
    Scenario::everything(
        "map-nested",
        "tree",
        Serve::Answer(|ask| map(ask, || urlset(&"<url>".repeat(200_000)))),
        &[Answers("/", 200), AtMost(5)],
    ),
    Scenario::everything(
        "map-without-end-tags",
        "tree",
        Serve::Answer(|ask| {
            map(ask, || xml(format!("<urlset><url><loc>http://{}/{}", ask.host, "x".repeat(2_000_000))))
        }),
        &[Answers("/", 200), Never("/xx"), AtMost(5)],
    ),
    Scenario::everything(
        "map-of-sixty-thousand",
        "limit",
        Serve::Answer(|ask| {
            map(ask, || {
                // All of them are denied, so that none has to be asked for.
                let urls: String = (0..60_000)
                    .map(|n| format!("<url><loc>http://{}/closed/{n}</loc></url>", ask.host))
                    .collect();
                urlset(&urls)
            })
        }),
        &[Answers("/", 200), Never("/closed")],
    ),
    Scenario::everything(
        "map-names-itself",
        "trap",
        Serve::Answer(|ask| {
            map(ask, || {
                xml(format!(
                    "<sitemapindex><sitemap><loc>http://{}/map.xml</loc></sitemap></sitemapindex>",
                    ask.host
                ))
            })
        }),
        &[Answers("/", 200), AtMost(5)],
    ),
    Scenario::everything(
        "map-of-maps-of-maps",
        "trap",
        Serve::Answer(|ask| match ask.path.as_str() {
            path if path.starts_with("/map") => {
                let more: String = (0..3)
                    .map(|n| {
                        format!(
                            "<sitemap><loc>http://{}{}-{n}.xml</loc></sitemap>",
                            ask.host,
                            path.trim_end_matches(".xml")
                        )
                    })
                    .collect();
                xml(format!("<sitemapindex>{more}</sitemapindex>"))
            }
            _ => map(ask, Vec::new),
        }),
        // Three deep: 1 + 3 + 9 + 27.
        &[Answers("/", 200), AtMost(45)],
    ),
    Scenario::everything(
        "map-redirects-for-ever",
        "redirect",
        Serve::Answer(|ask| match ask.path.as_str() {
            path if path.starts_with("/map") => redirect(302, &format!("/map{}.xml", ask.nth)),
            _ => map(ask, Vec::new),
        }),
        &[Answers("/", 200), AtMost(15)],
    ),
    Scenario::everything(
        "map-redirects-to-loopback",
        "address",
        Serve::Answer(|ask| map(ask, || redirect(302, &format!("http://127.0.0.1:{}/map.xml", ask.secret)))),
        &[Answers("/", 200), AtMost(5)],
    ),
    Scenario::everything(
        "map-at-loopback",
        "address",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => text(format!(
                "Sitemap: http://127.0.0.1:{}/map.xml\nSitemap: file:///etc/passwd\n",
                ask.secret
            )),
            "/sitemap.xml" => answer(404, &[], ""),
            _ => page("x"),
        }),
        &[Answers("/", 200), AtMost(3)],
    ),
    Scenario::everything(
        "map-of-strange-urls",
        "address",
        Serve::Answer(|ask| {
            map(ask, || {
                urlset(&format!(
                    "<url><loc>http://127.0.0.1:{}/</loc></url><url><loc>file:///etc/passwd</loc></url><url><loc>javascript:x()</loc></url><url><loc>http://elsewhere.test/</loc></url><url><loc>\u{202e}\u{9b}31m</loc></url>",
                    ask.secret
                ))
            })
        }),
        // The last one is relative: a page of this host.
        &[Answers("/", 200), AtMost(5)],
    ),
    Scenario::everything(
        "maps-by-the-thousand",
        "limit",
        Serve::Answer(|ask| match ask.path.as_str() {
            "/robots.txt" => text(
                (0..3000)
                    .map(|n| format!("Sitemap: http://{}/closed/{n}.xml\n", ask.host))
                    .collect::<String>()
                    + "User-agent: *\nDisallow: /closed\n",
            ),
            "/sitemap.xml" => answer(404, &[], ""),
            _ => page("x"),
        }),
        &[Answers("/", 200), Never("/closed"), AtMost(3)],
    ),
    Scenario::everything(
        "map-is-html",
        "text",
        Serve::Answer(|ask| map(ask, || page("<title>Not found</title><a href=/no>x</a>"))),
        &[Answers("/", 200), Never("/no")],
    ),
    Scenario::everything(
        "map-is-garbage",
        "text",
        Serve::Answer(|ask| map(ask, || xml([0xff; 100_000]))),
        &[Answers("/", 200), AtMost(5)],
    ),
    Scenario::everything("map-500", "robots", Serve::Answer(|ask| map(ask, || answer(500, &[], ""))), FAILED),
    Scenario::everything(
        "map-dates",
        "text",
        Serve::Answer(|ask| {
            map(ask, || {
                urlset(&format!(
                    "<url><loc>http://{0}/a</loc><lastmod>9999999-99-99T99:99:99Z</lastmod><priority>1e999</priority><changefreq>{1}</changefreq></url>",
                    ask.host,
                    "x".repeat(100_000)
                ))
            })
        }),
        &[Answers("/", 200), Answers("/a", 200)],
    ),
];

#[test]
fn hostile_sitemaps() {
    LazyLock::force(&BOMB);
    let options = &["--sitemaps", "--timeout", "4s", "--adaptive", "1"];
    // Maps by the thousand and maps of maps of maps end at limits.
    run(&Plan { options, exit: 10, ..Plan::new("sitemaps", SCENARIOS) });
}

/// Sitemaps that are fetched at the same time (docs/limits.md).
const PLACES: usize = 32;
/// Sitemaps of which a byte now and then is sent, so far.
static SLOW: AtomicUsize = AtomicUsize::new(0);
/// The sitemap of the host that does everything right was asked for.
static IS_SERVED: AtomicBool = AtomicBool::new(false);

/// A host whose sitemap comes to no end before the other host's was asked for.
fn trickle(wire: &mut Wire) -> io::Result<()> {
    loop {
        let ask = wire.request()?;
        match ask.path.as_str() {
            "/robots.txt" => wire.send(text(format!("Sitemap: http://{}/map.xml\n", ask.host)))?,
            "/map.xml" => {
                wire.send(open_head(&[]))?;
                SLOW.fetch_add(1, Ordering::SeqCst);
                // Longer than the crawl may take.
                for _ in (0..3_000).take_while(|_| !IS_SERVED.load(Ordering::SeqCst)) {
                    wire.send(b"\n")?;
                    wire.wait(Duration::from_millis(200));
                }
                return Ok(());
            }
            "/sitemap.xml" => wire.send(answer(404, &[], ""))?,
            _ => wire.send(page("<title>Slow</title>"))?,
        }
    }
}

fn innocent(wire: &mut Wire) -> io::Result<()> {
    loop {
        let ask = wire.request()?;
        match ask.path.as_str() {
            "/robots.txt" => {
                // It comes when the others have taken all places.
                for _ in (0..300).take_while(|_| SLOW.load(Ordering::SeqCst) < PLACES) {
                    wire.wait(Duration::from_millis(100));
                }
                wire.send(text(format!("Sitemap: http://{}/map.xml\n", ask.host)))?;
            }
            "/map.xml" => {
                IS_SERVED.store(true, Ordering::SeqCst);
                wire.send(text(format!("http://{}/found\n", ask.host)))?;
            }
            "/sitemap.xml" => wire.send(answer(404, &[], ""))?,
            _ => wire.send(page("<title>Innocent</title>"))?,
        }
    }
}

#[test]
fn hosts_that_send_their_sitemaps_slowly_hold_up_no_other_hosts() {
    let expected = &[Answers("/", 200), Answers("/found", 200), Decides("/map.xml", "sitemap_read")];
    let mut scenarios = vec![Scenario::everything("map-innocent", "text", Serve::Wire(innocent), expected)];
    for n in 0..PLACES + 2 {
        let name = format!("map-slow-{n}").leak();
        scenarios.push(Scenario::everything(name, "body", Serve::Wire(trickle), &[Answers("/", 200)]));
    }
    // No request ends by its own time.
    let options = &["--sitemaps", "--timeout", "10m", "--adaptive", "1"];
    let limit = Duration::from_mins(4);
    run(&Plan { options, limit, ..Plan::new("slow sitemaps", scenarios.leak()) });
    assert!(SLOW.load(Ordering::SeqCst) >= PLACES, "the others took all places");
}
