//! `crawl serve` and `--serve`: what is answered, to whom, and what happens to those who ask for more.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use whole_program::program::{Crawl, PATIENCE, Running};
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;
use crate::stop::{pause, wait_for};

/// What a page of a hostile site has in every place.
const SCRIPT: &str = "<script>alert(1)</script>";

/// An HTTP answer.
#[derive(Debug)]
struct Got {
    status: u16,
    head: String,
    body: String,
}

impl Got {
    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    #[track_caller]
    fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A free port, whose next one is free too, as far as anybody can know.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn connect(port: u16) -> TcpStream {
    for _ in 0..600 {
        if let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            stream.set_read_timeout(Some(PATIENCE)).expect("a socket with a limit");
            return stream;
        }
        pause(Duration::from_millis(50));
    }
    panic!("nobody listens on port {port}");
}

/// Sends a request, byte for byte.
fn send(port: u16, request: &str) -> Got {
    let mut stream = connect(port);
    // A server that refuses early may close before everything is written.
    drop(stream.write_all(request.as_bytes()));
    let mut bytes = Vec::new();
    drop(stream.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { joined(body) } else { body.to_owned() };
    Got { status, head: head.to_owned(), body }
}

/// The chunks of a body.
fn joined(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or_default();
        let Some(chunk) = rest.get(..size).filter(|chunk| !chunk.is_empty()) else { break };
        body.push_str(chunk);
        chunks = rest.get(size + 2..).unwrap_or_default();
    }
    body
}

fn get_with(port: u16, path: &str, fields: &str) -> Got {
    send(port, &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{fields}\r\n"))
}

fn get(port: u16, path: &str) -> Got {
    get_with(port, path, "")
}

/// The body of an answer that is a page of the server.
pub(crate) fn body(port: u16, path: &str) -> String {
    get(port, path).expect(200).body
}

fn post(port: u16, path: &str, fields: &str, form: &str) -> Got {
    let length = form.len();
    send(
        port,
        &format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n{fields}\r\n{form}"
        ),
    )
}

/// `crawl serve` on a scene's directory, with its port.
fn served(scene: &Scene, arguments: &[&str]) -> (Running, u16) {
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let serve = Crawl::new([Path::new("serve"), &scene.out()]).args(["--listen", &listen]).args(arguments);
    let running = serve.start();
    drop(connect(port));
    (running, port)
}

fn ended(running: Running) {
    running.signal("TERM");
    running.wait(PATIENCE).expect(0);
}

/// A character that reverses the text behind it.
const MARK: char = '\u{202e}';

/// A site whose texts are as hostile as they can be.
fn hostile() -> Scene {
    let page = format!(
        "<!DOCTYPE html><html lang=en><head><title>{t} needle {MARK}fdp.exe</title><meta name=description content=\"{d}\"></head><body><p>needle {MARK} {t}</p>\
         <a href=\"/a?x={t}&quot;'\">{t}{MARK}</a><a href=\"/private/x\">no</a><a href=\"/missing\">gone</a><a href=\"javascript:alert(1)\">js</a></body></html>",
        t = SCRIPT.replace('<', "&lt;"),
        d = "&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;",
    );
    let robots =
        format!("# {SCRIPT}{MARK}\nUser-agent: *\nDisallow: /private/{SCRIPT}\nDisallow: /private\n");
    Scene::new(
        Sites::new()
            .page("a.test", "/robots.txt", Answer::content("text/plain", robots))
            .page("a.test", "/", Answer::html(page.clone()))
            .page(
                "a.test",
                &format!("/a?x={SCRIPT}%22%27").replace('<', "%3C").replace('>', "%3E"),
                Answer::html(page),
            ),
    )
}

#[test]
fn a_finished_crawl_is_served_and_every_answer_is_as_the_openapi_file_says() {
    let scene = hostile();
    scene.crawl_every("1ms").args(["--index"]).run();
    let (running, port) = served(&scene, &[]);
    let api: Value = get(port, "/api/v1/openapi.json").expect(200).json();
    let url = "http%3A%2F%2Fa.test%2F";
    let asked = [
        ("/api/v1/status", "/api/v1/status".to_owned()),
        ("/api/v1/summary", "/api/v1/summary".to_owned()),
        ("/api/v1/activity", "/api/v1/activity".to_owned()),
        ("/api/v1/graph", "/api/v1/graph".to_owned()),
        ("/api/v1/tables", "/api/v1/tables".to_owned()),
        ("/api/v1/tables/{table}", "/api/v1/tables/links?limit=2&sort=to:desc".to_owned()),
        ("/api/v1/url", format!("/api/v1/url?url={url}")),
        ("/api/v1/url", format!("/api/v1/url?url={url}private%2Fx")),
        ("/api/v1/url", "/api/v1/url?url=http%3A%2F%2Felsewhere.test%2F".to_owned()),
        ("/api/v1/host", "/api/v1/host?host=a.test".to_owned()),
        ("/api/v1/search", "/api/v1/search?q=needle".to_owned()),
        ("/api/v1/openapi.json", "/api/v1/openapi.json".to_owned()),
    ];
    for (path, address) in &asked {
        check(&api, path, "get", "200", &get(port, address).expect(200).json());
    }
    for table in ["pages", "links", "hosts", "robots", "queue", "skipped", "ledger", "errors", "duplicates"] {
        let rows = get(port, &format!("/api/v1/tables/{table}?limit=1000")).expect(200).json();
        check(&api, "/api/v1/tables/{table}", "get", "200", &rows);
        // The same rows as the export has.
        let exported = scene.look("show", &[table, "--json"]).expect(0).json();
        let without_version = |mut row: Value| {
            row.as_object_mut().and_then(|row| row.remove("v"));
            row
        };
        let exported: Vec<Value> = exported.into_iter().map(without_version).collect();
        assert_eq!(rows["rows"].as_array(), Some(&exported), "{table}");
        get(port, &format!("/table/{table}")).expect(200);
    }
    // Wrong questions are answered in the form of errors.
    for (status, address) in [
        ("400", "/api/v1/url"),
        ("400", "/api/v1/url?url=ftp://a"),
        ("400", "/api/v1/tables/pages?where=nonsense"),
        ("400", "/api/v1/tables/pages?sort=nonsense"),
        ("400", "/api/v1/tables/pages?limit=0"),
        ("400", "/api/v1/tables/pages?limit=1001"),
        ("404", "/api/v1/tables/nonsense"),
        ("404", "/api/v1/host?host=nobody.test"),
    ] {
        let path = address.split('?').next().unwrap_or_default();
        let path = if path.starts_with("/api/v1/tables/") { "/api/v1/tables/{table}" } else { path };
        check(
            &api,
            path,
            "get",
            status,
            &get(port, address).expect(status.parse().expect("a number")).json(),
        );
    }
    // Every path of the description was asked for, but those for a running crawl.
    let described = api["paths"].as_object().expect("paths").keys();
    let missing: Vec<_> = described.filter(|path| !asked.iter().any(|(known, _)| known == path)).collect();
    assert_eq!(missing, ["/api/v1/control", "/api/v1/events"]);
    assert_eq!(get(port, "/healthz").expect(200).body, "ok\n");
    let metrics = get(port, "/metrics").expect(200);
    assert!(metrics.body.contains("\ncrawl_pages_total 2\n"), "{}", metrics.body);
    let csv = get(port, "/download/pages?columns=url").expect(200);
    assert!(csv.field("content-disposition").is_some_and(|value| value.contains("pages.csv")));
    assert_eq!(csv.body.lines().count(), 4, "a header and three URLs: {}", csv.body);
    // When nobody has looked for some seconds, the directory is free.
    pause(Duration::from_secs(8));
    scene.resume().run().expect(0);
    ended(running);
}

/// Compares an answer with the schema of the description.
#[track_caller]
fn check(api: &Value, path: &str, method: &str, status: &str, answer: &Value) {
    let mut response = &api["paths"][path][method]["responses"][status];
    if let Some(reference) = response["$ref"].as_str() {
        response = api.pointer(reference.trim_start_matches('#')).expect("a response");
    }
    let schema = &response["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{path} {status} isn't described");
    let mut root =
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "components": api["components"]});
    for (name, value) in schema.as_object().into_iter().flatten() {
        root[name] = value.clone();
    }
    let validator = jsonschema::validator_for(&root).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(answer).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{path}: {errors:#?}");
}

#[test]
fn script_in_titles_urls_and_robots_txt_is_never_html() {
    let scene = hostile();
    scene.crawl_every("1ms").args(["--index"]).run();
    let (running, port) = served(&scene, &[]);
    let script = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let url = "http%3A%2F%2Fa.test%2F";
    for path in [
        "/".to_owned(),
        "/tables".to_owned(),
        "/table/pages".to_owned(),
        "/table/links".to_owned(),
        "/table/skipped".to_owned(),
        "/table/ledger".to_owned(),
        format!("/table/pages?where={script}"),
        format!("/table/pages?sort={script}"),
        format!("/table/{script}"),
        format!("/url?url={url}"),
        format!("/url?url={url}{script}"),
        format!("/url?url={script}"),
        format!("/url/links?url={url}a"),
        "/host?host=a.test".to_owned(),
        format!("/host?host={script}"),
        "/search?q=needle".to_owned(),
        format!("/search?q={script}&host={script}&since={script}"),
        "/graph".to_owned(),
        format!("/{script}"),
    ] {
        let got = get(port, &path);
        assert!(
            got.field("content-type").is_some_and(|kind| kind.starts_with("text/html")),
            "{path}: {got:?}"
        );
        assert!(!got.body.to_ascii_lowercase().contains("<script>"), "{path}: {}", got.body);
        assert!(!got.body.contains("href=\"javascript:"), "{path}");
        assert!(!got.body.contains(MARK), "{path}: {}", got.body);
        let policy = got.field("content-security-policy").expect("a policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{policy}");
        assert!(!policy.contains("unsafe-inline") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(got.field("x-content-type-options"), Some("nosniff"));
    }
    // It is there, as text.
    let page = get(port, &format!("/url?url={url}")).body;
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(page.contains("needle \\u202efdp.exe"), "{page}");
    let explained = get(port, &format!("/api/v1/url?url={url}")).expect(200);
    assert!(
        explained.body.contains("\\u202efdp.exe") && !explained.body.contains(MARK),
        "{}",
        explained.body
    );
    assert!(get(port, "/host?host=a.test").body.contains("Disallow: /private/&lt;script&gt;"));
    // Archived copies: a download that no browser shows, or a frame on another port that runs nothing.
    let copy = get(port, &format!("/copy?url={url}")).expect(200);
    assert_eq!(copy.field("content-type"), Some("application/octet-stream"));
    assert!(copy.field("content-disposition").is_some_and(|value| value.starts_with("attachment")));
    let frame = page
        .split("src=\"http://127.0.0.1:")
        .nth(1)
        .and_then(|rest| rest.split('"').next())
        .expect("a frame");
    let (other, address) = frame.split_once('/').expect("a path");
    let other: u16 = other.parse().expect("a port");
    assert_ne!(other, port);
    assert!(page.contains("sandbox=\"\""), "{page}");
    let address = format!("/{}", address.replace("&amp;", "&"));
    let framed = get_with(other, &address, "Sec-Fetch-Site: same-site\r\n").expect(200);
    let policy = framed.field("content-security-policy").expect("a policy");
    assert!(policy.starts_with("sandbox; default-src 'none';") && !policy.contains("script"), "{policy}");
    assert!(framed.body.contains("needle"));
    get(other, &format!("/copy?url={url}")).expect(403);
    get(other, &address.replace("url=http", "url=https")).expect(403);
    get(other, "/").expect(404);
    ended(running);
}

#[test]
fn only_this_machine_and_this_origin_are_answered() {
    let scene = Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO));
    scene.crawl_every("1ms").run().expect(0);
    let (running, port) = served(&scene, &["--allow-control"]);
    // A name that a page elsewhere lets point to this machine.
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1.evil.example", "192.0.2.1"] {
        let got =
            send(port, &format!("GET /api/v1/status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"));
        assert_eq!(got.status, 421, "{host}: {got:?}");
    }
    send(port, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n").expect(400);
    let two = format!(
        "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    );
    send(port, &two).expect(400);
    let absolute =
        format!("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    send(port, &absolute).expect(400);
    // A page of another origin that posts, or reads.
    let origin = format!("Origin: http://127.0.0.1:{port}\r\n");
    for path in ["/control", "/api/v1/control", "/login"] {
        post(port, path, "Origin: http://evil.example\r\n", "action=stop").expect(403);
        post(port, path, "Origin: null\r\n", "action=stop").expect(403);
        post(port, path, "Sec-Fetch-Site: cross-site\r\n", "action=stop").expect(403);
        post(port, path, &format!("Origin: http://127.0.0.1:{}\r\n", port ^ 1), "action=stop").expect(403);
    }
    get_with(port, "/api/v1/status", "Origin: http://evil.example\r\n").expect(403);
    get_with(port, "/api/v1/status", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n").expect(403);
    // A link that somebody follows is answered; a form of this server needs its signature.
    get_with(port, "/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n").expect(200);
    post(port, "/control", &origin, "action=stop").expect(403);
    post(port, "/api/v1/control", &origin, "action=stop").expect(404);
    for method in ["PUT", "DELETE", "OPTIONS", "TRACE"] {
        let request = format!("{method} / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        assert!(matches!(send(port, &request).status, 400 | 405), "{method}");
    }
    ended(running);
    let (running, port) = served(&scene, &[]);
    post(port, "/api/v1/control", "", "action=stop").expect(403);
    get(port, "/control").expect(403);
    ended(running);
}

#[test]
fn a_token_keeps_others_out_and_another_address_needs_one() {
    let scene = Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO));
    scene.crawl_every("1ms").run().expect(0);
    let serve = |arguments: &[&str]| Crawl::new([Path::new("serve"), &scene.out()]).args(arguments).run();
    let refused = serve(&["--listen", "0.0.0.0:0"]);
    assert!(refused.expect(2).stderr.contains("--token-file"), "{refused}");
    let file = scene.path("token");
    let name = file.to_str().expect("a name");
    std::fs::write(&file, "0123456789abcdef0123\n").expect("a file");
    permit(&file, 0o644);
    let open = serve(&["--listen", "127.0.0.1:0", "--token-file", name]);
    assert!(open.expect(2).stderr.contains("chmod 600"), "{open}");
    permit(&file, 0o600);
    std::fs::write(&file, "short").expect("a file");
    assert!(serve(&["--token-file", name]).expect(2).stderr.contains("16 characters"));
    std::fs::write(&file, "0123456789abcdef0123\n").expect("a file");
    let (running, port) = served(&scene, &["--token-file", name]);
    for path in [
        "/",
        "/table/pages",
        "/copy?url=http%3A%2F%2Fa.test%2F",
        "/download/pages",
        "/url?url=http%3A%2F%2Fa.test%2F",
    ] {
        assert_eq!(get(port, path).expect(303).field("location"), Some("/login"), "{path}");
    }
    for path in ["/api/v1/status", "/api/v1/events", "/api/v1/tables/pages", "/metrics"] {
        get(port, path).expect(401);
        get_with(port, path, "Authorization: Bearer 0123456789abcdef0124\r\n").expect(401);
        get_with(port, path, "Cookie: crawl_session=0123456789abcdef0123\r\n").expect(401);
    }
    get_with(port, "/api/v1/status", "Authorization: Bearer 0123456789abcdef0123\r\n").expect(200);
    get(port, "/healthz").expect(200);
    let origin = format!("Origin: http://127.0.0.1:{port}\r\n");
    post(port, "/login", &origin, "token=wrong").expect(401);
    let signed_in = post(port, "/login", &origin, "token=0123456789abcdef0123").expect(303);
    let cookie = signed_in.field("set-cookie").expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().expect("a pair"));
    get_with(port, "/", &cookie).expect(200);
    ended(running);
}

fn permit(file: &Path, mode: u32) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(file, mode).expect("the file's owner");
}

#[test]
fn paths_lead_nowhere_and_long_requests_are_refused() {
    let scene = Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO));
    scene.crawl_every("1ms").run().expect(0);
    let (running, port) = served(&scene, &[]);
    for path in [
        "/../crawl.toml",
        "/assets/../../crawl.toml",
        "/assets/..%2f..%2fcrawl.toml",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets//etc/passwd",
        "/table/..%2fpages",
        "/download/..%2f..%2fcrawl.toml",
        "/assets/style.css%00.html",
        "/db",
        "/.crawl.sock",
        "/warc/",
    ] {
        let got = get(port, path);
        assert!(matches!(got.status, 400 | 404), "{path}: {got:?}");
        assert!(!got.body.contains("SuperRobot") && !got.body.contains("root:"), "{path}");
    }
    // A megabyte, and just more than what is answered.
    let long = get(port, &format!("/table/pages?where={}", "a".repeat(1024 * 1024)));
    assert!(matches!(long.status, 414 | 431), "{}", long.head);
    get(port, &format!("/table/pages?where={}", "a".repeat(8 * 1024))).expect(414);
    // Nested as deep as it fits: an error, in time.
    get(port, &format!("/table/pages?where={}", "(".repeat(8000))).expect(400);
    for path in ["/search?q=", "/api/v1/search?q="] {
        for part in ["(", "-(", "%2B(", "a:(", "NOT+", "(a+OR+"] {
            let deep = get(port, &format!("{path}{}", part.repeat(7_000 / part.len()))).expect(400);
            assert!(deep.body.contains("64 opening parentheses"), "{deep:?}");
        }
        // As many words as fit are looked for.
        get(port, &format!("{path}{}a", "a+OR+".repeat(1_600))).expect(200);
    }
    for path in ["/table/pages?", "/api/v1/tables/pages?", "/download/pages?"] {
        for (parameter, status) in [
            (format!("where={}", "not+".repeat(2_000)), 400),
            (format!("where=status{}", "+or+status=1".repeat(600)), 400),
            (format!("where=status=1{}", "+or+status=1".repeat(600)), 200),
            (format!("where=url+~+'{}'", "(".repeat(7_000)), 400),
            (format!("where=url+~+'x'{}", "+or+url+~+'x'".repeat(100)), 400),
            (format!("where=url+~+'{}'", "(a%7C".repeat(1_000)), 400),
            (format!("sort={}url", "url,".repeat(1_900)), 200),
            (format!("columns={}url", "url,".repeat(1_900)), 400),
        ] {
            get(port, &format!("{path}{parameter}")).expect(status);
        }
    }
    post(port, "/login", "", &format!("token={}", "a".repeat(1024 * 1024))).expect(413);
    assert_eq!(get(port, "/healthz").expect(200).body, "ok\n");
    ended(running);
}

#[test]
fn a_thousand_idle_listeners_keep_nobody_out() {
    let scene = Scene::new(Sites::new().tree("a.test", 1500, Duration::from_millis(5)));
    let port = free_port();
    let crawl = scene.crawl().args([format!("--serve=127.0.0.1:{port}")]).start();
    wait_for(&scene, 40);
    let request = format!("GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let mut idle = Vec::new();
    for _ in 0..1000 {
        let mut stream = connect(port);
        drop(stream.write_all(request.as_bytes()));
        idle.push(stream);
    }
    // Those that are served hear of the crawl; the others are refused at once.
    let mut first = [0; 4096];
    let length = idle[0].read(&mut first).expect("an answer");
    assert!(first[..length].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&first[..length]));
    let mut refused = 0;
    for stream in &mut idle[200..] {
        let mut answer = [0; 12];
        refused += usize::from(matches!(stream.read(&mut answer), Ok(12)) && &answer == b"HTTP/1.1 503");
    }
    assert!(refused > 700, "{refused}");
    // Everybody else is answered, and the crawl goes on.
    for path in ["/", "/table/pages", "/api/v1/status", "/healthz"] {
        get(port, path).expect(200);
    }
    let before = scene.server.count();
    pause(Duration::from_millis(500));
    assert!(scene.server.count() > before, "the crawl goes on");
    drop(idle);
    crawl.signal("TERM");
    crawl.wait(PATIENCE).expect(11);
    scene.assert_polite();
}

#[test]
fn a_running_crawl_is_followed_and_steered_and_its_end_is_reported() {
    let scene = Scene::new(Sites::new().tree("a.test", 1500, Duration::from_millis(5)));
    let crawl = scene.crawl().start();
    wait_for(&scene, 40);
    let (running, port) = served(&scene, &["--allow-control"]);
    let api: Value = get(port, "/api/v1/openapi.json").expect(200).json();
    let status = get(port, "/api/v1/status").expect(200).json();
    assert_eq!(status["state"], "running", "{status}");
    check(&api, "/api/v1/status", "get", "200", &status);
    let mut events = connect(port);
    let request =
        format!("GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    events.write_all(request.as_bytes()).expect("a request");
    let page = get(port, "/").expect(200).body;
    assert!(page.contains("data-events=\"/api/v1/events\""), "{page}");
    for path in [
        "/table/pages",
        "/table/links",
        "/host?host=a.test",
        "/url?url=http%3A%2F%2Fa.test%2F",
        "/graph",
        "/search?q=page",
    ] {
        get(port, path).expect(200);
    }
    // A form of the control page, with its signature.
    let form = get(port, "/control").expect(200).body;
    let signature = form.split("name=\"signature\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let signature = signature.expect("a signature");
    let origin = format!("Origin: http://127.0.0.1:{port}\r\n");
    let paused = post(port, "/control", &origin, &format!("signature={signature}&action=pause")).expect(200);
    assert!(paused.body.contains("All hosts are paused"), "{}", paused.body);
    let done = post(port, "/api/v1/control", "", "action=continue").expect(200).json();
    check(&api, "/api/v1/control", "post", "200", &done);
    let shorter = post(port, "/api/v1/control", "", "action=delay&delay=1ms").expect(400).json();
    check(&api, "/api/v1/control", "post", "400", &shorter);
    post(port, "/api/v1/control", "", "action=stop").expect(200);
    crawl.wait(PATIENCE).expect(11);
    let mut heard = String::new();
    events.read_to_string(&mut heard).expect("the stream ends");
    assert!(heard.contains("event: status\ndata: {"), "{heard}");
    assert!(heard.contains("\"state\":\"running\"") && heard.contains("\"state\":\"ended\""), "{heard}");
    let status = get(port, "/api/v1/status").expect(200).json();
    assert_eq!(status["state"], "stopped", "{status}");
    check(&api, "/api/v1/status", "get", "200", &status);
    ended(running);
    scene.assert_polite();
    let ledger = scene.table("ledger");
    assert!(ledger.iter().any(|entry| entry["decision"] == "operator_paused"), "the pause is on record");
}

#[test]
fn an_address_in_use_is_said_before_anything_is_written() {
    let scene = Scene::new(Sites::new().tree("a.test", 3, Duration::ZERO));
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address: SocketAddr = taken.local_addr().expect("an address");
    let crawl = scene.crawl().args([format!("--serve={address}")]).run();
    assert!(crawl.expect(2).stderr.contains("can't listen"), "{crawl}");
    assert!(!scene.out().exists() && scene.server.count() == 0);
}
