//! The crawls that are judged: generated webs, crawled whole, stopped, killed, with narrower and wider settings, again, and with pages removed; and small
//! webs for what these don't lead to.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crawler::commit::CommitError;
use crawler::config::{ScopeMode, Settings};
use crawler::crawl_dir::CrawlDir;
use crawler::engine::{End, Stop};
use crawler::fetch::ErrorKind;
use crawler::job;
use crawler::live::Copies;
use crawler::record::Forget;
use crawler::serve::{Bound, ServeOptions, Served};
use crawler::store::{CrashStore, MemoryStore, SledStore, Store as _, StoreError, Tree, Write};
use crawler::view::View;
use crawler::wishes::WishSettings;
use jiff::Timestamp;
use meta::consent::Purpose;
use page::url::CrawlUrl;
use serde_json::Value;
use tempfile::TempDir;
use whole_program::rules::Rules;
use whole_program::simweb::{
    Content, Failure, Kind, Later, Link, LinkKind, Page, Resource, Robots, RobotsForm, SimWeb, Site, Size,
    Web, generate, truth,
};

use super::{Heard, copy, copy_to};
use crate::crawl::{Crawl, LIMITS, key_of, settings};
use crate::politeness::seeds;

/// A crawl with its archive.
pub(crate) struct Scene {
    pub(crate) crawl: Crawl<MemoryStore>,
    pub(crate) archive: TempDir,
}

impl Scene {
    pub(crate) fn new(web: &Web, settings: Settings) -> Self {
        let crawl = Crawl::with(settings, &SimWeb::new(web.clone()), Arc::new(MemoryStore::default()));
        Self { crawl, archive: tempfile::tempdir().expect("a directory") }
    }

    pub(crate) async fn run(&self) {
        let archive = self.crawl.base.warc.enabled.then(|| self.archive.path());
        let summary = self.crawl.run(archive).await.expect("the crawl ends");
        if summary.end == End::Complete {
            job::close_revisit(&*self.crawl.store).expect("the store works");
        }
    }

    /// A copy, on line with this web.
    pub(crate) fn copied(&self, web: &Web) -> Self {
        let store = copy(&self.crawl.store);
        let clock = *self.crawl.clock.lock().expect("nobody panicked");
        let clock = Arc::new(Mutex::new(clock));
        let crawl = Crawl { sim: SimWeb::new(web.clone()), clock, ..self.crawl.on(store) };
        let archive = tempfile::tempdir().expect("a directory");
        for file in std::fs::read_dir(self.archive.path()).expect("a directory") {
            let file = file.expect("a file");
            std::fs::copy(file.path(), archive.path().join(file.file_name())).expect("it can be copied");
        }
        Self { crawl, archive }
    }

    /// Queues all pages again.
    pub(crate) fn revisit(&mut self) {
        let now: Timestamp = self.crawl.clock.lock().expect("nobody panicked").now().wall;
        let all = job::Revisit { older_than: Some(Duration::ZERO), changed_only: false };
        job::begin_revisit(&self.crawl.store, key_of(&self.crawl.sim), Some(all), now)
            .expect("the store works");
        self.crawl.revisits = true;
    }
}

/// The crawls of generated webs.
pub(crate) async fn generated(heard: &mut Heard, webs: usize) {
    for seed in seeds().take(webs) {
        let web = generate(seed, Size { hosts: 5, resources: 24, ..Size::default() });
        whole(heard, seed, &web).await;
        stopped(heard, seed, &web).await;
        interrupted(heard, seed, &web).await;
        killed(heard, seed, &web).await;
        narrowed(heard, seed, &web).await;
        outage(heard, seed).await;
        heard.follow_up().await;
    }
}

/// Crawled to its end, then every page again, of which some have changed.
async fn whole(heard: &mut Heard, seed: u64, web: &Web) {
    let mut scene = Scene::new(web, settings());
    scene.run().await;
    heard.judge(&format!("seed {seed}, whole"), &scene, true, Some(&truth(web, LIMITS)));
    let later = generate(seed + 1_000_000, Size { hosts: 5, resources: 24, ..Size::default() });
    let mut changed = web.clone();
    for (host, site) in &mut changed.sites {
        for (path, resource) in &mut site.resources {
            if let Some(other) = later.sites.get(host).and_then(|site| site.resources.get(path)) {
                *resource = other.clone();
            }
        }
    }
    scene.crawl.sim = SimWeb::new(changed);
    scene.revisit();
    scene.run().await;
    heard.judge(&format!("seed {seed}, again"), &scene, false, None);
}

/// Ended by a limit, then continued.
async fn stopped(heard: &mut Heard, seed: u64, web: &Web) {
    let mut limited = settings();
    limited.limits.max_pages = Some(8 + seed % 20);
    let mut scene = Scene::new(web, limited);
    scene.run().await;
    heard.judge(&format!("seed {seed}, stopped"), &scene, true, None);
    scene.crawl.base = settings();
    scene.run().await;
    heard.judge(&format!("seed {seed}, continued"), &scene, true, Some(&truth(web, LIMITS)));
}

/// Stopped by its user.
async fn interrupted(heard: &mut Heard, seed: u64, web: &Web) {
    let scene = Scene::new(web, settings());
    let stop = async {
        let never = std::future::pending::<()>();
        drop(tokio::time::timeout(Duration::from_secs(5 + seed % 5), never).await);
        scene.crawl.stop.send_replace(Stop::Drain);
    };
    tokio::join!(scene.run(), stop);
    heard.judge(&format!("seed {seed}, interrupted"), &scene, true, None);
}

/// Killed at several commits, then continued.
async fn killed(heard: &mut Heard, seed: u64, web: &Web) {
    let scene = Scene::new(web, settings());
    for death in 0..2 {
        let step = 9 + 4 * death + seed % 5;
        let dying =
            scene.crawl.on(Arc::new(CrashStore::new(Arc::clone(&scene.crawl.store), step, death % 2 == 0)));
        match dying.run(Some(scene.archive.path())).await {
            Ok(_) => break,
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
        heard.judge(&format!("seed {seed}, death {death}"), &scene, true, None);
    }
    scene.run().await;
    heard.judge(&format!("seed {seed}, after its deaths"), &scene, true, Some(&truth(web, LIMITS)));
}

/// With narrow settings, then wider ones, then narrower ones again.
async fn narrowed(heard: &mut Heard, seed: u64, web: &Web) {
    let mut narrow = settings();
    narrow.limits.max_depth = Some(1 + (seed % 2) as u32);
    narrow.scope.exclude = vec!["/p1".to_owned(), "/q".to_owned()];
    narrow.limits.max_redirects = 3;
    narrow.limits.max_pages_per_host = (seed % 2 == 1).then_some(6);
    narrow.warc.enabled = seed.is_multiple_of(2);
    let mut scene = Scene::new(web, narrow.clone());
    scene.run().await;
    heard.judge(&format!("seed {seed}, narrow"), &scene, true, None);
    let mut wider = narrow.clone();
    wider.limits.max_depth = Some(4);
    wider.limits.max_redirects = 10;
    wider.limits.max_pages_per_host = None;
    wider.scope.exclude = vec!["/q".to_owned()];
    wider.scope.resources = true;
    scene.crawl.base = wider;
    scene.run().await;
    heard.judge(&format!("seed {seed}, wider"), &scene, true, None);
    scene.crawl.base = narrow;
    scene.revisit();
    scene.run().await;
    heard.judge(&format!("seed {seed}, narrow again"), &scene, true, None);
}

/// Sites whose robots.txt is out of reach, looked at while the crawl waits for them.
async fn outage(heard: &mut Heard, seed: u64) {
    let web = generate(seed, Size { hosts: 8, resources: 10, lasting_outages: true, ..Size::default() });
    let mut limited = settings();
    limited.limits.max_time = Some(Duration::from_secs(20));
    let mut scene = Scene::new(&web, limited);
    scene.run().await;
    heard.judge(&format!("seed {seed}, outage"), &scene, true, None);
    scene.crawl.base = settings();
    scene.run().await;
    heard.judge(&format!("seed {seed}, after the outage"), &scene, true, Some(&truth(&web, LIMITS)));
}

/// Small webs for what the generated ones don't lead to.
pub(crate) async fn made(heard: &mut Heard) {
    small(heard, "paths", vec![seed("/in/", &["/out/x"]), page_at("/out/x", &[])], "/in/", |settings| {
        settings.scope.mode = ScopeMode::Prefix;
    })
    .await;
    small(heard, "patterns", vec![seed("/", &["/x"]), page_at("/x", &[])], "/", |settings| {
        settings.scope.include = vec!["nothing-else".to_owned(), ".test/$".to_owned()];
    })
    .await;
    let long = format!("/{}", "long-".repeat(30));
    small(heard, "long", vec![seed("/", &[&long]), page_at(&long, &[])], "/", |settings| {
        settings.limits.max_url_length = 64;
    })
    .await;
    small(
        heard,
        "deep",
        vec![seed("/", &["/1"]), page_at("/1", &["/2"]), page_at("/2", &[])],
        "/",
        |settings| {
            settings.traps.depth = Some(1);
        },
    )
    .await;
    small(heard, "links", vec![seed("/", &["/1", "/2", "/3"]), page_at("/3", &[])], "/", |settings| {
        settings.limits.max_links_per_page = 2;
    })
    .await;
    silent(heard).await;
    picture(heard).await;
    failures(heard).await;
    moved(heard).await;
    slow(heard).await;
    purposes(heard).await;
    robots_changed(heard).await;
    unread(heard).await;
    same_body(heard).await;
    removed(heard).await;
    walled(heard).await;
    wished(heard).await;
    heard.follow_up().await;
}

const HOST: &str = "a.test";

type At = (String, Resource);

fn link(to: &str) -> Link {
    let to = if to.starts_with('/') { format!("http://{HOST}{to}") } else { to.to_owned() };
    Link { kind: LinkKind::Anchor, href: to.clone(), to, nofollow: false }
}

fn page_at(path: &str, links: &[&str]) -> At {
    let links = links.iter().map(|to| link(to)).collect();
    let page = Page { marker: format!("zx {path}"), links, directives: Vec::new(), base: None, padding: 0 };
    (path.to_owned(), Resource { failures: Vec::new(), kind: Kind::Page(page) })
}

fn seed(path: &str, links: &[&str]) -> At {
    page_at(path, links)
}

fn site(resources: Vec<At>) -> Site {
    let rules = Rules::default();
    let robots = Robots { rules, form: RobotsForm::Star, failures: vec![], later: vec![], max_age: None };
    Site { robots, latency: Duration::from_millis(20), resources: resources.into_iter().collect() }
}

fn web_of(resources: Vec<At>, seed: &str) -> Web {
    let sites = BTreeMap::from([(HOST.to_owned(), site(resources))]);
    Web { seed: 1, sites, seeds: vec![format!("http://{HOST}{seed}")] }
}

/// A crawl of one site with other settings.
async fn small(heard: &mut Heard, what: &str, resources: Vec<At>, seed: &str, change: fn(&mut Settings)) {
    let mut changed = settings();
    change(&mut changed);
    let scene = Scene::new(&web_of(resources, seed), changed);
    scene.run().await;
    heard.judge(what, &scene, true, None);
}

/// A site whose robots.txt has no response when the crawl is stopped.
async fn silent(heard: &mut Heard) {
    let mut web = web_of(vec![seed("/", &[])], "/");
    for site in web.sites.values_mut() {
        site.robots.failures = vec![Failure::Refused; 2];
    }
    let mut timed = settings();
    timed.limits.max_time = Some(Duration::from_secs(10));
    let scene = Scene::new(&web, timed);
    scene.run().await;
    heard.judge("silent", &scene, true, None);
}

/// A picture of a page that doesn't want its pictures indexed.
async fn picture(heard: &mut Heard) {
    let body = "<html><meta name=robots content=noimageindex><img src=/i.png></html>".to_owned();
    let kind = Kind::Other(Content { content_type: "text/html", body });
    let page = ("/page".to_owned(), Resource { failures: Vec::new(), kind });
    let picture = Kind::Other(Content { content_type: "image/png", body: "PNG".to_owned() });
    let picture = ("/i.png".to_owned(), Resource { failures: Vec::new(), kind: picture });
    let mut all = settings();
    all.scope.resources = true;
    let scene = Scene::new(&web_of(vec![seed("/", &["/page"]), page, picture], "/"), all);
    scene.run().await;
    heard.judge("picture", &scene, true, None);
}

/// Walls in place of pages: some that change nothing for the host, and then four in a row.
async fn walled(heard: &mut Heard) {
    let challenge = "<title>Just a moment...</title><script>window._cf_chl_opt={};</script>";
    let shell = "<title>Shop</title><div id=app></div><script src=/m.js></script>";
    let likely = "<title>Checking your browser</title><p>Please wait.</p>";
    let sent = |path: &str, body: &str| {
        let kind = Kind::Other(Content { content_type: "text/html", body: body.to_owned() });
        (path.to_owned(), Resource { failures: Vec::new(), kind })
    };
    let in_a_row = ["/wall/2", "/wall/3", "/wall/4", "/wall/5", "/wall/6", "/wall/7"];
    let first = ["/wall/1", "/page/1", "/wall/shell", "/likely/1", "/page/2"];
    let mut resources = vec![seed("/", &[&first[..], &in_a_row].concat())];
    resources.extend([page_at("/page/1", &[]), page_at("/page/2", &[])]);
    resources.extend([sent("/wall/1", challenge), sent("/wall/shell", shell), sent("/likely/1", likely)]);
    resources.extend(in_a_row.map(|path| sent(path, challenge)));
    let mut patient = settings();
    patient.pace.max_wait = Duration::from_hours(2);
    let mut scene = Scene::new(&web_of(resources, "/"), patient);
    scene.run().await;
    heard.judge("walled", &scene, true, None);
    // Nothing but a wall is missing.
    let resources = vec![seed("/", &["/wall/1"]), sent("/wall/1", challenge)];
    let one = Scene::new(&web_of(resources, "/"), settings());
    one.run().await;
    heard.judge("one wall", &one, true, None);
    // The next run tries one first.
    scene.crawl.base = settings();
    scene.run().await;
    heard.judge("walled, tried again", &scene, true, None);
}

/// Hosts that wait for the hours and the next day of what their owners asked for.
async fn wished(heard: &mut Heard) {
    let mut web = web_of(vec![seed("/", &[])], "/");
    let other = |path: &str| format!("http://b.test{path}");
    web.sites.insert("b.test".to_owned(), site(vec![page_at("/", &[&other("/x")]), page_at("/x", &[])]));
    web.seeds.push(other("/"));
    let mut asked = settings();
    asked.limits.max_time = Some(Duration::from_secs(20));
    let wish = |host: &str| WishSettings { hosts: vec![host.to_owned()], ..WishSettings::default() };
    asked.pace.wishes = vec![
        WishSettings {
            hours: Some("01:00-02:00".to_owned()),
            reason: "mail of 3 November".to_owned(),
            ..wish(HOST)
        },
        // Midnight is at one o'clock there.
        WishSettings {
            requests_per_day: Some(2),
            zone: Some("Atlantic/Azores".to_owned()),
            ..wish("b.test")
        },
    ];
    let scene = Scene::new(&web, asked);
    scene.run().await;
    heard.judge("wished", &scene, true, None);
}

/// Faults of the client, and a page that doesn't arrive whole.
async fn failures(heard: &mut Heard) {
    let faults = [
        (
            "/closed",
            Failure::Fault(
                ErrorKind::BlockedAddress,
                "127.0.0.1 is a loopback address, which isn't allowed (--allow-net 127.0.0.1/32 allows it)",
            ),
        ),
        (
            "/moved",
            Failure::Fault(
                ErrorKind::BlockedAddress,
                "the name now has another address: not allowed (--resolve allows it)",
            ),
        ),
        ("/crashed", Failure::Fault(ErrorKind::Crashed, "reading it ended a process")),
        ("/picture", Failure::Fault(ErrorKind::UnwantedType, "image/png")),
        ("/cut", Failure::Cut),
        ("/silent", Failure::Timeout),
    ];
    let paths: Vec<&str> = faults.iter().map(|(path, _)| *path).collect();
    let mut resources = vec![seed("/", &paths)];
    resources.extend(faults.map(|(path, failure)| {
        (path.to_owned(), Resource { failures: Vec::new(), kind: Kind::Broken(failure) })
    }));
    let scene = Scene::new(&web_of(resources, "/"), settings());
    scene.run().await;
    heard.judge("failures", &scene, true, None);
}

/// A seed that redirects to another site.
async fn moved(heard: &mut Heard) {
    let to = "http://b.test/".to_owned();
    let front = ("/".to_owned(), Resource { failures: Vec::new(), kind: Kind::Redirect(301, to) });
    let mut web = web_of(vec![front], "/");
    web.sites.insert("b.test".to_owned(), site(vec![page_at("/", &["http://b.test/x"]), page_at("/x", &[])]));
    let scene = Scene::new(&web, settings());
    scene.run().await;
    heard.judge("moved seed", &scene, true, None);
}

/// A site that wants more time than the crawl has for it.
async fn slow(heard: &mut Heard) {
    let mut web = web_of(vec![seed("/", &["/x"]), page_at("/x", &[])], "/");
    for site in web.sites.values_mut() {
        site.robots.rules = Rules::default().delay(Duration::from_secs(100));
    }
    let mut hasty = settings();
    hasty.pace.max_crawl_delay = Duration::from_secs(10);
    let scene = Scene::new(&web, hasty);
    scene.run().await;
    heard.judge("slow", &scene, true, None);
}

/// Purposes that a site denies.
async fn purposes(heard: &mut Heard) {
    for (purpose, signal) in [
        (Purpose::AiTrain, "ai-train=no, search=yes"),
        (Purpose::Archive, "search=no"),
        (Purpose::AiTrain, "use=full"),
    ] {
        let mut web = web_of(vec![seed("/", &["/x"]), page_at("/x", &[])], "/");
        for site in web.sites.values_mut() {
            site.robots.rules.signal = Some(signal);
        }
        let mut scene = Scene::new(&web, settings());
        scene.crawl.purposes = vec![purpose];
        scene.crawl.silence = if purpose == Purpose::Archive { vec![purpose] } else { vec![Purpose::Search] };
        scene.run().await;
        heard.judge(signal, &scene, false, None);
    }
}

/// Another robots.txt in the middle of the crawl: what it denied is allowed, and what waits is denied.
async fn robots_changed(heard: &mut Heard) {
    let paths: Vec<String> = ["/closed/1".to_owned(), "/last/1".to_owned()]
        .into_iter()
        .chain((0..620).map(|n| format!("/open/{n}")))
        .chain((0..200).map(|n| format!("/shut/{n}")))
        .collect();
    let links: Vec<&str> = paths.iter().map(String::as_str).collect();
    let mut resources = vec![seed("/", &links)];
    resources.extend(paths.iter().map(|path| page_at(path, &[])));
    let mut web = web_of(resources, "/");
    for site in web.sites.values_mut() {
        site.robots.rules = Rules::default().deny("/closed/");
        site.robots.later = vec![Later::Rules(Rules::default().deny("/shut/"))];
        site.robots.max_age = Some(1);
    }
    let mut timed = settings();
    timed.limits.max_time = Some(Duration::from_secs(625));
    let scene = Scene::new(&web, timed);
    scene.run().await;
    heard.judge("another robots.txt", &scene, true, None);
}

/// A PDF file whose text couldn't be read for the index.
async fn unread(heard: &mut Heard) {
    let file = Kind::Other(Content { content_type: "application/pdf", body: "%PDF-1.4".to_owned() });
    let file = ("/x.pdf".to_owned(), Resource { failures: Vec::new(), kind: file });
    let scene = Scene::new(&web_of(vec![seed("/", &["/x.pdf"]), file], "/"), settings());
    scene.run().await;
    let key = format!("index-unread/http://{HOST}/x.pdf");
    let unread = Write::put(Tree::Meta, key, "damaged");
    scene.crawl.store.commit(vec![unread]).expect("the store works");
    heard.judge("unread", &scene, true, None);
}

/// Two pages of one body, of which one names the other as the original.
async fn same_body(heard: &mut Heard) {
    let body = format!("<html><link rel=canonical href=http://{HOST}/one><p>The same text.</p></html>");
    let copy = |path: &str| {
        let kind = Kind::Other(Content { content_type: "text/html", body: body.clone() });
        (path.to_owned(), Resource { failures: Vec::new(), kind })
    };
    let scene =
        Scene::new(&web_of(vec![seed("/", &["/one", "/two"]), copy("/one"), copy("/two")], "/"), settings());
    scene.run().await;
    heard.judge("one body", &scene, true, None);
}

/// Pages that were removed, then a crawl that goes on.
async fn removed(heard: &mut Heard) {
    let web = web_of(
        vec![seed("/", &["/x", "/y"]), page_at("/x", &["/z"]), page_at("/y", &[]), page_at("/z", &[])],
        "/",
    );
    let mut bare = settings();
    bare.warc.enabled = false;
    let mut scene = Scene::new(&web, bare);
    scene.run().await;
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join("crawl");
    let dir = CrawlDir::create(&root).expect("a directory");
    let text =
        scene.crawl.store.get(Tree::Meta, b"settings").expect("the store works").expect("the settings");
    dir.write_settings(&String::from_utf8(text).expect("text")).expect("the settings can be written");
    {
        let store = SledStore::create(&dir.unfinished_db()).expect("a database");
        copy_to(&*scene.crawl.store, &store);
    }
    dir.finish_db().expect("the database gets its name");
    drop(dir);
    served(heard, &root);
    let now = scene.crawl.clock.lock().expect("nobody panicked").now().wall;
    let pattern = Forget::Regex("^http://a[.]test/(x|new)$".to_owned());
    job::forget(&root, pattern, "asked for", now).expect("they can be removed");
    let store = MemoryStore::default();
    copy_to(&SledStore::open(&CrawlDir::unlocked(&root).db()).expect("a database"), &store);
    scene.crawl = Crawl { sim: scene.crawl.sim.clone(), ..scene.crawl.on(Arc::new(store)) };
    heard.judge("removed", &scene, false, None);
    let mut changed = web.clone();
    if let Some(Kind::Page(page)) = changed
        .sites
        .get_mut(HOST)
        .and_then(|site| site.resources.get_mut("/"))
        .map(|resource| &mut resource.kind)
    {
        page.links.push(link("/new"));
    }
    scene.crawl.sim = SimWeb::new(changed);
    scene.revisit();
    scene.run().await;
    heard.judge("removed, again", &scene, false, None);
}

/// What the web server answers is what `show` and `explain` say.
fn served(heard: &mut Heard, root: &Path) {
    let options = ServeOptions {
        served: Served::Dir(root.to_owned()),
        copies: Copies::default(),
        listen: (Ipv4Addr::LOCALHOST, 0).into(),
        names: Vec::new(),
        token: None,
        allow_control: false,
    };
    let summary = {
        let view = View::open(root).expect("the crawl can be read");
        let url = CrawlUrl::parse("http://a.test/x").expect("a URL");
        let story = view.explain(&url).expect("it can be explained");
        [
            ("/api/v1/summary", serde_json::to_value(view.summary().expect("it can be counted"))),
            ("/api/v1/url?url=http%3A%2F%2Fa.test%2Fx", serde_json::to_value(story)),
        ]
    };
    let server = Bound::new(options).and_then(Bound::start).expect("a server");
    for (path, expected) in summary {
        let expected = expected.expect("it is JSON");
        let mut stream = TcpStream::connect(server.address()).expect("a connection");
        let host = server.address();
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n")
            .expect("it can be asked");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        let said: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
        heard.served(path, &said, &expected);
    }
}
