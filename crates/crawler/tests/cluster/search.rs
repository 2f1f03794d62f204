//! `crawl index --cluster` and `crawl search --cluster`: the same hits as those of the same crawl on one machine.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crawler::search::{Contents, Search};
use jiff::Timestamp;
use page::clock::wall;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Worker, run, status, text};
use crate::server::{Server, until, wait};

const SITES: usize = 4;
const PAGES: usize = 6;

/// Starts sites with text: pages under noindex and noarchive, one that expires. Returns their port.
fn sites(expires: Timestamp) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || answer(&client, expires));
        }
    });
    port
}

fn answer(mut client: &TcpStream, expires: Timestamp) {
    let mut received = BufReader::new(client).lines().map_while(Result::ok);
    while let Some(first) = received.next() {
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let head: Vec<String> = received.by_ref().take_while(|line| !line.is_empty()).collect();
        let host =
            head.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned));
        let (fields, body) = page(host.as_deref().unwrap_or_default(), &path, expires);
        let status = if body.is_empty() { "404 Not Found" } else { "200 OK" };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\n{fields}content-type: text/html\r\ncontent-length: {length}\r\n\r\n"
        );
        if client.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

/// Fields of the head, and the body; an empty one for what isn't there.
fn page(host: &str, path: &str, expires: Timestamp) -> (String, String) {
    let site: usize =
        host.trim_start_matches('s').split('.').next().and_then(|site| site.parse().ok()).unwrap_or(9);
    let with = |fields: &str, title: &str, text: &str| {
        let next = (site + 1) % SITES;
        let links: Vec<String> = (0..PAGES).map(|page| format!("<a href=/{page}>{page}</a>")).collect();
        let links = links.join(" ");
        let others = "<a href=/expires>e</a> <a href=/hidden>h</a> <a href=/bodyless>b</a>";
        let body = format!(
            "<html lang=en><title>{title}</title><p>{text}</p>{others} {links} <a href=\"http://s{next}.test/\">next</a>"
        );
        (fields.to_owned(), body)
    };
    match path {
        "/" => {
            with("", &format!("Front of s{site}"), "The needle begins a haystack, as every front page does.")
        }
        "/hidden" => with("x-robots-tag: noindex\r\n", "mhidden", "Nobody finds the needle mhidden."),
        "/bodyless" => with(
            "x-robots-tag: noarchive\r\n",
            "A needle without a copy",
            "Its text mbodyless is stored nowhere.",
        ),
        "/expires" if site == 1 => {
            let fields = format!("x-robots-tag: unavailable_after: {expires:.0}\r\n");
            with(&fields, "A needle for some seconds", "Its text mexpires is there for a while.")
        }
        _ => match path.trim_start_matches('/').parse::<usize>() {
            Ok(page) if page < PAGES => {
                let text = format!(
                    "Page number{page} of site{site} has {} needles in words of its own.",
                    page + site
                );
                with("", &format!("Needles of s{site}, page {page}"), &text)
            }
            _ => (String::new(), String::new()),
        },
    }
}

/// What a search finds: all of each hit but its time and its score.
fn hits(args: &[&str]) -> Vec<Value> {
    let found = run(&[&["search"], args, &["--json", "--limit", "1000"]].concat());
    assert_eq!(found.status.code(), Some(0), "{args:?}: {}", text(&found));
    let lines = String::from_utf8(found.stdout).unwrap();
    let mut hits: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    hits.retain(|line| line["kind"] == "hit");
    for hit in &mut hits {
        for member in ["fetched_at", "score", "rank"] {
            hit.as_object_mut().unwrap().remove(member);
        }
    }
    hits.sort_by_key(|hit| hit["url"].as_str().map(str::to_owned));
    hits
}

/// A text isn't in the index: not as a word, not within a stored text.
fn assert_nowhere(index: &Path, marker: &str) {
    let Contents { words, texts } = Search::open(index).unwrap().contents().unwrap();
    assert!(words.iter().any(|word| word.contains("haystack")), "the check finds what is there");
    for found in words.iter().chain(&texts) {
        assert!(!found.contains(marker), "{marker}: {found}");
    }
}

/// `crawl index --cluster`, as a line of JSON.
fn index(url: &str, index: &str, warc: &[&PathBuf]) -> Value {
    let archives: Vec<String> = warc.iter().map(|dir| dir.display().to_string()).collect();
    let mut args = vec!["index", "--cluster", url, "-o", index, "--json"];
    args.extend(archives.iter().flat_map(|archive| ["--warc", archive]));
    let built = run(&args);
    assert_eq!(built.status.code(), Some(0), "{}", text(&built));
    serde_json::from_slice(&built.stdout).unwrap_or_else(|_| panic!("{}", text(&built)))
}

#[test]
fn a_cluster_is_searched_as_the_same_crawl_on_one_machine() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, dir) = (server.database(), TempDir::new().unwrap());
    let expires = wall() + Duration::from_secs(40);
    let resolve = format!("*:127.0.0.1:{}", sites(expires));
    let common = [
        "http://s0.test/",
        "--agent",
        "SuperRobot/1.0",
        "--delay",
        "20ms",
        "--scope",
        "any",
        "--resolve",
        &resolve,
    ];
    let limits = ["--lease", "3s", "--partitions", "16", "--single-server", "--max-pages", "30"];
    let made = run(&[&["cluster", "init", &url], &common[..], &limits].concat());
    assert!(made.status.success(), "{}", text(&made));
    let warc = ["one", "two"].map(|name| dir.path().join(name).join("warc"));
    let (one, two) = (Worker::start(&url, dir.path(), "one"), Worker::start(&url, dir.path(), "two"));
    assert_eq!([one, two].map(|mut worker| worker.code()), [Some(10), Some(10)], "within the limit");

    // So far: a page whose body is out of reach is found by its title, and taken in when it is within reach.
    let found = dir.path().join("found");
    let at = found.display().to_string();
    let built = index(&url, &at, &[]);
    let first = built["pages"].as_u64().unwrap();
    assert!(first > 5 && built["out_of_reach"].as_u64() > Some(0), "{built}");
    assert!(!hits(&[&at, "title:needle"]).is_empty());
    assert_eq!(hits(&[&at, "number1"]).len(), 0);
    let built = index(&url, &at, &[&warc[0], &warc[1]]);
    assert_eq!(built["out_of_reach"], 0, "{built}");
    assert!(!hits(&[&at, "number1"]).is_empty());
    let had_expiring = !hits(&[&at, "mexpires"]).is_empty();
    let built = index(&url, &at, &[&warc[0], &warc[1]]);
    assert_eq!(built["pages"], 0, "nothing has changed: {built}");

    // The rest: what was stored since is added, what has expired meanwhile leaves the files.
    wait(Duration::try_from(expires.duration_since(wall())).unwrap_or_default());
    until(|| wall() > expires);
    let resumed = run(&["cluster", "resume", &url, "--max-pages", "none"]);
    assert!(resumed.status.success(), "{}", text(&resumed));
    let (one, two) = (Worker::start(&url, dir.path(), "one"), Worker::start(&url, dir.path(), "two"));
    assert_eq!([one, two].map(|mut worker| worker.code()), [Some(0), Some(0)]);
    let behind = run(&["search", "--cluster", &url, "--index", &at, "needle"]);
    assert!(text(&behind).contains("the crawl went on since the index was written"), "{}", text(&behind));
    let built = index(&url, &at, &[&warc[0], &warc[1]]);
    let pages = status(&url)["totals"]["pages"].as_u64().unwrap();
    let added = built["pages"].as_u64().unwrap();
    assert!(added > 0 && added + first <= pages, "{added} of {pages}, {first} before");
    assert!(had_expiring, "the expiring page was there before it expired");

    let single = dir.path().join("single").display().to_string();
    let crawled = run(&[&["run"], &common[..], &["--out", &single, "-q"]].concat());
    assert_eq!(crawled.status.code(), Some(0), "{}", text(&crawled));
    let indexed = run(&["index", &single, "-q"]);
    assert_eq!(indexed.status.code(), Some(0), "{}", text(&indexed));
    for query in [
        "needle",
        "number1 OR number2",
        "title:needle -site2",
        "\"words of its own\"",
        "mbodyless",
        "host:s3.test",
    ] {
        let expected = hits(&[&single, query]);
        assert_eq!(hits(&["--cluster", &url, "--index", &at, query]), expected, "{query}");
        assert_eq!(hits(&[&at, query]), expected, "{query}");
    }
    assert_eq!(
        hits(&[&at, "needle"]).len(),
        SITES * (PAGES + 2),
        "front pages, pages, and those without a copy"
    );
    for marker in ["mhidden", "mexpires"] {
        assert_nowhere(&found, marker);
        assert_nowhere(Path::new(&single), marker);
    }
    let current = run(&["search", "--cluster", &url, "--index", &at, "needle"]);
    assert!(!text(&current).contains("went on"), "{}", text(&current));

    // What is forgotten leaves the files, too.
    assert!(!hits(&[&at, "site2"]).is_empty());
    let forgotten = run(&["cluster", "forget", &url, "s2.test"]);
    assert!(forgotten.status.success(), "{}", text(&forgotten));
    index(&url, &at, &[&warc[0], &warc[1]]);
    assert_eq!(hits(&[&at, "site2"]).len(), 0);
    assert_nowhere(&found, "site2");
    assert!(!hits(&[&at, "site1"]).is_empty());
    refused(&server, &url, &at, &single);
}

/// An index of another crawl, a directory with a crawl, and what isn't there.
fn refused(server: &Server, url: &str, index: &str, single: &str) {
    let other = server.database();
    let made =
        run(&["cluster", "init", &other, "http://a.test/", "--agent", "SuperRobot/1.0", "--single-server"]);
    assert!(made.status.success(), "{}", text(&made));
    for (args, words) in [
        (&["index", "--cluster", &other, "-o", index][..], "another crawl"),
        (&["search", "--cluster", &other, "--index", index, "needle"], "another crawl"),
        (&["index", "--cluster", url, "-o", single], "holds a crawl"),
        (&["index", "--cluster", url, "-o", index, "--warc", "/nowhere"], "isn't a directory"),
        (&["index", "--cluster", url], "--output"),
        (&["search", "--cluster", url, "needle"], "--index"),
        (&["search", "--cluster", url, "--index", "/nowhere", "needle"], "has no full-text index"),
    ] {
        let refused = run(args);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {}", text(&refused));
        assert!(text(&refused).contains(words), "{args:?}: {}", text(&refused));
    }
}
