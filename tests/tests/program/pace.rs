//! What a site asked for before the program was killed binds the next one.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use whole_program::program::Crawl;
use whole_program::request_log::{Request, RequestKind};
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// A minute of the day (UTC), so many minutes from now.
fn minute(later: i64) -> u64 {
    let now = jiff::Timestamp::now().as_second() / 60;
    (now + later).rem_euclid(24 * 60) as u64
}

#[expect(clippy::disallowed_methods, reason = "the program is killed after some time on the wall clock")]
fn pass(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

#[test]
fn every_pause_survives_a_kill() {
    let front = || Answer::html("<a href=/1>1</a><a href=/2>2</a><a href=/3>3</a>");
    let window = Rules::default().visit(minute(10), minute(12));
    let host = |sites: Sites, host: &str, robots: Answer, page: Answer| {
        sites.page(host, "/robots.txt", robots).page(host, "/", page).page(host, "/", front())
    };
    let open = || Answer::robots(Rules::default());
    let sites = Sites::new();
    let sites = host(sites, "after.test", open(), front().header("Retry-After", "4"));
    let sites = host(sites, "gone.test", open(), Answer::status(404).header("Retry-After", "3600"));
    let sites = host(sites, "busy.test", open(), Answer::status(503));
    let sites = host(sites, "shut.test", Answer::robots(window), front());
    let sites = host(sites, "lost.test", Answer::status(500), front());
    let sites = host(sites, "asks.test", open().header("Retry-After", "3600"), front());
    let delay = Rules::default().delay(Duration::from_millis(1_500));
    let sites = host(sites, "delay.test", Answer::robots(delay), front());
    let scene = Scene::new(sites);

    let requests = |host: &str, purpose: RequestKind| -> Vec<Request> {
        let log = scene.server.log();
        log.into_iter().filter(|request| request.host == host && request.purpose == purpose).collect()
    };
    let mut running = scene.crawl_every("100ms").start();
    while scene.server.count() < 7 + 5 {
        pass(5);
    }
    for _ in 0..6 {
        // As long as a commit takes, and then some: all that was answered is on record.
        pass(700);
        running.kill();
        running = scene.resume().args(scene.server.resolve()).start();
    }
    while requests("after.test", RequestKind::Page).len() + requests("delay.test", RequestKind::Page).len()
        < 4 + 4
    {
        pass(50);
    }
    running.kill();
    // Each of these waits for minutes; what it was asked before the first kill is all it ever was.
    for (host, robots, pages) in [
        ("gone.test", 1, 1),
        ("busy.test", 1, 1),
        ("shut.test", 1, 0),
        ("lost.test", 1, 0),
        ("asks.test", 1, 0),
    ] {
        let asked = (requests(host, RequestKind::Robots).len(), requests(host, RequestKind::Page).len());
        assert_eq!(asked, (robots, pages), "{host}");
    }
    let gaps = |host: &str| -> Vec<Duration> {
        let pages = requests(host, RequestKind::Page);
        pages.windows(2).map(|pair| pair[1].start.saturating_sub(pair[0].end)).collect()
    };
    assert!(gaps("after.test")[0] >= Duration::from_secs(4), "{:?}", gaps("after.test"));
    let delays = gaps("delay.test");
    assert!(delays.iter().all(|gap| *gap >= Duration::from_millis(1_500)), "{delays:?}");
}

#[test]
fn a_host_with_too_long_a_delay_is_skipped_across_restarts_too() {
    let slow = Answer::robots(Rules::default().delay(Duration::from_secs(2)));
    let sites =
        Sites::new().page("slow.test", "/robots.txt", slow).page("slow.test", "/", Answer::html("no"));
    let scene = Scene::new(sites);
    scene.crawl().args(["--max-crawl-delay", "1s"]).run().expect(10);
    for _ in 0..2 {
        scene.resume().args(scene.server.resolve()).run().expect(10);
    }
    assert_eq!((scene.server.count(), scene.server.pages().len()), (1, 0), "its robots.txt, once");
    let parked = scene.table("ledger");
    let parked: Vec<_> = parked.iter().filter(|entry| entry["decision"] == "parked").collect();
    assert!(
        parked.len() == 3 && parked.iter().all(|entry| entry["reason"] == "max_crawl_delay"),
        "{parked:?}"
    );
    // Who waits longer gets it.
    scene.resume().args(scene.server.resolve()).args(["--max-crawl-delay", "1m"]).run().expect(0);
    assert_eq!(scene.server.pages(), ["http://slow.test/"]);
    scene.assert_polite();
}

/// What a server saw: the path, when it came, and when the answer began to leave or the connection was closed.
type Seen = Arc<Mutex<Vec<(String, Instant, Instant)>>>;

/// Answers the first request of a connection. Of the others it reads those that it sees for the first time, and closes.
fn drops_requests(stream: TcpStream, known: &Mutex<HashSet<String>>, seen: &Seen) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    for nth in 0.. {
        let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
        while !lines.next()?.ok()?.is_empty() {}
        let came = now();
        let is_new = known.lock().ok()?.insert(path.clone());
        let body = match path.as_str() {
            "/robots.txt" => String::new(),
            "/" => [1, 2, 3, 4, 5, 6].map(|n| format!("<a href=/{n}>{n}</a>")).concat(),
            other => format!("<title>{other}</title>"),
        };
        seen.lock().ok()?.push((path, came, now()));
        if nth > 0 && is_new {
            return None;
        }
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n", body.len());
        writer.write_all((head + &body).as_bytes()).ok()?;
    }
    None
}

#[expect(clippy::disallowed_methods, reason = "the server's own clock")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn a_server_that_drops_requests_is_asked_again_after_the_gap() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (known, seen) = (Arc::new(Mutex::default()), Seen::default());
    let log = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (known, log) = (Arc::clone(&known), Arc::clone(&log));
            std::thread::spawn(move || drops_requests(stream, &known, &log));
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let (seeds, out) = (directory.path().join("seeds.txt"), directory.path().join("out"));
    std::fs::write(&seeds, format!("http://{address}/\n")).unwrap();
    let crawl =
        Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "200ms", "--adaptive", "0", "--retries", "0"]);
    crawl.args(["--seed".as_ref(), seeds.as_os_str(), "--out".as_ref(), out.as_os_str()]).run().expect(0);
    let pages = Crawl::new(["export".as_ref(), out.as_os_str()])
        .args(["--table", "pages", "--format", "jsonl"])
        .run();
    let pages = pages.expect(0).json();
    assert_eq!(pages.len(), 7);
    assert!(
        pages.iter().all(|page| page["status"] == 200 && page["tries"] == 1),
        "no failure of its: {pages:?}"
    );
    let seen = seen.lock().unwrap();
    let dropped = seen.windows(2).filter(|pair| pair[0].0 == pair[1].0).count();
    assert_eq!((seen.len(), dropped), (1 + 7 + 7, 7), "each page was dropped once");
    for pair in seen.windows(2) {
        let gap = pair[1].1.saturating_duration_since(pair[0].2);
        assert!(gap >= Duration::from_millis(200), "{gap:?} before {}", pair[1].0);
    }
}

/// Answers "/" with 429 and the beginning of a body, and says nothing more; gives how often it was asked for.
fn never_ends_its_429(stream: TcpStream, asked: &Mutex<usize>) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
    while !lines.next()?.ok()?.is_empty() {}
    if path != "/" {
        return writer
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .ok();
    }
    let head =
        "HTTP/1.1 429 Busy\r\nContent-Type: text/html\r\nRetry-After: 3600\r\nContent-Length: 1000\r\n\r\n";
    writer.write_all((head.to_owned() + "Come back in an hour").as_bytes()).ok()?;
    *asked.lock().ok()? += 1;
    // Until the client goes away.
    while lines.next().is_some() {}
    None
}

#[test]
fn a_retry_after_that_came_just_before_a_kill_is_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = Arc::clone(&count);
            std::thread::spawn(move || never_ends_its_429(stream, &count));
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let (seeds, out) = (directory.path().join("seeds.txt"), directory.path().join("out"));
    std::fs::write(&seeds, format!("http://{address}/\n")).unwrap();
    let crawl = Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "10ms", "--adaptive", "0"]);
    let running =
        crawl.args(["--seed".as_ref(), seeds.as_os_str(), "--out".as_ref(), out.as_os_str()]).start();
    while *asked.lock().unwrap() == 0 {
        pass(5);
    }
    // Its head is there; its body never will be, so nothing of it can be settled.
    pass(300);
    running.kill();
    let resumed = Crawl::new(["resume".as_ref(), out.as_os_str()]).run();
    assert!(resumed.stdout.contains(", retry-after until "), "{resumed}");
    assert_eq!(*asked.lock().unwrap(), 1, "an hour isn't over: {resumed}");
    let export = Crawl::new(["export".as_ref(), out.as_os_str()]);
    let ledger = export.args(["--table", "ledger", "--format", "jsonl"]).run().expect(0).json();
    let paused: Vec<_> = ledger.iter().filter(|row| row["decision"] == "paused").collect();
    assert_eq!(paused.len(), 1, "{ledger:#?}");
    assert_eq!((&paused[0]["reason"], &paused[0]["layer"]), (&"retry-after".into(), &"pace".into()));
    assert!(!out.join("pauses.jsonl").exists(), "it is on record now");
    // So it is for every further run.
    Crawl::new(["resume".as_ref(), out.as_os_str()]).run();
    assert_eq!(*asked.lock().unwrap(), 1);
    Crawl::new(["audit".as_ref(), out.as_os_str()]).run().expect(0);
}

#[test]
fn two_commands_on_one_host_are_told_of() {
    let scene = Scene::new(
        Sites::new().tree("a.test", 40, Duration::from_millis(20)).tree("b.test", 1, Duration::ZERO).tree(
            "c.a.test",
            1,
            Duration::ZERO,
        ),
    );
    let runtime = scene.path("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let crawl = |seed: &str, out: &str| {
        let crawl =
            Crawl::new([seed, "--agent", "SuperRobot/1.0", "--delay", "1s", "--adaptive", "0", "--out"]);
        crawl.args([scene.path(out)]).args(scene.server.resolve()).env("XDG_RUNTIME_DIR", &runtime)
    };
    let told = |stderr: &str| stderr.contains("two requests at a time");
    let first = crawl("http://a.test/", "first").start();
    while scene.server.count() < 2 {
        pass(5);
    }
    let beside = crawl("http://a.test/", "second").args(["--max-pages", "1"]).run();
    let (process, directory) = (format!("(process {})", first.pid()), scene.path("first"));
    for word in ["a.test", &process, &directory.display().to_string()] {
        assert!(told(&beside.stderr) && beside.stderr.contains(word), "{word}: {beside}");
    }
    let plan = Crawl::new(["plan", "http://a.test/", "--agent", "SuperRobot/1.0", "--scope", "domain"]);
    let plan = plan.args(scene.server.resolve()).env("XDG_RUNTIME_DIR", &runtime).run();
    assert!(told(&plan.stderr), "{plan}");
    // Another host, another place under the same name, another user's directory.
    let other = crawl("http://b.test/", "third").run();
    assert!(!told(&other.stderr), "{other}");
    let elsewhere = Crawl::new(["plan", "http://a.test/", "--agent", "SuperRobot/1.0"]);
    let elsewhere =
        elsewhere.args(["--resolve", "a.test:127.0.0.1:9"]).env("XDG_RUNTIME_DIR", &runtime).run();
    assert!(!told(&elsewhere.stderr), "{elsewhere}");
    let without = crawl("http://a.test/", "fourth").args(["--max-pages", "1"]);
    let without = without.env("XDG_RUNTIME_DIR", scene.path("missing")).run();
    assert!(!told(&without.stderr), "{without}");
    // A process that was killed is none.
    first.kill();
    let after = crawl("http://a.test/", "fifth").args(["--max-pages", "1"]).run();
    assert!(!told(&after.stderr), "{after}");
}

/// Serves three pages that link to each other, and a robots.txt that allows them.
fn serves_three_pages(stream: TcpStream) -> Option<()> {
    let mut writer = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    loop {
        let path = lines.next()?.ok()?.split(' ').nth(1)?.to_owned();
        while !lines.next()?.ok()?.is_empty() {}
        let (kind, body) = match path.as_str() {
            "/robots.txt" => ("text/plain", "User-agent: *\nDisallow:\n"),
            _ => ("text/html", "<a href=/1>1</a> <a href=/2>2</a>"),
        };
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
        writer.write_all((head + body).as_bytes()).ok()?;
    }
}

#[test]
fn a_server_that_starts_after_its_robots_txt_was_asked_for_is_crawled() {
    // An address of its own: nobody else takes the port in the meantime.
    let address = TcpListener::bind("127.83.7.41:0").unwrap().local_addr().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let (seeds, out) = (directory.path().join("seeds.txt"), directory.path().join("out"));
    std::fs::write(&seeds, format!("http://{address}/\n")).unwrap();
    let crawl = Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0"]);
    let running =
        crawl.args(["--seed".as_ref(), seeds.as_os_str(), "--out".as_ref(), out.as_os_str()]).start();
    // The server starts once a request failed.
    let has_failed = || {
        let logs = std::fs::read_dir(out.join("log")).into_iter().flatten().flatten();
        logs.filter_map(|file| std::fs::read_to_string(file.path()).ok())
            .any(|log| log.contains("robots.txt can't be fetched"))
    };
    for _ in 0..6_000 {
        if has_failed() {
            break;
        }
        pass(10);
    }
    let listener = TcpListener::bind(address).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || serves_three_pages(stream));
        }
    });
    running.wait(Duration::from_secs(200)).expect(0);
    let table = |name: &str| {
        let export = Crawl::new(["export".as_ref(), out.as_os_str()]);
        export.args(["--table", name, "--format", "jsonl"]).run().expect(0).json()
    };
    assert_eq!(table("pages").len(), 3);
    let ledger = table("ledger");
    let retries: Vec<_> = ledger.iter().filter(|entry| entry["decision"] == "retry").collect();
    // The second attempt may come before the server is there.
    assert!((1..=2).contains(&retries.len()), "{retries:?}");
    for entry in retries {
        assert_eq!((&entry["layer"], &entry["reason"]), (&"robots".into(), &"connection".into()), "{entry}");
    }
    Crawl::new(["audit".as_ref(), out.as_os_str()]).run().expect(0);
}

#[test]
fn a_crawl_that_ends_before_a_robots_txt_is_there_says_so_and_keeps_its_pause() {
    let directory = tempfile::tempdir().unwrap();
    let (seeds, out) = (directory.path().join("seeds.txt"), directory.path().join("out"));
    // Nothing listens there.
    std::fs::write(&seeds, "http://127.83.7.42:1/\n").unwrap();
    let paths = ["--seed".as_ref(), seeds.as_os_str(), "--out".as_ref(), out.as_os_str()];
    let crawl =
        Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0", "--max-time", "6s"]);
    crawl.args(paths).run().expect(10);
    let table = |name: &str| {
        let export = Crawl::new(["export".as_ref(), out.as_os_str()]);
        export.args(["--table", name, "--format", "jsonl"]).run().expect(0).json()
    };
    // The attempts at once and after a second; the third is a minute later, also for the next run.
    let retries = |ledger: &[serde_json::Value]| {
        let of_robots = ledger.iter().filter(|entry| entry["layer"] == "robots");
        of_robots.map(|entry| entry["decision"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(retries(&table("ledger")), ["retry"; 2]);
    let explain = Crawl::new(["explain".as_ref(), out.as_os_str()]).args(["http://127.83.7.42:1/"]).run();
    let answer = "the requests for its robots.txt had no response, and it is requested again then";
    let said: Vec<&str> = explain.stdout.split_whitespace().collect();
    assert!(said.join(" ").contains(answer), "{explain}");
    let resume = Crawl::new(["resume".as_ref(), out.as_os_str()]).args(["--max-time", "4s"]).run();
    resume.expect(10);
    assert_eq!(retries(&table("ledger")), ["retry"; 2]);
}
