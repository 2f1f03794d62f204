//! What a page may add to the database, by pages whose links take far more than the page: through `<base>`, and in every other way that
//! a few bytes of a response name much. What isn't listed is counted, and every URL is either.

use std::collections::BTreeSet;
use std::path::Path;

use crawler::store::{SledStore, Store as _, Tree};
use whole_program::hostile::http::gzip;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// Pages of a host: its front page, and those that the front page links to first.
const PAGES: usize = 4;

/// Bytes that a database has without pages, and hosts with their rules.
const EMPTY: u64 = 32 * 1024;

/// Text that doesn't compress: six bits a character.
fn noise(seed: usize, length: usize) -> String {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    let mut state = (seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let letter = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(LETTERS[(state >> 40) as usize % 64])
    };
    (0..length).map(letter).collect()
}

fn lower(seed: usize, length: usize) -> String {
    noise(seed, length).to_ascii_lowercase().replace(['-', '_'], "x")
}

/// A kind of page, and how many URLs each has that may not be followed, besides the links to the other pages.
struct Kind {
    name: &'static str,
    page: fn(usize) -> String,
    head: fn(usize) -> Vec<(&'static str, String)>,
    skipped: usize,
}

fn many(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

fn base(page: usize) -> String {
    format!("<base href='http://other.test/{}/'>", noise(page, 1_900))
}

const NO_HEAD: fn(usize) -> Vec<(&'static str, String)> = |_| Vec::new();

const KINDS: [Kind; 8] = [
    Kind {
        name: "links",
        page: |page| base(page) + &many(4_000, |n| format!("<a href='{n}'>{n}</a>")),
        head: NO_HEAD,
        skipped: 4_000,
    },
    Kind {
        name: "images",
        page: |page| {
            base(page)
                + &many(4, |image| {
                    let all = (0..750).map(|n| format!("{image}-{n} {}w", n + 1)).collect::<Vec<_>>();
                    format!("<img srcset='{}'>", all.join(", "))
                })
        },
        head: NO_HEAD,
        skipped: 3_000,
    },
    Kind {
        name: "languages",
        page: |page| base(page) + &many(3_000, |n| format!("<link rel=alternate hreflang=en href='{n}'>")),
        head: NO_HEAD,
        skipped: 3_000,
    },
    Kind {
        name: "nofollow",
        page: |page| {
            format!("<base href='/{}/'>", noise(page, 1_900))
                + &many(4_000, |n| format!("<a rel=nofollow href='{n}'>"))
        },
        head: NO_HEAD,
        skipped: 4_000,
    },
    Kind {
        name: "hosts",
        page: |page| {
            many(5_000, |n| format!("<a href='http://{}.{}.test/'>", lower(page * 5_000 + n, 50), n))
        },
        head: NO_HEAD,
        skipped: 5_000,
    },
    Kind {
        name: "long",
        page: |page| many(3_000, |n| format!("<a href='/{page}/{n}/{}'>", "z".repeat(2_200))),
        head: NO_HEAD,
        skipped: 3_000,
    },
    Kind {
        name: "headers",
        page: |_| String::new(),
        head: |page| {
            let links = |n: usize| format!("<//other{page}{n}.test/{}>; rel=next", noise(page * 90 + n, 500));
            (0..90).map(|n| ("Link", links(n))).collect()
        },
        skipped: 90,
    },
    Kind {
        name: "texts",
        page: |page| {
            let words = "\u{1}'é\"".repeat(2_000);
            let metas = ["description", "keywords", "og:title", "og:description", "twitter:title", "url"]
                .map(|name| {
                    format!("<meta name={name} property={name} content=\"{}\">", words.replace('"', "&quot;"))
                });
            let blocks = many(100, |n| {
                format!("<script type='application/ld+json'>\"{n}{page}{}\"</script>", "\\\"".repeat(1_000))
            });
            metas.concat() + &blocks
        },
        head: NO_HEAD,
        skipped: 0,
    },
];

/// Bytes of keys and values, and of the files that hold them.
fn stored(db: &Path) -> (u64, u64) {
    let files = whole_program::output_dir::files(db);
    let on_disk = files.iter().filter_map(|file| file.metadata().ok()).map(|data| data.len()).sum();
    let store = SledStore::open(db).expect("the database can be opened");
    let mut bytes = 0;
    for tree in Tree::ALL {
        for pair in store.scan(tree, &[]) {
            let (key, value) = pair.expect("the database can be read");
            bytes += (key.len() + value.len()) as u64;
        }
    }
    (bytes, on_disk)
}

#[test]
fn no_page_adds_more_than_four_times_its_bytes_and_64_kib_and_every_url_is_listed_or_counted() {
    for Kind { name, page, head, skipped } in KINDS {
        let links = many(PAGES, |n| format!("<a href='http://a.test/page{n}'>{n}</a>"));
        let mut sites = Sites::new();
        let mut sent = 0;
        for n in 0..=PAGES {
            // Behind the links to the other pages, for which each page has space.
            let body = gzip(format!("<!doctype html>{links}{}", page(n)));
            let mut answer = Answer::html(body).header("Content-Encoding", "gzip");
            for (field, value) in head(n) {
                answer = answer.header(field, &value);
                sent += field.len() + value.len() + 4;
            }
            sent += answer.body.len();
            let path = if n == PAGES { "/".to_owned() } else { format!("/page{n}") };
            sites = sites.page("a.test", &path, answer);
        }
        let scene = Scene::new(sites);
        scene.crawl().run();
        let pages = scene.table("pages");
        assert_eq!(pages.len(), PAGES + 1, "{name}");

        let counted: u64 = pages.iter().map(|page| page["skipped_not_listed"].as_u64().unwrap()).sum();
        let rows = scene.table("skipped");
        let listed: BTreeSet<&str> = rows.iter().map(|row| row["url"].as_str().unwrap()).collect();
        assert_eq!(
            listed.len() as u64 + counted,
            (skipped * (PAGES + 1)) as u64,
            "{name}: {} listed",
            listed.len()
        );
        let links = scene.table("links").into_iter().filter(|link| link["outcome"] == "growth").count();
        assert_eq!(links, 0, "{name}: what is followed isn't kept out for the sake of evidence");
        let summary = scene.look("show", &["--json"]).expect(0).json().remove(0);
        assert_eq!(summary["skipped_not_listed"], counted, "{name}");
        assert_eq!(summary["totals"]["skipped"], listed.len(), "{name}");
        scene.look("audit", &[]).expect(0);

        let most = (4 * sent + (PAGES + 1) * 64 * 1024) as u64 + EMPTY;
        let (bytes, on_disk) = stored(&scene.out().join("db"));
        eprintln!(
            "{name}: sent {sent}, stored {bytes}, on disk {on_disk}, may add {most}, listed {}, counted {counted}",
            listed.len()
        );
        assert!(bytes <= most, "{name}: {bytes} bytes of {most}");
    }
}

#[test]
fn a_page_queues_no_more_than_it_may_add_and_counts_the_rest() {
    const LINKS: usize = 4_000;
    let body =
        format!("<base href='/{}/'>{}", noise(1, 1_900), many(LINKS, |n| format!("<a href='{n}'>{n}</a>")));
    let body = gzip(body);
    let most = (4 * body.len() + 64 * 1024) as u64 + EMPTY;
    let sites = Sites::new().page("a.test", "/", Answer::html(body).header("Content-Encoding", "gzip"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--max-pages", "1"]).run();
    let pages = scene.table("pages");
    let page = pages.iter().find(|page| page["url"] == "http://a.test/").unwrap();
    let counted = page["skipped_not_listed"].as_u64().unwrap();
    let queued = scene.table("queue").len() as u64;
    let listed = scene.table("skipped").len() as u64;
    assert!(queued > 500 && counted > 500, "{queued} queued, {counted} counted");
    assert_eq!(
        queued + counted + listed + (pages.len() as u64 - 1),
        LINKS as u64,
        "{queued} {counted} {listed}"
    );
    assert_eq!(page["limits_hit"], serde_json::json!(["growth", "not listed"]));
    let (bytes, on_disk) = stored(&scene.out().join("db"));
    eprintln!("queued {queued}: stored {bytes}, on disk {on_disk}, may add {most}");
    assert!(bytes <= most, "{bytes} of {most}");

    // What is only counted is explained as what is listed, and judged again where the settings change.
    let links = scene.table("links");
    let kept_out = links.iter().find(|link| link["outcome"] == "growth").unwrap()["to"].as_str().unwrap();
    let told = scene.look("explain", &[kept_out]);
    assert!(told.stdout.contains("may add no more to the database"), "{}", told.stdout);
    scene.look("audit", &[]).expect(0);
}

#[test]
fn what_is_only_counted_is_explained_and_judged_again_by_wider_settings() {
    const LINKS: usize = 4_000;
    let deep = noise(1, 900);
    let body = gzip(format!("<base href='/{deep}/'>{}", many(LINKS, |n| format!("<a href={n}>"))));
    let sites = Sites::new().page("a.test", "/", Answer::html(body).header("Content-Encoding", "gzip"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--max-depth", "0"]).run();
    let counted = scene.table("pages")[0]["skipped_not_listed"].as_u64().unwrap();
    let listed = scene.table("skipped").len() as u64;
    assert!(counted > 0, "all {listed} are listed");
    assert_eq!(listed + counted, LINKS as u64);
    let last = format!("http://a.test/{deep}/3999");
    let told = scene.look("explain", &[&last]);
    assert!(told.stdout.contains("deeper than --max-depth"), "{}", told.stdout);
    scene.resume().args(["--max-depth", "1", "--max-time", "5s"]).run();
    let found = scene.table("queue").len() + scene.table("errors").len();
    assert!(found >= LINKS, "{found} queued or fetched");
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_row_has_eight_places_of_each_claim_of_robots_txt_and_the_number_of_the_others() {
    const LINES: usize = 990;
    let lines = many(LINES, |n| format!("Content-Signal: search=yes, ai-train=no, x={n}\n"));
    let robots = format!("User-agent: *\n{lines}Allow: /\n");
    let sites = Sites::new().page("a.test", "/robots.txt", Answer::content("text/plain", robots)).page(
        "a.test",
        "/",
        Answer::html("<title>x</title>"),
    );
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let page = scene.table("pages").remove(0);
    assert_eq!(page["consent"].as_array().unwrap().len(), 2 * 8);
    assert_eq!(page["consent_more"], 2 * (LINES - 8));
    assert!(page.to_string().len() < 16 * 1024, "{} bytes", page.to_string().len());
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_sitemap_and_a_robots_txt_add_no_more_than_a_page_may_and_every_url_is_listed_or_counted() {
    // A robots.txt is read up to 500 KiB.
    const LINES: usize = 480;
    const URLS: usize = 4_000;
    let folder = noise(1, 900);
    let elements = |parent: &str, child: &str, start: &str| {
        let one = |n| format!("<{child}><loc>{start}{folder}/{n}</loc></{child}>");
        Answer::content("application/xml", gzip(format!("<{parent}>{}</{parent}>", many(URLS, one))))
            .header("Content-Encoding", "gzip")
    };
    let lines = many(LINES, |n| format!("Sitemap: http://other.test/{folder}/{n}\n"));
    let denied = "User-agent: *\nDisallow: /denied/\n";
    for (name, robots, sitemap, urls) in [
        ("lines", format!("{denied}{lines}"), None, LINES),
        ("index", denied.to_owned(), Some(elements("sitemapindex", "sitemap", "http://other.test/")), URLS),
        ("urls", denied.to_owned(), Some(elements("urlset", "url", "http://a.test/denied/")), URLS),
    ] {
        let robots = Answer::content("text/plain", gzip(robots)).header("Content-Encoding", "gzip");
        let mut sent = robots.body.len();
        let mut sites = Sites::new().page("a.test", "/robots.txt", robots).page(
            "a.test",
            "/",
            Answer::html("<title>x</title>"),
        );
        if let Some(sitemap) = sitemap {
            sent += sitemap.body.len();
            sites = sites.page("a.test", "/sitemap.xml", sitemap);
        }
        let scene = Scene::new(sites);
        scene.crawl().args(["--sitemaps"]).run();
        let summary = scene.look("show", &["--json"]).expect(0).json().remove(0);
        let listed = scene.table("skipped").len();
        let counted = summary["skipped_not_listed"].as_u64().unwrap();
        let most = (4 * sent + 3 * 64 * 1024) as u64 + EMPTY;
        let (bytes, on_disk) = stored(&scene.out().join("db"));
        eprintln!(
            "{name}: sent {sent}, stored {bytes}, on disk {on_disk}, may add {most}, listed {listed}, counted {counted}"
        );
        assert!(listed > 0 && (counted > 0 || name != "index"), "{name}: {listed} listed, {counted} counted");
        assert_eq!(listed as u64 + counted, urls as u64, "{name}: {listed} listed");
        assert!(bytes <= most, "{name}: {bytes} bytes of {most}");
        scene.look("audit", &[]).expect(0);
    }
}
