//! A worker behind a pooler in session mode, and the connections that it needs.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::judge::Judge;
use crate::program::{Worker, expect_polite_and_whole, init_at, init_with, run, status, text};
use crate::proxy::Proxy;
use crate::server::{Server, as_nobody, until, url_by};

/// As the manual has it: five, and one each for what is withdrawn, for the limits of the crawl, for its rate, and for addresses that hosts share.
const NEEDED: usize = 9;

const SETTINGS: [&str; 6] = ["--single-server", "--max-pages", "10000", "--max-rate", "1000", "--per-ip"];

/// All hosts have one address, and take turns.
const DELAY: Duration = Duration::from_millis(20);

/// Every page was asked for once, one request at a time.
fn expect_whole(judge: &Judge) {
    let seen = judge.seen();
    assert!(seen.overlaps.is_empty(), "overlaps: {:?}", seen.overlaps);
    assert_eq!(seen.pages.keys().cloned().collect::<std::collections::BTreeSet<_>>(), Judge::truth());
    assert!(seen.pages.values().all(|count| *count == 1), "{:?}", seen.pages);
}

fn name_of(url: &str) -> &str {
    url.split("///").nth(1).unwrap().split('?').next().unwrap()
}

#[test]
fn a_worker_crawls_behind_a_pooler_in_session_mode() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_with(&url, &judge, &["--single-server"]);
    let pooler = Proxy::pooler(server.dir(), 100);
    let mut worker = Worker::start(&url_by(pooler.dir(), name_of(&url)), dir.path(), "one");
    assert_eq!(worker.code(), Some(0));
    expect_polite_and_whole(&judge, 0);
}

/// `PgBouncer` in front of a server, in session mode. It ends with the value.
struct PgBouncer {
    dir: TempDir,
    keeper: Option<(Child, ChildStdin)>,
}

impl PgBouncer {
    /// With so many connections to the server for each database and user; none where the program isn't installed, which is said on standard error.
    fn start(server: &Server, connections: usize) -> Option<Self> {
        let dirs = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::env::split_paths(&dirs).chain(["/usr/sbin".into()]);
        let Some(program) = dirs.map(|dir| dir.join("pgbouncer")).find(|program| program.exists()) else {
            eprintln!("SKIPPED: PgBouncer isn't installed (Debian: apt-get install pgbouncer)");
            return None;
        };
        let dir = TempDir::new().unwrap();
        let users = Server::file(dir.path(), "users", "\"crawl\" \"\"\n");
        let settings = format!(
            "[databases]\n* = host={}\n[pgbouncer]\nlisten_addr =\nlisten_port = 5432\nunix_socket_dir = {}\nauth_type = trust\nauth_file = {}\npool_mode = session\ndefault_pool_size = {connections}\n",
            server.dir().display(),
            dir.path().display(),
            users.display(),
        );
        let settings = Server::file(dir.path(), "settings", &settings);
        let script = r#""$@" & pooler=$!; read -r _; kill -TERM $pooler; wait $pooler"#;
        let mut shell = Command::new("sh");
        shell.args(["-c", script, "sh"]).arg(program).arg("-q").arg(settings).current_dir("/");
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = as_nobody(&mut shell).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let socket = dir.path().join(".s.PGSQL.5432");
        let pooler = Self { dir, keeper: Some((child, stdin)) };
        until(|| socket.exists());
        Some(pooler)
    }

    fn dir(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        if let Some((mut child, mut stdin)) = self.keeper.take() {
            let _told = stdin.write_all(b"\n");
            drop(stdin);
            child.wait().unwrap();
        }
    }
}

/// As many connections as the manual says are enough for a worker, with one for a statement that takes long; those for fewer aren't.
#[test]
fn a_worker_crawls_behind_pgbouncer_with_the_connections_of_the_manual() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    let Some(pooler) = PgBouncer::start(&server, NEEDED + 1) else { return };
    let by_pooler = url_by(pooler.dir(), name_of(&url));
    init_at(&by_pooler, &judge, DELAY, &SETTINGS);
    let few = PgBouncer::start(&server, NEEDED - 1).unwrap();
    let mut refused = Worker::start(&url_by(few.dir(), name_of(&url)), dir.path(), "two");
    assert_eq!(refused.code(), Some(5));
    let said = std::fs::read_to_string(dir.path().join("two.log")).unwrap();
    assert!(said.contains("all connections"), "{said}");
    let mut worker = Worker::start(&by_pooler, dir.path(), "one");
    assert_eq!(worker.code(), Some(0));
    expect_whole(&judge);
    let shown = run(&["cluster", "status", &by_pooler]);
    assert!(shown.status.success(), "{}", text(&shown));
}

/// A worker that gets too few connections owns nothing that another one would wait for.
#[test]
fn a_worker_has_all_its_connections_before_it_claims_a_partition() {
    let Some(server) = Server::start(&[]) else { return };
    let (url, judge, dir) = (server.database(), Judge::start(), TempDir::new().unwrap());
    init_at(&url, &judge, DELAY, &SETTINGS);
    let database = name_of(&url);
    let fences = || server.sql(database, "select sum(fence), count(owner) from part");
    let before = fences();
    for most in [1, 3, 5, NEEDED - 1] {
        let pooler = Proxy::pooler(server.dir(), most);
        let mut worker = Worker::start(&url_by(pooler.dir(), database), dir.path(), "one");
        assert_eq!(worker.code(), Some(5), "{most}");
        let said = std::fs::read_to_string(dir.path().join("one.log")).unwrap();
        assert!(said.contains("max_client_conn"), "{most}: {said}");
        assert!(most < NEEDED - 1 || said.contains("all connections"), "{most}: {said}");
        assert_eq!(fences(), before, "{most}: {said}");
    }
    assert_eq!(judge.count(), 0);
    // Those of the start may end a moment after the next ones begin.
    let pooler = Proxy::pooler(server.dir(), NEEDED + 3);
    let mut worker = Worker::start(&url_by(pooler.dir(), database), dir.path(), "one");
    until(|| judge.count() > 5);
    assert_eq!(pooler.open(), NEEDED);
    let owned = |status: serde_json::Value| status["workers"][0]["partitions"].as_u64();
    assert!(owned(status(&url)) > Some(0) || worker.code() == Some(0));
    assert_eq!(worker.code(), Some(0));
    expect_whole(&judge);
}
