//! What goes into the archive, compared with what servers sent, byte for byte.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use crawler::warc::{Reader, Record};
use serde_json::Value;
use whole_program::name_server::NameServer;
use whole_program::output_dir::{files, files_with};
use whole_program::program::Crawl;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// A server that answers each path with exact bytes (one that is given several times in turn, the last again and again), a conditional
/// request with 304, and everything else with 404; serves until the test ends.
pub(crate) fn serve(answers: Vec<(&'static str, Vec<u8>)>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("it works");
    let address = listener.local_addr().expect("it works");
    let mut turns: BTreeMap<String, usize> = BTreeMap::new();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("it works");
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).expect("it works");
            let path = head.split(' ').nth(1).unwrap_or_default();
            let of_path = answers.iter().filter(|(known, _)| *known == path);
            let of_path: Vec<&[u8]> = of_path.map(|(_, answer)| answer.as_slice()).collect();
            let turn = turns.entry(path.to_owned()).or_default();
            let answer = of_path.get(*turn).or(of_path.last()).copied();
            *turn += 1;
            let missing = b"HTTP/1.1 404 Nothing Here\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
            let unchanged = b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n";
            let is_conditional = head.to_ascii_lowercase().contains("\r\nif-");
            let answer = if is_conditional { unchanged } else { answer.unwrap_or(missing) };
            // The client may be gone.
            drop(stream.write_all(answer));
        }
    });
    address
}

/// Every record of an archive, in the order of its files.
pub(crate) fn records(out: &Path) -> Vec<Record> {
    files(&out.join("warc"))
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(".warc.gz"))
        .flat_map(|path| Reader::open(path).expect("it works").map(|record| record.expect("a whole record")))
        .collect()
}

/// The record of a type about a URL.
pub(crate) fn record<'a>(records: &'a [Record], kind: &str, url: &str) -> &'a Record {
    let is_it = |record: &&Record| record.kind() == kind && record.field("WARC-Target-URI") == Some(url);
    records.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} of {url}"))
}

pub(crate) fn crawl(address: SocketAddr, directory: &Path) -> Crawl {
    std::fs::write(directory.join("seeds.txt"), "http://a.test/\n").expect("it works");
    Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0", "--retries", "0"])
        .args([Path::new("--seed"), &directory.join("seeds.txt"), Path::new("--out"), &directory.join("out")])
        .args(["--resolve", &format!("a.test:{address}")])
}

#[test]
fn heads_are_archived_as_they_were_sent() {
    let plain = "HTTP/1.1 200 All Is Well\r\nSERVER:x\r\nset-COOKIE: a\r\nX-Empty:\r\nSet-Cookie: b\r\nConnection: close\r\n\
                 CONTENT-type: text/html\r\nContent-length: 25\r\n\r\n";
    let body = "<a href=/chunked>next</a>";
    let chunked = "HTTP/1.1 203 Second Hand\r\ncontent-Type: text/html\r\nTransfer-encoding: chunked\r\nConnection: close\r\n\r\n\
                   3\r\n<p>\r\n4;x\r\ntext\r\n0\r\n\r\n";
    let address = serve(vec![("/", format!("{plain}{body}").into()), ("/chunked", chunked.into())]);
    let directory = tempfile::tempdir().unwrap();
    crawl(address, directory.path()).run().expect(0);
    let records = records(&directory.path().join("out"));

    let response = record(&records, "response", "http://a.test/");
    assert_eq!(String::from_utf8_lossy(&response.block), format!("{plain}{body}"));
    let info = records[0].field("WARC-Record-ID");
    for (name, value) in [
        ("WARC-Protocol", Some("http/1.1")),
        ("WARC-IP-Address", Some("127.0.0.1")),
        ("WARC-Cipher-Suite", None),
        ("WARC-Warcinfo-ID", info),
    ] {
        assert_eq!(response.field(name), value, "{name}");
    }
    let request = record(&records, "request", "http://a.test/");
    let sent = String::from_utf8_lossy(&request.block);
    assert!(sent.starts_with("GET / HTTP/1.1\r\nhost: a.test\r\nuser-agent: SuperRobot/1.0\r\n"), "{sent}");

    let response = record(&records, "response", "http://a.test/chunked");
    let stored = "HTTP/1.1 203 Second Hand\r\ncontent-Type: text/html\r\nX-Archive-Orig-Transfer-encoding: chunked\r\n\
                  Connection: close\r\nContent-Length: 7\r\n\r\n<p>text";
    assert_eq!(String::from_utf8_lossy(&response.block), stored);
    Crawl::new([Path::new("audit"), &directory.path().join("out")]).run().expect(0);
}

#[test]
fn warcinfo_names_operator_robots_policy_software_and_the_settings_of_the_run() {
    let scene = Scene::new(Sites::new().page("a.test", "/", Answer::html("<p>text")));
    let contacts = ["--contact", "https://example.org/robot", "--contact", "ann@example.org"];
    scene.crawl().args(contacts).args(["--dialect", "strictest"]).run().expect(0);
    let records = records(&scene.out());
    let info = String::from_utf8(records[0].block.clone()).expect("text");
    let line = |name: &str| {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).unwrap_or_default()
    };
    assert_eq!(records[0].kind(), "warcinfo");
    assert_eq!(line("operator"), "https://example.org/robot, ann@example.org");
    assert_eq!(line("http-header-from"), "ann@example.org");
    assert_eq!(
        line("http-header-user-agent"),
        "SuperRobot/1.0 (+https://example.org/robot; +ann@example.org)"
    );
    assert_eq!(line("robots"), "obeyed (strictest)");
    assert_eq!(line("software"), format!("crawl/{}", env!("CARGO_PKG_VERSION")));
    let begins = scene
        .table("ledger")
        .into_iter()
        .find_map(|entry| Some(entry["evidence"]["run"]["settings"].as_str()?.to_owned()));
    assert_eq!(line("settings"), format!("blake3:{}", begins.expect("a run begins")));
}

#[test]
fn dns_answers_are_archived_as_other_crawlers_write_them() {
    let names =
        NameServer::start(|name, _| if name == "a.test." { vec![Ipv4Addr::LOCALHOST] } else { vec![] });
    let body = "<a href=http://missing.test/>x</a>";
    let page = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let address = serve(vec![("/", page.into())]);
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("seeds.txt"), format!("http://a.test:{}/\n", address.port())).unwrap();
    std::fs::write(path("config.toml"), names.config()).unwrap();
    Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0", "--scope", "any"])
        .args([Path::new("--seed"), &path("seeds.txt"), Path::new("--out"), &path("out")])
        .args([Path::new("--config"), &path("config.toml")])
        .args(["--allow-net", "127.0.0.0/8", "--retries", "0"])
        .run();
    let records = records(&path("out"));
    let answers: Vec<_> = records.iter().filter(|record| record.kind() == "resource").collect();
    assert!(!answers.is_empty() && answers.len() <= names.asked("a.test."), "{}", answers.len());
    for answer in answers {
        assert_eq!(answer.field("WARC-Target-URI"), Some("dns:a.test"));
        assert_eq!(answer.field("Content-Type"), Some("text/dns"));
        assert_eq!(answer.field("WARC-Payload-Digest"), answer.field("WARC-Block-Digest"));
        assert_eq!(answer.field("WARC-Warcinfo-ID"), records[0].field("WARC-Record-ID"));
        // As Heritrix's DnsResponseRecordBuilder and FetchDNS write it: 14 digits of the time, then each record.
        let block = String::from_utf8(answer.block.clone()).unwrap();
        let (time, lines) = block.split_once('\n').expect("two lines");
        let date = answer.field("WARC-Date").expect("a date");
        let digits: String = date.chars().filter(char::is_ascii_digit).take(14).collect();
        assert_eq!((time, lines), (digits.as_str(), "a.test.\t0\tIN\tA\t127.0.0.1\n"));
    }
    let index = Crawl::new([Path::new("export"), &path("out")]).args(["--format", "cdxj"]).run();
    assert!(
        index
            .expect(0)
            .stdout
            .contains("\"url\": \"dns:a.test\", \"mime\": \"text/dns\", \"digest\": \"sha1:")
    );
    // They are evidence, and nothing of a page: what is forgotten leaves them.
    Crawl::new([Path::new("forget"), &path("out")]).args(["--regex", "a[.]test"]).run().expect(0);
    let left = self::records(&path("out"));
    assert!(left.iter().any(|record| record.kind() == "resource"));
    assert!(!left.iter().any(|record| record.block.ends_with(body.as_bytes())));
    Crawl::new([Path::new("audit"), &path("out")]).run().expect(0);
}

/// The lines of a `metadata` record.
fn said(records: &[Record], url: &str) -> String {
    let metadata = record(records, "metadata", url);
    assert_eq!(metadata.field("Content-Type"), Some("application/warc-fields"));
    String::from_utf8(metadata.block.clone()).expect("text")
}

#[test]
fn everything_that_was_asked_for_is_in_the_archive_and_what_may_not_be_kept_is_there_without_content() {
    let html = |head: &str, body: &str| {
        let page = format!("<html><head>{head}</head><body>{body}</body></html>");
        Answer::html(page)
    };
    let links = "<a href=/next>1</a><a href=/noindex>2</a><a href=/noarchive>3</a><a href=/gone>4</a><a href=/moved>5</a>";
    let sitemap = |url: &str| {
        let text = format!(
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>{url}</loc></url></urlset>"
        );
        Answer::content("application/xml", text)
    };
    let robots =
        "User-agent: *\nDisallow: /private\nSitemap: http://a.test/map.xml\nSitemap: http://a.test/own.xml\n";
    let sites = Sites::new()
        .page("a.test", "/robots.txt", Answer::redirect(301, "http://a.test/real-robots.txt"))
        .page("a.test", "/real-robots.txt", Answer::content("text/plain", robots))
        .page("a.test", "/map.xml", sitemap("http://a.test/mapped"))
        .page(
            "a.test",
            "/own.xml",
            sitemap("http://a.test/own<!-- zq-own -->").header("X-Robots-Tag", "noindex, follow"),
        )
        .page("a.test", "/", html("", links))
        .page("a.test", "/next", html("<meta name=robots content=nofollow>", "mnext"))
        .page("a.test", "/mapped", html("", "mmapped"))
        .page("a.test", "/noindex", html("<meta name=robots content=noindex>", "zq-noindex"))
        .page("a.test", "/noarchive", html("<meta name=robots content=noarchive>", "zq-noarchive"))
        .page("a.test", "/moved", Answer::redirect(302, "/next?moved"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--sitemaps", "--retries", "0"]).run();
    let records = records(&scene.out());

    for (url, purpose, status) in [
        ("http://a.test/robots.txt", "robots", "HTTP/1.1 301 "),
        ("http://a.test/real-robots.txt", "robots", "HTTP/1.1 200 "),
        ("http://a.test/map.xml", "sitemap", "HTTP/1.1 200 "),
        ("http://a.test/sitemap.xml", "sitemap", "HTTP/1.1 404 "),
    ] {
        let response = record(&records, "response", url);
        assert_eq!(response.field("Crawl-Purpose"), Some(purpose), "{url}");
        assert!(
            response.block.starts_with(status.as_bytes()),
            "{url}: {}",
            String::from_utf8_lossy(&response.block)
        );
        assert!(record(&records, "request", url).block.starts_with(b"GET /"));
        let metadata = record(&records, "metadata", url);
        assert_eq!(metadata.field("WARC-Concurrent-To"), response.field("WARC-Record-ID"));
        assert!(said(&records, url).contains(&format!("purpose: {purpose}\r\n")));
    }
    let (_, robots_body) = record(&records, "response", "http://a.test/real-robots.txt").http().unwrap();
    assert_eq!(robots_body, robots.as_bytes());

    let next = said(&records, "http://a.test/next");
    assert!(next.contains("via: http://a.test/\r\nhopsFromSeed: L\r\nfetchTimeMs: "), "{next}");
    assert!(next.contains("\r\ndirective: nofollow"), "{next}");
    assert!(said(&records, "http://a.test/").starts_with("fetchTimeMs: "));
    assert!(said(&records, "http://a.test/next?moved").contains("hopsFromSeed: LR\r\n"));
    assert!(said(&records, "http://a.test/mapped").contains("via: http://a.test/map.xml\r\n"));
    assert!(said(&records, "http://a.test/gone").contains("\r\nerror: http_404\r\n"));

    for (url, withheld) in [
        ("http://a.test/noindex", "\r\nstatus: 200\r\nwithheld: content\r\n"),
        ("http://a.test/noarchive", "\r\nstatus: 200\r\nwithheld: body\r\n"),
        ("http://a.test/own.xml", "\r\nstatus: 200\r\nwithheld: x-robots-tag: noindex, follow\r\n"),
    ] {
        assert!(said(&records, url).contains(withheld), "{}", said(&records, url));
        let is_response =
            |record: &Record| record.kind() == "response" && record.field("WARC-Target-URI") == Some(url);
        assert!(!records.iter().any(is_response), "{url}");
    }
    assert_eq!(files_with(&scene.out().join("warc"), &["zq-"]), []);
    scene.look("audit", &[]).expect(0);
}

#[test]
fn a_request_that_failed_is_in_the_archive_with_its_error() {
    let directory = tempfile::tempdir().unwrap();
    let cut = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nConnection: close\r\n\r\nhalf";
    let front = "<a href=/cut>x</a>";
    let front = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{front}",
        front.len()
    );
    let address = serve(vec![("/", front.into()), ("/cut", cut.into())]);
    crawl(address, directory.path()).run();
    let records = records(&directory.path().join("out"));
    let said = said(&records, "http://a.test/cut");
    assert!(said.contains("\r\nerror: truncated: "), "{said}");
    Crawl::new([Path::new("audit"), &directory.path().join("out")]).run().expect(0);
}

/// A long page with this text in it.
fn long(head: &str, text: &str) -> Answer {
    let body = format!("<html><head>{head}</head><body>{}</body></html>", text.repeat(300));
    Answer::html(body)
}

#[test]
fn an_equal_body_is_stored_once_until_the_page_that_has_it_is_withdrawn() {
    let links = "<a href=/one>1</a><a href=/two>2</a>";
    let sites = Sites::new()
        .page("a.test", "/", Answer::html(links))
        .page("a.test", "/one", long("", "the same words "))
        .page("a.test", "/one", long("", "the same words ").header("X-Robots-Tag", "noindex"))
        .page("a.test", "/two", long("", "the same words ").header("X-Two", "2"))
        .page("a.test", "/three", long("", "the same words "));
    let scene = Scene::new(sites);
    std::fs::write(scene.path("crawl.toml"), "[warc]\ndedup = \"crawl\"\n").unwrap();
    let config = scene.path("crawl.toml");
    scene.crawl().args([Path::new("--config"), &config]).run().expect(0);
    let stored = records(&scene.out());
    let (first, second) = ("http://a.test/one", "http://a.test/two");
    let has_body = |url: &str| {
        stored
            .iter()
            .any(|record| record.kind() == "response" && record.field("WARC-Target-URI") == Some(url))
    };
    let (original, copy) = if has_body(first) { (first, second) } else { (second, first) };
    assert!(has_body(original) && !has_body(copy));
    let revisit = record(&stored, "revisit", copy);
    let body = record(&stored, "response", original);
    for (name, value) in [
        ("WARC-Profile", Some("http://netpreserve.org/warc/1.1/revisit/identical-payload-digest")),
        ("WARC-Refers-To-Target-URI", Some(original)),
        ("WARC-Refers-To-Date", body.field("WARC-Date")),
        ("WARC-Refers-To", body.field("WARC-Record-ID")),
        ("WARC-Payload-Digest", body.field("WARC-Payload-Digest")),
    ] {
        assert_eq!(revisit.field(name), value, "{name}");
    }
    assert_eq!(revisit.http().unwrap().1, b"");
    // Each page has its own headers, and the text of both is found.
    let told = |url: &str| scene.look("explain", &[url, "--json"]).expect(0).json().remove(0);
    assert_eq!(told(original)["original"], Value::Null);
    let named = &told(copy)["original"];
    assert_eq!(named["url"], original);
    assert_eq!(named["record_id"].as_str(), body.field("WARC-Record-ID"));
    assert_eq!(named["date"].as_str(), body.field("WARC-Date"));
    assert_eq!((&named["offset"], &named["state"]), (&body.offset.into(), &"stored".into()));
    let words = scene.look("explain", &[copy]).expect(0).stdout.clone();
    assert!(words.contains(&format!("is stored with the response to {original} of ")), "{words}");
    scene.look("index", &["--rebuild"]);
    let found = scene.look("search", &["same words"]).stdout;
    assert!(found.contains("/one") && found.contains("/two"), "{found}");
    scene.look("audit", &[]).expect(0);

    // The first page turns noindex: the body goes, for both.
    scene.resume().args(["--revisit", "0s"]).run().expect(0);
    let left: Vec<_> = files_with(&scene.out().join("warc"), &["the same words the same words"]);
    let audit = scene.look("audit", &["--json"]);
    audit.expect(0);
    let copies = records(&scene.out());
    let responses = copies
        .iter()
        .filter(|record| record.kind() == "response" && record.field("WARC-Target-URI") == Some(second));
    assert_eq!(left.len(), responses.count().min(1), "{left:?}");
}

#[test]
fn a_revisit_that_failed_is_in_the_archive_and_the_stored_page_stays() {
    let scene = Scene::new(Sites::new().page("a.test", "/", Answer::html("<p>text")));
    scene.crawl().run().expect(0);
    // Two lengths that differ: no client can read that.
    scene.server.change("a.test", "/", Answer::html("<p>text").header("Content-Length", "3"));
    scene.resume().args(["--revisit", "0s", "--retries", "0"]).run();
    let records = records(&scene.out());
    let about = |kind: &str| {
        let is_it = |record: &&Record| {
            record.kind() == kind && record.field("WARC-Target-URI") == Some("http://a.test/")
        };
        records.iter().filter(is_it).collect::<Vec<_>>()
    };
    assert_eq!((about("response").len(), about("revisit").len()), (1, 0));
    let [first, second] = about("metadata")[..] else { panic!("{} records", about("metadata").len()) };
    let lines = |record: &Record| String::from_utf8(record.block.clone()).expect("text");
    assert!(!lines(first).contains("error: "), "{}", lines(first));
    assert!(lines(second).contains("\r\nerror: "), "{}", lines(second));
    assert_eq!(second.field("WARC-Concurrent-To"), None);
    assert_eq!(scene.table("pages")[0]["status"], 200);
    scene.look("audit", &[]).expect(0);
}

/// A crawl of a scene into another directory of it, that doesn't store what these earlier crawls have.
fn crawl_after(scene: &Scene, name: &str, earlier: &[&Path]) -> Crawl {
    let config = scene.path(&format!("{name}.toml"));
    std::fs::write(&config, format!("[warc]\ndedup = {earlier:?}\n")).expect("it can be written");
    Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0"])
        .args([Path::new("--seed"), &scene.seeds(), Path::new("--out"), &scene.path(name)])
        .args([Path::new("--config"), &config])
        .args(scene.server.resolve())
}

#[test]
fn a_body_that_an_earlier_crawl_has_is_not_stored_again() {
    let sites = Sites::new()
        .page("a.test", "/", Answer::html("<a href=/same>1</a><a href=/changes>2</a>"))
        .page("a.test", "/same", long("", "the same words "))
        .page("a.test", "/changes", long("", "spring "));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let spring = scene.out();
    scene.server.change("a.test", "/changes", long("", "autumn "));
    crawl_after(&scene, "autumn", &[&spring]).run().expect(0);
    let autumn = scene.path("autumn");

    let (before, after) = (records(&spring), records(&autumn));
    let body = record(&before, "response", "http://a.test/same");
    for (name, value) in [
        ("WARC-Profile", Some("http://netpreserve.org/warc/1.1/revisit/identical-payload-digest")),
        ("WARC-Refers-To-Target-URI", Some("http://a.test/same")),
        ("WARC-Refers-To-Date", body.field("WARC-Date")),
        ("WARC-Refers-To", body.field("WARC-Record-ID")),
        ("WARC-Payload-Digest", body.field("WARC-Payload-Digest")),
    ] {
        assert_eq!(record(&after, "revisit", "http://a.test/same").field(name), value, "{name}");
    }
    let with_body: Vec<_> = after
        .iter()
        .filter(|record| record.kind() == "response")
        .filter_map(|record| record.field("WARC-Target-URI"))
        .collect();
    assert_eq!(with_body, ["http://a.test/robots.txt", "http://a.test/changes"]);

    // Whoever needs the body reads it there.
    let look =
        |command: &str, arguments: &[&str]| Crawl::new([Path::new(command), &autumn]).args(arguments).run();
    look("index", &[]).expect(0);
    let found = look("search", &["same words"]).stdout;
    assert!(found.contains("a.test/same"), "{found}");
    let told = look("explain", &["http://a.test/same", "--json"]).expect(0).json().remove(0);
    let named = &told["original"];
    assert_eq!((&named["dir"], &named["state"]), (&"../../out/warc".into(), &"stored".into()));
    assert_eq!(named["record_id"].as_str(), body.field("WARC-Record-ID"));
    let audit = look("audit", &["--json"]);
    assert!(!audit.expect(0).stdout.contains("earlier_missing"), "{audit}");

    // Both directories may move together.
    let moved = scene.path("moved");
    std::fs::create_dir(&moved).unwrap();
    for (from, to) in [(&spring, "out"), (&autumn, "autumn")] {
        std::fs::rename(from, moved.join(to)).unwrap();
    }
    let audit = |out: &Path| Crawl::new([Path::new("audit"), out]).args(["--json"]).run();
    let output = audit(&moved.join("autumn"));
    assert!(!output.expect(0).stdout.contains("earlier_missing"), "{output}");
    // Without the earlier crawl, the audit says what it can't check.
    std::fs::rename(moved.join("out"), &spring).unwrap();
    let output = audit(&moved.join("autumn"));
    assert!(output.expect(0).stdout.contains("earlier_missing"), "{output}");
    let explain =
        Crawl::new([Path::new("explain"), &moved.join("autumn")]).args(["http://a.test/same", "--json"]);
    assert_eq!(explain.run().json()[0]["original"]["state"], "missing");
    std::fs::rename(moved.join("autumn"), &autumn).unwrap();

    // What the earlier crawl removes is gone for the later one, until its next visit stores it.
    Crawl::new([Path::new("forget"), &spring]).args(["http://a.test/same"]).run().expect(0);
    let output = audit(&autumn);
    assert!(output.expect(0).stdout.contains("original_withdrawn"), "{output}");
    let told = look("explain", &["http://a.test/same", "--json"]).expect(0).json().remove(0);
    assert_eq!(told["original"]["state"], "withdrawn");
    Crawl::new([Path::new("resume"), &autumn]).args(["--revisit", "0s"]).run().expect(0);
    let stored = records(&autumn);
    assert!(record(&stored, "response", "http://a.test/same").block.ends_with(b"</html>"));
    audit(&autumn).expect(0);
}

#[test]
fn an_earlier_crawl_needs_no_index_and_has_to_be_one_that_ended() {
    let sites = Sites::new().page("a.test", "/", long("", "the same words "));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let spring = scene.out();
    for path in files(&spring.join("warc")) {
        if path.extension().is_some_and(|end| end == "cdxj") {
            std::fs::remove_file(path).unwrap();
        }
    }
    crawl_after(&scene, "autumn", &[&spring]).run().expect(0);
    record(&records(&scene.path("autumn")), "revisit", "http://a.test/");

    let refused = |name: &str, earlier: &Path, why: &str| {
        let output = crawl_after(&scene, name, &[earlier]).run();
        assert!(output.expect(3).stderr.contains(why), "{output}");
        assert!(!scene.path(name).exists(), "nothing is made");
    };
    refused("winter", &scene.path("nowhere"), "has no archive; name the output directory of a crawl");
    let lock = std::fs::File::options().write(true).open(spring.join(".lock")).unwrap();
    lock.lock().unwrap();
    refused("winter", &spring, "a crawl that runs can't be an earlier one");
    drop(lock);
    crawl_after(&scene, "winter", &[&spring, &scene.path("autumn")]).run().expect(0);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the kill has to come while it crawls")]
fn a_file_is_indexed_when_the_next_one_is_begun() {
    // What no compressor makes smaller.
    let noise = |number: u64| {
        let mut state = number * 0x9E37_79B9 + 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        };
        (0..300_000).map(|_| next()).collect::<Vec<u8>>()
    };
    let links: Vec<_> = (0..12).map(|number| format!("<a href=/{number}>x</a>")).collect();
    let sites = Sites::new().page("a.test", "/", Answer::html(links.concat()));
    let sites = (0..12).fold(sites, |sites, number| {
        sites.page(
            "a.test",
            &format!("/{number}"),
            Answer::content("application/octet-stream", noise(number)),
        )
    });
    // The last one keeps the crawl running.
    let sites = sites.page("b.test", "/", Answer::html("late").after(Duration::from_secs(60)));
    let scene = Scene::new(sites);
    std::fs::write(scene.path("config.toml"), "[warc]\nmax_file_size = \"1MiB\"\n").unwrap();
    let running = scene.crawl().args([Path::new("--config"), &scene.path("config.toml")]).start();
    let written = || {
        let files = files(&scene.out().join("warc"));
        let of = |end: &str| {
            let names = files.iter().filter(|path| path.to_string_lossy().ends_with(end));
            names.map(|path| path.to_string_lossy().trim_end_matches(end).to_owned()).collect::<Vec<_>>()
        };
        (of(".warc.gz"), of(".cdxj"))
    };
    let begun = std::time::Instant::now();
    while scene.server.count() < 14 || written().1.len() + 1 < written().0.len() {
        assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", written());
        std::thread::sleep(Duration::from_millis(20));
    }
    // Killed: no end of the run writes anything.
    running.kill();
    let (archives, indexes) = written();
    assert!(archives.len() > 2 && indexes == archives[..archives.len() - 1], "{archives:?} {indexes:?}");
    let mut all: Vec<String> = Vec::new();
    for index in &indexes {
        let text = std::fs::read_to_string(format!("{index}.cdxj")).unwrap();
        let mut sorted: Vec<_> = text.lines().map(str::to_owned).collect();
        all.extend(sorted.clone());
        sorted.sort();
        assert_eq!(text.lines().collect::<Vec<_>>(), sorted);
    }
    let exported = scene.look("export", &["--format", "cdxj"]);
    let last = format!("{}.warc.gz", archives.last().unwrap().rsplit('/').next().unwrap());
    let expected: Vec<_> =
        exported.expect(0).stdout.lines().filter(|line| !line.contains(&last)).map(str::to_owned).collect();
    all.sort();
    assert_eq!(all, expected);
}

#[test]
fn the_archive_is_indexed_when_the_run_ends_and_whenever_somebody_asks() {
    let sites = Sites::new()
        .page("b.test", "/", Answer::html("<a href='/x?b=2&amp;A=1'>1</a><a href=/withheld>2</a>"))
        .page("b.test", "/withheld", long("<meta name=robots content=noindex>", "x "))
        .page("www.a.test", "/", Answer::html("a"));
    let scene = Scene::new(sites);
    scene.crawl().run().expect(0);
    let written = files(&scene.out().join("warc"));
    let index =
        written.iter().find(|path| path.extension().is_some_and(|end| end == "cdxj")).expect("an index");
    let exported = scene.look("export", &["--format", "cdxj"]);
    assert_eq!(exported.expect(0).stdout, std::fs::read_to_string(index).unwrap());
    let keys: Vec<_> = exported.stdout.lines().map(|line| line.split(' ').next().unwrap()).collect();
    let expected = ["test,a)/", "test,a)/robots.txt", "test,b)/", "test,b)/robots.txt", "test,b)/x?a=1&b=2"];
    assert_eq!(keys, expected);
    // Each line leads to its record.
    for line in exported.stdout.lines() {
        let row: serde_json::Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
        let number = |name: &str| row[name].as_str().unwrap().parse::<u64>().unwrap();
        let file = row["filename"].as_str().unwrap().to_owned();
        let place = crawler::warc::Location { file, offset: number("offset"), length: number("length") };
        let record = crawler::warc::read(&scene.out().join("warc"), &place).unwrap();
        assert_eq!((record.kind(), record.field("WARC-Target-URI")), ("response", row["url"].as_str()));
    }
    let file = scene.path("index.cdxj");
    scene.look("export", &["--format", "cdxj", "-o", file.to_str().unwrap()]).expect(0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), exported.stdout);
    scene.look("export", &["--format", "cdxj", "--table", "pages"]).expect(2);
}

/// The members of a ZIP file, each checked against its CRC.
fn members(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let bytes = std::fs::read(path).expect("the file");
    let archive = rawzip::ZipArchive::from_slice(&bytes).expect("a ZIP file");
    let mut entries = archive.entries();
    let mut members = BTreeMap::new();
    while let Some(entry) = entries.next_entry().expect("an entry") {
        let name = entry.file_path().try_normalize().expect("a name").as_ref().to_owned();
        let local = archive.get_entry(entry.wayfinder()).expect("its place");
        let mut content = Vec::new();
        if name.starts_with("archive/") || name == "indexes/index.cdx.gz" {
            assert_eq!(
                entry.compression_method(),
                rawzip::CompressionMethod::STORE,
                "{name} is read by offsets"
            );
        }
        if entry.compression_method() == rawzip::CompressionMethod::STORE {
            local.verifying_reader(local.data()).read_to_end(&mut content).expect("content");
        } else {
            let inflated = flate2::bufread::DeflateDecoder::new(local.data());
            local.verifying_reader(inflated).read_to_end(&mut content).expect("content");
        }
        members.insert(name, content);
    }
    members
}

fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let hex: Vec<String> = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{}", hex.concat())
}

#[test]
fn archives_are_exported_as_one_signed_file_without_what_may_not_be_shown() {
    let page = |head: &str, text: &str| {
        let body = format!(
            "<html><head><title>T {text}</title>{head}</head><body><main><p>The words of {text} are these, and there are some more of them.\
             </p><div data-nosnippet>Nobody may quote mhidden, which is a whole sentence.</div></main></body></html>"
        );
        Answer::html(body)
    };
    let links = "<a href=/plain>1</a><a href=/noindex>2</a><a href=/nosnippet>3</a><a href=/short>4</a><a href=/gone>5</a><a href=/a.png>6</a>";
    let sites = Sites::new()
        .page("a.test", "/", Answer::html(format!("<title>Front</title>{links}")))
        .page("a.test", "/plain", page("", "mplain"))
        .page("a.test", "/noindex", page("<meta name=robots content=noindex>", "mnoindex"))
        .page("a.test", "/nosnippet", page("<meta name=robots content=nosnippet>", "mnosnippet"))
        .page("a.test", "/short", page("<meta name=robots content=max-snippet:9>", "mshort"))
        .page("a.test", "/a.png", Answer::content("image/png", "\u{89}PNG"));
    let scene = Scene::new(sites);
    scene.crawl().run();
    let second = scene.path("second");
    Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0"])
        .args([Path::new("--seed"), &scene.seeds(), Path::new("--out"), &second])
        .args(scene.server.resolve())
        .run();

    // RFC 8410 section 10.3: an example of a key.
    let pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
    let public = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";
    let (key, file) = (scene.path("key.pem"), scene.path("crawl.wacz"));
    std::fs::write(&key, pem).unwrap();
    let export = |args: &[&Path]| {
        let to = [Path::new("--format"), Path::new("wacz"), Path::new("-o"), &file];
        Crawl::new([Path::new("export")]).args([scene.out().as_path()]).args(to).args(args).run()
    };
    export(&[&second, Path::new("--sign"), &key]).expect(0);
    let members = members(&file);

    // Sizes and digests are those of the members.
    let package: serde_json::Value = serde_json::from_slice(&members["datapackage.json"]).unwrap();
    assert_eq!((&package["profile"], &package["wacz_version"]), (&"data-package".into(), &"1.1.1".into()));
    assert_eq!(package["mainPageUrl"], "http://a.test/");
    assert_eq!(package["crawls"].as_array().unwrap().len(), 2);
    let mut listed = Vec::new();
    for resource in package["resources"].as_array().unwrap() {
        let path = resource["path"].as_str().unwrap();
        let content = &members[path];
        assert_eq!(resource["bytes"], content.len(), "{path}");
        assert_eq!(resource["hash"].as_str().unwrap(), sha256(content), "{path}");
        listed.push(path.to_owned());
    }
    let described = ["datapackage-digest.json", "datapackage.json"];
    let others = members.keys().filter(|name| !described.contains(&name.as_str())).cloned().collect();
    listed.sort();
    assert_eq!(listed, crate::scene::sorted(others));

    // The signature is of the digest, by the key.
    let digest: serde_json::Value = serde_json::from_slice(&members["datapackage-digest.json"]).unwrap();
    let hash = sha256(&members["datapackage.json"]);
    let signed = &digest["signedData"];
    assert_eq!((&digest["hash"], &signed["hash"]), (&hash.as_str().into(), &hash.as_str().into()));
    assert_eq!((&signed["publicKey"], &signed["created"]), (&public.into(), &package["created"]));
    let base64 = |text: &serde_json::Value| {
        data_encoding::BASE64.decode(text.as_str().unwrap().as_bytes()).expect("base 64")
    };
    let (public, signature) = (base64(&signed["publicKey"]), base64(&signed["signature"]));
    let verified = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, &public[12..]);
    verified.verify(hash.as_bytes(), &signature).expect("the signature");

    // The archives are there byte for byte, and each line of the index leads to its record.
    for dir in [scene.out(), second.clone()] {
        for path in files(&dir.join("warc")).iter().filter(|path| path.to_string_lossy().ends_with(".gz")) {
            let bytes = std::fs::read(path).unwrap();
            assert!(members.iter().any(|(name, content)| name.starts_with("archive/") && *content == bytes));
        }
    }
    let mut index = String::new();
    flate2::read::MultiGzDecoder::new(&*members["indexes/index.cdx.gz"]).read_to_string(&mut index).unwrap();
    let key_of = |line: &&str| line.split(" {").next().unwrap().to_owned();
    let keys: Vec<_> = index.lines().map(|line| key_of(&line)).collect();
    assert!(keys.is_sorted());
    assert_eq!(keys.iter().filter(|key| key.starts_with("test,a)/plain ")).count(), 2, "{index}");
    assert!(!index.contains("/noindex"));

    // Pages that may be indexed, with what may be quoted of them.
    let list = String::from_utf8(members["pages/pages.jsonl"].clone()).unwrap();
    let mut rows = list.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let head = rows.next().unwrap();
    assert_eq!((&head["format"], &head["hasText"]), (&"json-pages-1.0".into(), &true.into()));
    let rows: Vec<_> = rows.collect();
    let of = |path: &str| {
        let url = format!("http://a.test{path}");
        rows.iter().filter(|row| row["url"] == url.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(
        ["/", "/plain", "/noindex", "/nosnippet", "/short", "/gone", "/a.png"].map(|path| of(path).len()),
        [2, 2, 0, 2, 2, 0, 0]
    );
    let plain = of("/plain")[0];
    assert_eq!(plain["title"], "T mplain");
    assert!(plain["text"].as_str().unwrap().starts_with("The words of mplain are these"), "{plain}");
    assert!(of("/nosnippet")[0]["text"].is_null());
    assert_eq!(of("/short")[0]["text"], "The words");
    assert_eq!(of("/")[0]["seed"], true);
    let told = members.iter().filter(|(name, _)| !name.starts_with("archive/"));
    for (name, content) in told {
        let text = String::from_utf8_lossy(content);
        assert!(!text.contains("mhidden") && !text.contains("mnoindex"), "{name}");
    }

    // What can't be.
    std::fs::write(&key, "-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n").unwrap();
    let refused = export(&[Path::new("--sign"), &key]);
    assert!(refused.expect(2).stderr.contains("isn't an unencrypted ed25519 key"), "{refused}");
    scene.look("export", &["--format", "wacz"]).expect(2);
    scene.look("export", &["--format", "wacz", "--table", "pages", "-o", "x.wacz"]).expect(2);
    scene.look("export", &["--format", "csv", "--table", "pages", "--sign", "key.pem"]).expect(2);
}
