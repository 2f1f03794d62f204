//! What the manual of the classic Perl module shows: fetch robots.txt of two sites, test URLs, fetch the pages that are allowed.
//!
//! Both sites are served by the example itself on the loopback interface: no network is used.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use jiff::Timestamp;
use robots::access::{Access, History, Outcome, Policy, ResponseHead, judge};
use robots::{Decision, RobotRules, Robots, robots_url};

const ROBOT: &str = "SuperRobot/1.0 (+https://robots.example/about)";

/// Joe's shop keeps all robots out of one folder, Mary's lets ours into a part of her private things.
const JOE: &str = "User-agent: *\nDisallow: /tmp\n";
const MARY: &str = "User-agent: *\nDisallow: /private\n\nUser-agent: SuperRobot\nAllow: /private/for-robots\nDisallow: /private\n";

fn main() -> Result<(), Box<dyn Error>> {
    let (joe, mary) = (serve("Joe's Hardware", JOE)?, serve("Mary's Antiques", MARY)?);
    let urls = [
        format!("{joe}/index.html"),
        format!("{joe}/tmp/draft.html"),
        format!("{mary}/index.html"),
        format!("{mary}/private/for-robots.html"),
        format!("{mary}/private/payroll.html"),
    ];
    for line in visit(&urls, "2026-03-01T12:00:00Z".parse()?)? {
        println!("{line}");
    }
    Ok(())
}

/// Tests each URL, after robots.txt of its site where that isn't known yet, and fetches it where that is allowed.
fn visit(urls: &[String], now: Timestamp) -> Result<Vec<String>, Box<dyn Error>> {
    let mut rules = RobotRules::new(ROBOT);
    let mut told = Vec::new();
    for url in urls {
        if rules.allowed(url, now) == Decision::Unknown {
            let file = robots_url(url).ok_or("no http URL")?;
            let (head, body) = get(&file)?;
            let judged =
                judge(&Outcome::Answer { head, body: &body }, &History::default(), &Policy::default(), now);
            let until = Some(judged.next_try);
            match judged.access {
                Access::Rules => drop(rules.parse(&file, &body, until, now)),
                Access::AllowAll => rules.store(&file, Robots::allow_all(judged.reason).into(), until, now),
                _ => rules.store(&file, Robots::deny_all(judged.reason).into(), until, now),
            }
        }
        match rules.allowed(url, now) {
            Decision::Known(verdict) if verdict.allowed => {
                rules.visit(url, now);
                let (head, body) = get(url)?;
                told.push(format!("{} {} bytes: {verdict}", head.status, body.len()));
            }
            Decision::Known(verdict) => told.push(format!("not fetched: {verdict}")),
            other => told.push(format!("not fetched: {other:?}")),
        }
    }
    Ok(told)
}

/// One plain request of HTTP/1.1.
fn get(url: &str) -> Result<(ResponseHead, Vec<u8>), Box<dyn Error>> {
    let rest = url.strip_prefix("http://").ok_or("http alone is spoken here")?;
    let (host, path) = rest.split_at(rest.find('/').ok_or("no path")?);
    let mut stream = TcpStream::connect(host)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {ROBOT}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or("no header")?;
    let header = String::from_utf8_lossy(&answer[..end]).into_owned();
    let mut lines = header.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).ok_or("no status")?.parse()?;
    let head = ResponseHead::new(status, lines.filter_map(|line| line.split_once(": ")));
    Ok((head, answer[end + 4..].to_vec()))
}

/// Serves a site on a free port of the loopback interface, and gives its origin.
fn serve(name: &'static str, robots: &'static str) -> io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let origin = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for stream in listener.incoming() {
            // Who hangs up too early gets nothing.
            drop(stream.and_then(|stream| answer(stream, name, robots)));
        }
    });
    Ok(origin)
}

fn answer(mut stream: TcpStream, name: &str, robots: &str) -> io::Result<()> {
    let mut request = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    reader.read_line(&mut request)?;
    while reader.read_line(&mut String::new())? > 2 {}
    let (kind, body) = match request.split(' ').nth(1) {
        Some("/robots.txt") => ("text/plain", robots.to_owned()),
        path => ("text/html", format!("<title>{name}</title><p>{}", path.unwrap_or("/"))),
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_that_are_allowed_are_fetched_and_no_others() {
        let (joe, mary) = (serve("Joe", JOE).unwrap(), serve("Mary", MARY).unwrap());
        let urls = [
            format!("{joe}/a"),
            format!("{joe}/tmp/a"),
            format!("{mary}/private/for-robots"),
            format!("{mary}/private/x"),
        ];
        let told = visit(&urls, "2026-03-01T12:00:00Z".parse().unwrap()).unwrap();
        let fetched: Vec<_> = told.iter().map(|line| line.starts_with("200 ")).collect();
        assert_eq!(fetched, [true, false, true, false], "{told:#?}");
    }
}
