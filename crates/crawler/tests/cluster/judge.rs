//! Some sites on loopback that know how they want to be asked: one request at a time, and a gap after each.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use page::clock::wall;

use crate::server::wait;

/// Sites, and pages of each beside the front page.
const SITES: usize = 10;
const PAGES: usize = 12;

/// The least time between the end of an answer and the next request.
pub(crate) const GAP: Duration = Duration::from_millis(300);

/// How long an answer takes.
const ANSWER: Duration = Duration::from_millis(30);

/// What the sites saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// How often each page was asked for.
    pub(crate) pages: BTreeMap<String, u32>,
    /// How often each host was asked, for whatever.
    pub(crate) requests: BTreeMap<String, u64>,
    /// Requests while another one was under way.
    pub(crate) overlaps: Vec<String>,
    /// Requests before the gap was over, with the time since the last answer.
    pub(crate) short: Vec<(String, Duration)>,
    /// The time between two requests to a host, each with the host.
    pub(crate) rested: Vec<(String, Duration)>,
    /// Requests within a pause that the site had asked for, with the rest of it.
    pub(crate) paused: Vec<(String, Duration)>,
    /// When each request came, those for robots.txt too.
    pub(crate) times: Vec<Instant>,
    /// Bytes of the bodies that were sent.
    pub(crate) bytes: usize,
    /// How often the robots.txt of each site was asked for that is on another one.
    pub(crate) moved: BTreeMap<String, u32>,
    /// Requests to any site while another one was under way, and those before the gap after it was over: all sites have one address.
    pub(crate) address_overlaps: Vec<String>,
    pub(crate) address_short: Vec<(String, Duration)>,
    /// When the pages of [`EXPIRING`] expire, where that is counted from the first request.
    expires: Option<String>,
    address: (u32, Option<Instant>),
    hosts: HashMap<String, (u32, Option<Instant>)>,
    /// Until when sites want no request, and how many pages they were asked for before.
    rests: HashMap<String, (Option<Instant>, u32)>,
}

/// What the sites say beside their pages.
#[derive(Debug, Clone, Default)]
struct Words {
    /// Retry-After of the third answer of each site to a request for a page.
    pause: Option<Duration>,
    /// `unavailable_after` of the pages of [`EXPIRING`].
    expires: Option<String>,
    /// The same, so long after the first request to that site.
    expires_in: Option<Duration>,
    /// Bytes that each page of every other site has besides, of which compression leaves half.
    filler: usize,
    /// The robots.txt files of half of the sites are on other sites.
    is_moved: bool,
    /// The pages of one site, by its number, are others each time.
    changing: Option<usize>,
    /// The gap that the sites want, where it isn't [`GAP`].
    gap: Option<Duration>,
    /// How long an answer takes for a robots.txt, and for a page, where that isn't [`ANSWER`].
    answers: Option<(Duration, Duration)>,
    /// Each page names another one of its site, [`COPY`] and its number, and all of these have the same body.
    has_copies: bool,
}

/// What the paths of pages with the same body begin with.
pub(crate) const COPY: &str = "/copy";

/// What the rules of sites deny whose robots.txt is on another site.
pub(crate) const DENIED: &str = "/p3";

/// The site that has the robots.txt of this one, where robots.txt files are moved.
fn moved_to(site: usize) -> Option<usize> {
    (site % 2 == 1).then_some((site + 1) % SITES)
}

/// The number of a site.
fn site_of(host: &str) -> usize {
    host.trim_start_matches('s').split('.').next().and_then(|site| site.parse().ok()).unwrap_or_default()
}

/// The site whose pages expire, where any do.
pub(crate) const EXPIRING: &str = "s3.test";

/// The sites.
pub(crate) struct Judge {
    port: u16,
    seen: Arc<Mutex<Seen>>,
}

/// The paths that a page names on its own host, and the URLs on others.
fn links(site: usize, page: usize) -> Vec<(usize, String)> {
    let own = [page * 2 + 1, page * 2 + 2].into_iter().filter(|next| *next < PAGES);
    let mut links: Vec<_> = own.map(|next| (site, format!("/p{next}"))).collect();
    links.push(((site + page + 1) % SITES, format!("/p{page}")));
    links.push(((site * 7 + page) % SITES, "/".to_owned()));
    links
}

fn page(path: &str) -> Option<usize> {
    if path == "/" {
        return Some(0);
    }
    path.strip_prefix("/p")?.parse().ok().filter(|page| *page < PAGES)
}

impl Judge {
    pub(crate) fn start() -> Self {
        Self::start_with(&Words::default())
    }

    /// Sites of which one wants its pages in no archive from this time on (RFC 3339).
    pub(crate) fn expiring_at(time: &str) -> Self {
        Self::start_with(&Words { expires: Some(time.to_owned()), ..Words::default() })
    }

    /// Sites each of which adds this Retry-After to its answer to the third request for a page.
    pub(crate) fn asking_for(pause: Duration) -> Self {
        Self::start_with(&Words { pause: Some(pause), ..Words::default() })
    }

    /// Sites of which every other one has large pages.
    #[cfg(feature = "object-storage")]
    pub(crate) fn with_large_pages(filler: usize) -> Self {
        Self::start_with(&Words { filler, ..Words::default() })
    }

    fn start_with(words: &Words) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (judging, words) = (Arc::clone(&seen), words.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (seen, words) = (Arc::clone(&judging), words.clone());
                // Ends with its connection.
                drop(std::thread::spawn(move || serve(&client, &seen, &words)));
            }
        });
        Self { port, seen }
    }

    /// The option by which a crawler finds them all.
    pub(crate) fn resolve(&self) -> String {
        format!("*:127.0.0.1:{}", self.port)
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// The number of requests for pages so far.
    pub(crate) fn count(&self) -> u32 {
        self.seen().pages.values().sum()
    }

    /// Sites half of which have their robots.txt on another one; its rules deny [`DENIED`].
    pub(crate) fn moved() -> Self {
        Self::start_with(&Words { is_moved: true, ..Words::default() })
    }

    /// Sites that want this gap.
    pub(crate) fn with_gap(gap: Duration) -> Self {
        Self::start_with(&Words { gap: Some(gap), ..Words::default() })
    }

    /// Sites that take so long to answer for a robots.txt, and for a page.
    pub(crate) fn slow(robots: Duration, page: Duration) -> Self {
        Self::start_with(&Words { answers: Some((robots, page)), ..Words::default() })
    }

    /// Sites of which one, by its number, has other pages each time.
    pub(crate) fn changing(site: usize) -> Self {
        Self::start_with(&Words { changing: Some(site), ..Words::default() })
    }

    /// Sites that have a page with the same body beside each page, under other names. One of them may want its pages in no archive from so
    /// long after its first request on.
    pub(crate) fn with_copies(expires_in: Option<Duration>) -> Self {
        Self::start_with(&Words { has_copies: true, expires_in, ..Words::default() })
    }

    /// The pages with the same body.
    pub(crate) fn copies() -> BTreeSet<String> {
        let of_page = |url: &String| {
            let (host, path) = url.split_once('/').unwrap();
            format!("{host}{COPY}{}", page(&format!("/{path}")).unwrap())
        };
        Self::truth().iter().map(of_page).collect()
    }

    /// What a crawl from [`SEED`] has to find.
    pub(crate) fn truth() -> BTreeSet<String> {
        Self::truth_of(|_, _| true)
    }

    /// The same of [`Judge::moved`].
    pub(crate) fn truth_of_moved() -> BTreeSet<String> {
        Self::truth_of(|site, path| moved_to(site).is_none() || path != DENIED)
    }

    /// The same where pages of one site, by its number, were asked for before it was forgotten, and none afterwards.
    pub(crate) fn truth_without(forgotten: usize, asked: &BTreeSet<String>) -> BTreeSet<String> {
        Self::truth_of(|site, path| site != forgotten || asked.contains(&format!("s{site}.test{path}")))
    }

    fn truth_of(may_ask: impl Fn(usize, &str) -> bool) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut next = vec![(0, "/".to_owned())];
        while let Some((site, path)) = next.pop() {
            if may_ask(site, &path) && found.insert(format!("s{site}.test{path}")) {
                next.extend(links(site, page(&path).unwrap()));
            }
        }
        found
    }
}

/// Digits that are others for each page.
fn digits(page: &str, length: usize) -> String {
    let hash = |part: usize| blake3::hash(format!("{page} {part}").as_bytes()).to_hex().to_string();
    (0..length / 64).map(hash).collect()
}

/// The one seed.
pub(crate) const SEED: &str = "http://s0.test/";

#[expect(clippy::disallowed_methods, reason = "a site's own clock")]
fn serve(client: &TcpStream, seen: &Mutex<Seen>, words: &Words) {
    let (pause, gap) = (words.pause, words.gap.unwrap_or(GAP));
    let mut received = BufReader::new(client).lines().map_while(Result::ok);
    while let Some(first) = received.next() {
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let head: Vec<String> = received.by_ref().take_while(|line| !line.is_empty()).collect();
        let host =
            head.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix("host:").map(str::to_owned));
        let Some(host) = host.map(|host| host.trim().to_owned()) else { return };
        let url = format!("{host}{path}");
        let mut asks_for_pause = false;
        let mut expires = words.expires.clone().filter(|_| host == EXPIRING);
        let mut visit = String::new();
        {
            let mut seen = seen.lock().unwrap();
            seen.times.push(Instant::now());
            *seen.requests.entry(host.clone()).or_default() += 1;
            let (busy, last) = seen.address;
            if busy > 0 {
                seen.address_overlaps.push(url.clone());
            }
            if let Some(rested) = last.map(|last| last.elapsed())
                && rested + Duration::from_millis(3) < gap
            {
                seen.address_short.push((url.clone(), rested));
            }
            seen.address.0 += 1;
            let (busy, last) = *seen.hosts.entry(host.clone()).or_default();
            if busy > 0 {
                seen.overlaps.push(url.clone());
            }
            if let Some(rested) = last.map(|last| last.elapsed()) {
                seen.rested.push((host.clone(), rested));
                if rested + Duration::from_millis(3) < gap {
                    seen.short.push((url.clone(), rested));
                }
            }
            seen.hosts.insert(host.clone(), (busy + 1, last));
            if let Some(after) = words.expires_in.filter(|_| host == EXPIRING) {
                let at = seen.expires.get_or_insert_with(|| format!("{:.0}", wall() + after));
                expires = Some(at.clone());
            }
            let rest = seen.rests.entry(host.clone()).or_default();
            let remaining = rest.0.map(|until| until.saturating_duration_since(Instant::now()));
            rest.1 += u32::from(path != "/robots.txt");
            asks_for_pause |= pause.is_some() && rest.1 == 3 && path != "/robots.txt";
            if let Some(remaining) = remaining.filter(|remaining| !remaining.is_zero()) {
                seen.paused.push((url.clone(), remaining));
            }
            if path.starts_with("/robots-of-") {
                *seen.moved.entry(url).or_default() += 1;
            } else if path != "/robots.txt" {
                let count = seen.pages.entry(url).or_default();
                *count += 1;
                if words.changing == Some(site_of(&host)) {
                    visit = format!("<p>visit {count}");
                }
            }
        }
        let (robots, page_answer) = words.answers.unwrap_or((ANSWER, ANSWER));
        wait(if path == "/robots.txt" { robots } else { page_answer });
        let elsewhere = moved_to(site_of(&host)).filter(|_| words.is_moved && path == "/robots.txt");
        let location = elsewhere.map(|to| format!("location: http://s{to}.test/robots-of-{host}\r\n"));
        let location = location.unwrap_or_default();
        let (status, kind, body) = match (path.as_str(), page(&path)) {
            _ if elsewhere.is_some() => ("301 Moved Permanently", "text/plain", String::new()),
            (path, _) if path.starts_with("/robots-of-") => {
                ("200 OK", "text/plain", format!("User-agent: *\nDisallow: {DENIED}\n"))
            }
            ("/robots.txt", _) => ("200 OK", "text/plain", "User-agent: *\nDisallow: /private/\n".to_owned()),
            (_, Some(number)) => {
                let links = links(site_of(&host), number);
                let links =
                    links.iter().map(|(site, path)| format!("<a href=\"http://s{site}.test{path}\">x</a>"));
                let filler = if site_of(&host).is_multiple_of(2) { words.filler } else { 0 };
                let filler = digits(&format!("{host}{path}"), filler);
                let copy = format!("<a href=\"{COPY}{number}\">x</a>");
                let links = links.chain(words.has_copies.then_some(copy)).collect::<String>();
                ("200 OK", "text/html", format!("<title>{host}{path}</title>{links}{visit}<!--{filler}-->"))
            }
            (path, _) if words.has_copies && path.starts_with(COPY) => {
                ("200 OK", "text/html", format!("<title>copy</title><!--{}-->", digits(COPY, 6_400)))
            }
            _ => ("404 Not Found", "text/html", "no".to_owned()),
        };
        let length = body.len();
        seen.lock().unwrap().bytes += length;
        let later =
            pause.filter(|_| asks_for_pause).map(|pause| format!("retry-after: {}\r\n", pause.as_secs()));
        let later = later.unwrap_or_default();
        let expires =
            expires.map(|at| format!("x-robots-tag: unavailable_after: {at}\r\n")).unwrap_or_default();
        let head = format!(
            "HTTP/1.1 {status}\r\n{location}{later}{expires}content-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        );
        // Before the answer is sent: the crawler may have it while this thread waits for a processor.
        let answered = Instant::now();
        let sent = (&*client).write_all(format!("{head}{body}").as_bytes());
        let mut seen = seen.lock().unwrap();
        seen.address = (seen.address.0 - 1, Some(answered));
        if let Some(of) = seen.hosts.get_mut(&host) {
            *of = (of.0 - 1, Some(answered));
        }
        if let Some((until, _)) = seen.rests.get_mut(&host).filter(|_| asks_for_pause) {
            *until = pause.map(|pause| answered + pause);
        }
        drop(seen);
        if sent.is_err() {
            return;
        }
    }
}
