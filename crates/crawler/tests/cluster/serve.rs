//! `crawl serve --cluster`: a crawl on many machines in a browser.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::judge::Judge;
use crate::metrics::{get, value};
use crate::program::{Worker, at_work, crawl, init_with, run, text};
use crate::server::{Server, until};

const LOCAL: &str = "Host: 127.0.0.1\r\n";

/// `crawl serve --cluster`, as a process.
struct Browsed {
    process: Child,
    address: SocketAddr,
}

impl Browsed {
    fn start(url: &str, dir: &Path, options: &[&str]) -> Self {
        let log = dir.join("serve.log");
        let mut command = crawl(&["serve", "--cluster", url, "--listen", "127.0.0.1:0"]);
        command.args(options).stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
        let process = command.spawn().unwrap();
        let mut address = None;
        until(|| {
            let said = std::fs::read_to_string(&log).unwrap();
            let at = said.lines().find_map(|line| line.split_once(" at http://")?.1.strip_suffix('/'));
            address = at.and_then(|at| at.parse().ok());
            address.is_some()
        });
        Self { process, address: address.unwrap() }
    }

    fn get(&self, path: &str, expected: u16) -> String {
        let (status, body) = get(self.address, path, LOCAL);
        assert_eq!(status, expected, "{path}: {body}");
        body
    }

    /// An answer of the API, which has to be as the file of its description says.
    fn api(&self, path: &str) -> Value {
        let api: Value = serde_json::from_str(&self.get("/api/v1/openapi.json", 200)).unwrap();
        let answer: Value = serde_json::from_str(&self.get(path, 200)).unwrap();
        let described = match path.split('?').next().unwrap() {
            path if path.starts_with("/api/v1/tables/") => "/api/v1/tables/{table}",
            path => path,
        };
        let schema =
            &api["paths"][described]["get"]["responses"]["200"]["content"]["application/json"]["schema"];
        let mut root = schema.clone();
        root["components"] = api["components"].clone();
        let validator = jsonschema::validator_for(&root).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&answer)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(schema.is_object() && errors.is_empty(), "{path}: {errors:#?}\n{answer}");
        answer
    }

    /// The values of a column of a table.
    fn column(&self, table: &str, column: &str) -> BTreeSet<String> {
        let rows = self.api(&format!("/api/v1/tables/{table}?limit=1000&columns={column}"));
        let rows = rows["rows"].as_array().unwrap().iter();
        rows.map(|row| row[column].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Browsed {
    fn drop(&mut self) {
        let _ended = kill_process(Pid::from_child(&self.process), Signal::TERM);
        self.process.wait().unwrap();
    }
}

#[test]
fn a_cluster_is_served_as_one_crawl_while_it_runs_and_afterwards() {
    let Some(mut server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    // So slow that it runs for as long as it is looked at.
    init_with(&url, &judge, &["--single-server", "--max-rate", "4"]);
    let web = Browsed::start(&url, dir.path(), &[]);
    assert_eq!(web.api("/api/v1/status")["state"], "waiting_for_workers");
    let workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    until(|| at_work(&url) == 2 && judge.count() > 10);
    while_it_runs(&web);
    assert!(run(&["cluster", "stop", &url]).status.success());
    until(|| web.api("/api/v1/status")["state"] == "stopped");
    drop(workers);
    assert!(run(&["cluster", "resume", &url, "--max-rate", "none"]).status.success());
    let mut workers = ["one", "two"].map(|name| Worker::start(&url, dir.path(), name));
    assert_eq!(workers.each_mut().map(Worker::code), [Some(0), Some(0)]);
    until(|| web.api("/api/v1/status")["state"] == "complete");
    everything_is_there(&web, &url);
    bodies_are_shown_where_their_directories_are_given(&web, &url, dir.path());

    server.kill();
    assert!(web.get("/healthz", 503).contains("database"), "the database is away");
    until(|| web.get("/", 200).contains("database out of reach"));
    server.run();
    until(|| get(web.address, "/healthz", LOCAL).0 == 200);
    until(|| get(web.address, "/api/v1/status", LOCAL).0 == 200);
    assert_eq!(web.api("/api/v1/status")["state"], "complete");
    assert_eq!(web.column("hosts", "host").len(), 10);
}

fn while_it_runs(web: &Browsed) {
    let mut status = Value::Null;
    until(|| {
        status = web.api("/api/v1/status");
        status["state"] == "running" && status["totals"]["pages"].as_u64() > Some(0)
    });
    let names: BTreeSet<&str> =
        status["workers"].as_array().unwrap().iter().filter_map(|worker| worker["name"].as_str()).collect();
    assert_eq!(names, BTreeSet::from(["one", "two"]), "{status}");
    assert!(status["queued"].as_u64() > Some(0), "{status}");
    let overview = web.get("/", 200);
    for words in ["data-events", "id=\"workers\"", "(<bdi>one</bdi>)", "Partitions with most to do"] {
        assert!(overview.contains(words), "{words}: {overview}");
    }
    // Workers commit while it is looked at: the rate is that of the pages between two looks.
    until(|| web.api("/api/v1/status")["pages_per_second"].as_f64() > Some(0.0));
    let metrics = web.get("/metrics", 200);
    assert!(metrics.contains("crawl_state{state=\"running\"} 1"), "{metrics}");
    assert!((value(&metrics, "crawl_workers") - 2.0).abs() < 0.1, "{metrics}");
    assert!(value(&metrics, "crawl_pages_total") > 0.0, "{metrics}");
    let hosts = web.column("hosts", "host");
    assert!(hosts.contains("s0.test"), "{hosts:?}");
}

fn everything_is_there(web: &Browsed, url: &str) {
    let truth: BTreeSet<String> = Judge::truth().iter().map(|page| format!("http://{page}")).collect();
    assert_eq!(web.column("pages", "url"), truth);
    let status = web.api("/api/v1/status");
    assert_eq!(status["totals"]["pages"].as_u64(), Some(truth.len() as u64));
    // One that is asked for while workers give their partitions back is counted for a state that is over.
    for figure in ["summary", "activity", "graph"] {
        until(|| get(web.address, &format!("/api/v1/{figure}"), LOCAL).0 == 200);
    }
    let summary = web.api("/api/v1/summary");
    assert_eq!(summary["value"]["status"], "complete", "{summary}");
    assert_eq!(summary["value"]["hosts_known"], 10, "{summary}");
    let activity = web.api("/api/v1/activity");
    assert_eq!(activity["value"]["requests"].as_u64(), Some(truth.len() as u64 + 10), "robots.txt files too");
    assert_eq!(activity["value"]["gaps"]["short"], 0, "{activity}");
    // Links that lead from one partition to another are in the graph.
    let graph = web.api("/api/v1/graph");
    let exported = run(&["export", "--cluster", url, "--format", "edges"]);
    assert!(graph["value"]["edges_count"].as_u64() >= Some(10), "{graph}\n{}", text(&exported));
    // The rows of all partitions, in parts that meet, as `crawl show` has them.
    let mut rows = Vec::new();
    while let Some(part) = Some(web.api(&format!("/api/v1/tables/ledger?limit=100&offset={}", rows.len()))) {
        rows.extend(part["rows"].as_array().unwrap().clone());
        if part["more"] == json!(false) {
            break;
        }
    }
    let shown = String::from_utf8(run(&["show", "--cluster", url, "ledger", "--json"]).stdout).unwrap();
    let of = |row: &Value| (row["crawl"].to_string(), row["seq"].as_u64(), row["url"].to_string());
    let listed: Vec<_> = shown.lines().map(|row| of(&serde_json::from_str(row).unwrap())).collect();
    assert_eq!(rows.iter().map(of).collect::<Vec<_>>(), listed);
    let about = web.api("/api/v1/url?url=http%3A%2F%2Fs0.test%2F");
    assert_eq!(about["explanation"]["fate"], "fetched", "{about}");
    assert!(about["links_count"].as_u64() > Some(0), "{about}");
    let about = web.api("/api/v1/host?host=s7.test");
    assert_eq!(about["host"]["host"], "s7.test");
    assert!(about["robots"][0]["stored"].to_string().contains("/private/"), "{about}");
    let csv = web.get("/download/pages?columns=url", 200);
    let listed = csv.lines().filter(|line| line.starts_with("http://")).count();
    assert_eq!(listed, truth.len(), "{csv}");
    for (path, words) in [
        ("/", "complete"),
        ("/tables", "ledger"),
        ("/table/links?where=to+%3D+%22http%3A%2F%2Fs1.test%2F%22", "s1.test"),
        ("/url/links?url=http%3A%2F%2Fs1.test%2F", "http://s"),
        ("/host?host=s7.test", "Disallow"),
        ("/graph", "crawl export --cluster DATABASE"),
    ] {
        let page = web.get(path, 200);
        assert!(page.contains(words), "{path}: {words}: {page}");
    }
    assert!(web.get("/search?q=x", 404).contains("crawl index --cluster"));
    assert!(web.get("/control", 403).contains("only reads"));
}

fn bodies_are_shown_where_their_directories_are_given(web: &Browsed, url: &str, dir: &Path) {
    let copy = "/copy?url=http%3A%2F%2Fs0.test%2F";
    let page = "/url?url=http%3A%2F%2Fs0.test%2F";
    assert!(web.get(copy, 404).contains("--warc"));
    assert!(web.get(page, 200).contains("in the directory of the worker that fetched it"));
    assert!(web.api(&format!("/api/v1{page}"))["archived_elsewhere"].is_string());
    let dirs = ["one", "two"].map(|name| dir.join(name).join("warc").display().to_string());
    let with = Browsed::start(url, dir, &["--warc", &dirs[0], "--warc", &dirs[1]]);
    assert!(with.get(copy, 200).starts_with("<title>s0.test/</title>"), "{}", with.get(copy, 200));
    assert!(with.get(page, 200).contains("Download the archived body"));
    let about = with.api(&format!("/api/v1{page}"));
    assert_eq!(
        (&about["archived_elsewhere"], &about["archived_type"]),
        (&Value::Null, &json!("text/html")),
        "{about}"
    );
}

#[test]
fn serving_a_cluster_has_the_rules_of_serving_a_directory() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    let none = run(&["serve", "--cluster", &url]);
    assert_eq!(none.status.code(), Some(2), "{}", text(&none));
    assert!(text(&none).contains("there is no crawl in the database"), "{}", text(&none));
    init_with(&url, &judge, &["--single-server"]);
    for (options, words) in [
        (&["--listen", "0.0.0.0:0"][..], "--token-file"),
        (&["--allow-control"], "--allow-control"),
        (&["--warc", "/nowhere/warc"], "isn't a directory"),
        (&["crawl-data"], "cannot be used with"),
    ] {
        let refused = run(&[&["serve", "--cluster", &url], options].concat());
        assert_eq!(refused.status.code(), Some(2), "{options:?}: {}", text(&refused));
        assert!(text(&refused).contains(words), "{options:?}: {}", text(&refused));
    }
    let token = dir.path().join("token");
    std::fs::write(&token, "0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let web = Browsed::start(&url, dir.path(), &["--token-file", &token.display().to_string()]);
    assert_eq!(get(web.address, "/api/v1/status", LOCAL).0, 401);
    assert_eq!(get(web.address, "/", LOCAL).0, 303);
    let known = "Host: 127.0.0.1\r\nAuthorization: Bearer 0123456789abcdef\r\n";
    let (status, body) = get(web.address, "/api/v1/status", known);
    assert!(status == 200 && body.contains("waiting_for_workers"), "{body}");
    let foreign = "Host: evil.example\r\nAuthorization: Bearer 0123456789abcdef\r\n";
    assert_eq!(get(web.address, "/api/v1/status", foreign).0, 421);
}
