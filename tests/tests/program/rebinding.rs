//! Names that lead to addresses of this machine or its network: what a seed opens, and what a name may become.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use whole_program::name_server::NameServer;
use whole_program::output_dir::files_with;
use whole_program::program::{Crawl, Output};
use whole_program::site::{Answer, Server, Sites};

/// Is on pages that no crawl may fetch.
const MARKER: &str = "zq-of-this-machine-alone-qz";

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;

struct Crawled {
    directory: tempfile::TempDir,
    output: Output,
}

/// Crawls `seeds` with the names of `names`, which are looked up again with every connection: none is kept.
fn crawl(names: &NameServer, seeds: &[String], arguments: &[&str]) -> Crawled {
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = |name: &str| directory.path().join(name);
    let write =
        |name: &str, text: String| std::fs::write(path(name), text).expect("its directory can be written to");
    write("seeds.txt", seeds.concat());
    write("crawl.toml", format!("{}connection_life = \"1ms\"\nretries = 0\n", names.config()));
    let output = Crawl::new(["--agent", "SuperRobot/1.0", "--delay", "20ms", "--adaptive", "0"])
        .args([Path::new("--seed"), &path("seeds.txt"), Path::new("--out"), &path("out")])
        .args([Path::new("--config"), &path("crawl.toml")])
        .args(arguments)
        .run();
    Crawled { directory, output }
}

impl Crawled {
    fn out(&self) -> std::path::PathBuf {
        self.directory.path().join("out")
    }

    fn table(&self, table: &str) -> Vec<Value> {
        let command = Crawl::new([Path::new("export"), &self.out()]);
        command.args(["--table", table, "--format", "jsonl"]).run().expect(0).json()
    }

    /// The words of the one address that was closed.
    #[track_caller]
    fn blocked(&self, url: &str) -> String {
        let rows = self.table("errors");
        let row = rows.iter().find(|row| row["url"] == url);
        let row = row.unwrap_or_else(|| panic!("{url} isn't among {rows:?}; {}", self.output));
        assert_eq!(row["kind"], "blocked_address", "{row}");
        row["detail"].as_str().expect("words").to_owned()
    }

    /// Nothing of what may not be fetched is in database, archive, log or any table; the audit finds nothing.
    #[track_caller]
    fn assert_clean(&self) {
        assert_eq!(files_with(self.directory.path(), &[MARKER]), []);
        for table in ["pages", "links", "hosts", "robots", "queue", "skipped", "ledger", "errors"] {
            let text = format!("{:?}", self.table(table));
            assert!(!text.contains(MARKER), "{table}: {text}");
        }
        Crawl::new([Path::new("audit"), &self.out()]).run().expect(0);
    }
}

fn secrets() -> Sites {
    let page = || Answer::html(format!("<title>{MARKER}</title>"));
    ["a.test", "intranet.test", "127.0.0.1", "localhost"]
        .into_iter()
        .fold(Sites::new(), |sites, host| sites.page(host, "/", page()).page(host, "/x", page()))
}

/// The same sites by the name of each port.
fn with_ports(server: impl Fn(u16) -> Sites) -> Server {
    // The Host field has the port, which is known once it listens: found by trying one.
    let port = std::net::TcpListener::bind((HERE, 0)).and_then(|listener| listener.local_addr());
    let address = port.expect("a port on loopback");
    Server::start_on(address, server(address.port()))
}

#[test]
fn a_seeds_name_opens_nothing_and_the_operator_does() {
    let names = NameServer::start(|_, _| vec![HERE]);
    let site =
        |port| {
            let host = format!("intranet.test:{port}");
            Sites::new()
                .page(&host, "/", Answer::html(format!("<title>{MARKER}</title><a href=/x>x</a>")))
                .page(&host, "/x", Answer::html("x"))
        };
    let server = with_ports(site);
    let port = server.address().port();
    let seed = format!("http://intranet.test:{port}/");
    let closed = crawl(&names, &[format!("{seed}\n")], &[]);
    assert_eq!(server.count(), 0, "{}", closed.output);
    closed.output.expect(4);
    let words = closed.blocked(&seed);
    assert!(
        words.contains("127.0.0.1 is a loopback address") && words.contains("--allow-net 127.0.0.1/32"),
        "{words}"
    );
    let line = format!("  {seed}: not fetched: no connection was made: 127.0.0.1 is a loopback address");
    let said = closed.output.stdout.lines().find(|said| said.starts_with(&line)).unwrap_or_default();
    assert!(said.contains("--allow-net 127.0.0.1/32"), "{}", closed.output);
    closed.assert_clean();
    let rule = format!("intranet.test:127.0.0.1:{port}");
    for (arguments, pages) in [
        (["--allow-net", "127.0.0.1/32"], 2),
        (["--resolve", rule.as_str()], 4),
        (["--resolve", "intranet.test:127.0.0.1"], 6),
    ] {
        let open = crawl(&names, &[format!("{seed}\n")], &arguments);
        open.output.expect(0);
        assert_eq!(server.pages().len(), pages, "{arguments:?}");
    }
}

#[test]
fn a_literal_seed_opens_its_own_port_alone() {
    let names = NameServer::start(|_, _| Vec::new());
    let secret = Server::start(secrets());
    let its = secret.address().port();
    let site = |port| {
        let links: Vec<String> = ["127.0.0.1", "localhost", "127.0.0.2"]
            .map(|host| {
                format!("<a href='http://{host}:{its}/'>s</a><a href='http://{host}:{port}/own'>o</a>")
            })
            .into();
        let links = links.concat();
        ["127.0.0.1", "localhost"].into_iter().fold(Sites::new(), |sites, host| {
            let host = format!("{host}:{port}");
            sites.page(&host, "/", Answer::html(links.clone())).page(&host, "/own", Answer::html("own"))
        })
    };
    let server = with_ports(site);
    let port = server.address().port();
    for (seed, other) in [("127.0.0.1", "localhost"), ("localhost", "127.0.0.1")] {
        let before = server.pages().len();
        let crawled = crawl(&names, &[format!("http://{seed}:{port}/\n")], &["--scope", "any"]);
        crawled.output.expect(0);
        let asked: Vec<String> = server.pages().split_off(before);
        assert_eq!(asked, [format!("http://{seed}:{port}/"), format!("http://{seed}:{port}/own")]);
        assert_eq!(secret.count(), 0, "{seed}");
        for url in [
            format!("http://{seed}:{its}/"),
            format!("http://{other}:{port}/own"),
            format!("http://{other}:{its}/"),
            format!("http://127.0.0.2:{port}/own"),
        ] {
            assert!(crawled.blocked(&url).contains("--allow-net"), "{url}");
        }
        crawled.assert_clean();
    }
}

#[test]
fn a_resume_keeps_the_class_of_a_names_first_answer() {
    // From the second run on, the name is in another network of one's own, which is open as well.
    let moved = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_moved = std::sync::Arc::clone(&moved);
    let names = NameServer::start(move |_, _| {
        let is_moved = is_moved.load(std::sync::atomic::Ordering::SeqCst);
        vec![if is_moved { Ipv4Addr::new(10, 0, 0, 1) } else { HERE }]
    });
    let site = |port| {
        let host = format!("moved.test:{port}");
        let page = |next: &str| Answer::html(format!("<a href={next}>next</a>"));
        Sites::new().page(&host, "/", page("/1")).page(&host, "/1", page("/2")).page(&host, "/2", page("/"))
    };
    let server = with_ports(site);
    let port = server.address().port();
    let nets = ["--allow-net", "127.0.0.0/8", "--allow-net", "10.0.0.0/8"];
    let arguments = [&nets[..], &["--max-pages", "1"]].concat();
    let crawled = crawl(&names, &[format!("http://moved.test:{port}/\n")], &arguments);
    crawled.output.expect(10);
    assert_eq!(server.pages().len(), 1);
    moved.store(true, std::sync::atomic::Ordering::SeqCst);
    let out = crawled.out();
    let resume = Crawl::new([Path::new("resume"), &out]).args(nets).args(["--max-pages", "none"]).run();
    resume.expect(0);
    assert_eq!(server.pages().len(), 1, "{resume}");
    let words = crawled.blocked(&format!("http://moved.test:{port}/1"));
    assert!(
        words.contains("10.0.0.1, a private address") && words.contains("first resolved to loopback"),
        "{words}"
    );
    crawled.assert_clean();
}

/// Set where the test runs in a network of its own.
const INSIDE: &str = "WHOLE_PROGRAM_OWN_NETWORK";

/// An address that is anybody's, and here nobody's but ours.
const PUBLIC: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);

/// In a network namespace of its own, a public address is one of this machine's, and no packet leaves it.
#[test]
fn a_seeds_name_that_turns_from_public_to_loopback_isnt_followed() {
    if std::env::var_os(INSIDE).is_some() {
        return rebind();
    }
    let line = format!("ip link set lo up && ip addr add {PUBLIC}/32 dev lo");
    let namespace = |line: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rn", "sh", "-c", line]);
        command
    };
    if !namespace(&line).output().is_ok_and(|probe| probe.status.success()) {
        eprintln!("SKIPPED: this machine lets nobody make a network namespace (unshare -rn, ip)");
        return;
    }
    let test = "rebinding::a_seeds_name_that_turns_from_public_to_loopback_isnt_followed";
    let output = namespace(&format!("{line} && exec \"$0\" --exact {test} --nocapture"))
        .arg(std::env::current_exe().expect("this program has a file"))
        .env(INSIDE, "1")
        .env("WHOLE_PROGRAM_BINARY", whole_program::program::binary())
        .output()
        .expect("unshare was there a moment ago");
    let said =
        format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn rebind() {
    for (arguments, first) in [(&[][..], 1), (&["--allow-net", "127.0.0.0/8"], 1), (&["--per-ip"], 3)] {
        // robots.txt is answered by the public address, everything after it is asked for at this machine's own.
        let names = NameServer::start(move |_, nth| vec![if nth < 1 { PUBLIC } else { HERE }]);
        let public = SocketAddr::from((PUBLIC, 0));
        let port = std::net::TcpListener::bind(public)
            .and_then(|l| l.local_addr())
            .expect("an address of ours")
            .port();
        let host = format!("evil.test:{port}");
        let page = Answer::html("<title>public</title><a href=/1>1</a><a href=http://evil.test:6379/>r</a>");
        let sites = |marker: &str| {
            let page = |text: &str| Answer::html(format!("<title>{text}</title>{marker}"));
            Sites::new().page(&host, "/1", page("1")).page("evil.test:6379", "/", page("redis"))
        };
        let open = Server::start_on((PUBLIC, port).into(), sites("").page(&host, "/", page));
        let own: Vec<Server> = [port, 6379]
            .map(|port| {
                let at: (IpAddr, u16) = (HERE.into(), port);
                Server::start_on(at.into(), sites(MARKER).page(&host, "/", Answer::html(MARKER)))
            })
            .into();
        let crawled = crawl(&names, &[format!("http://{host}/\n")], arguments);
        assert!(own.iter().all(|server| server.count() == 0), "{arguments:?}: {}", crawled.output);
        assert_eq!(open.count(), first, "{arguments:?}: {}", crawled.output);
        if arguments == ["--per-ip"] {
            // It is booked on its public address, and connected to that one.
            assert!(crawled.table("pages").iter().any(|row| row["title"] == "public"));
        } else {
            let words = crawled.blocked(&format!("http://{host}/"));
            assert!(
                words.contains("127.0.0.1, a loopback address") || words.contains("127.0.0.1 is a loopback"),
                "{words}"
            );
        }
        crawled.assert_clean();
    }
}
