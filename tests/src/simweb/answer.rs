//! What the web answers to the n-th request for a URL: a pure function of the model.

use std::time::Duration;

use super::html;
use super::model::{AGENT, Failure, Kind, Later, Robots, RobotsForm, Web};
use super::space::Shown;
use crate::request_log::{Lesson, RequestKind};
use crate::rules::Rules;

/// An answer, and what the log shall say about it.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// What the client gets.
    pub(super) reply: Reply,
    /// What the request was for.
    pub(super) purpose: RequestKind,
    /// What the answer tells about an origin.
    pub(super) lesson: Option<Lesson>,
}

/// What the client gets.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// A response.
    Response {
        /// Status code.
        status: u16,
        /// Fields, names in lower case.
        headers: Vec<(String, String)>,
        /// Body.
        body: Vec<u8>,
    },
    /// None.
    Failure(Failure),
}

/// Bytes of a robots.txt beyond which nothing has to be read (digest 2.4).
const ROBOTS_LIMIT: usize = 512_000;
const DAY: Duration = Duration::from_hours(24);

/// Answers request number `nth` (from 0) for a URL in normal form; none if there is no such host.
pub(super) fn answer(web: &Web, url: &str, nth: usize) -> Option<Answer> {
    let (host, path) = Web::split(url);
    let site = web.sites.get(host)?;
    if path == "/robots.txt" {
        return Some(robots(&site.robots, host, nth));
    }
    if path == "/robots-circle.txt" {
        return Some(circle(host));
    }
    if let Some((owner, robots)) = moved_here(web, url) {
        let lesson = known(owner, robots, robots.rules.clone());
        return Some(file(&robots.rules.text(AGENT), robots, lesson));
    }
    let reply = match site.resources.get(path) {
        None => status(404, vec![], "not found"),
        Some(resource) => match (resource.failures.get(nth), &resource.kind) {
            (Some(&failure), _) | (None, &Kind::Broken(failure)) => fail(failure),
            (None, Kind::Redirect(code, to)) => status(*code, vec![("location".into(), to.clone())], "moved"),
            (None, Kind::Other(content)) => ok(content.content_type, vec![], &content.body),
            (None, Kind::Page(page)) => {
                let tags = html::robots_tags(page)
                    .into_iter()
                    .map(|value| ("x-robots-tag".to_owned(), value))
                    .collect();
                ok("text/html", tags, &html::body(page))
            }
        },
    };
    Some(Answer { reply, purpose: RequestKind::Page, lesson: None })
}

/// The answer of a site with a space of URLs without end.
pub(super) fn space_answer(shown: Shown) -> Answer {
    let reply = match shown {
        Shown::Page(_, body) => ok("text/html", vec![], &body),
        Shown::Moved(to) => status(302, vec![("location".into(), to)], "moved"),
    };
    Answer { reply, purpose: RequestKind::Page, lesson: None }
}

fn robots(robots: &Robots, host: &str, nth: usize) -> Answer {
    let after = (nth - nth.min(robots.failures.len())).min(robots.later.len());
    let later = after.checked_sub(1).and_then(|at| robots.later.get(at));
    let failure = match later {
        Some(Later::Failure(failure)) => Some(failure),
        _ => robots.failures.get(nth),
    };
    if let Some(&failure) = failure {
        let lesson = Some(Lesson { origin: origin(host), rules: None, fresh_for: DAY });
        return Answer { reply: fail(failure), purpose: RequestKind::Robots, lesson };
    }
    if let Some(Later::Rules(rules)) = later {
        let now = Robots { rules: rules.clone(), failures: vec![], later: vec![], ..robots.clone() };
        return self::robots(&now, host, 0);
    }
    let published = |rules| known(host, robots, rules);
    let plain = |reply, lesson| Answer { reply, purpose: RequestKind::Robots, lesson };
    match &robots.form {
        RobotsForm::Star => file(&robots.rules.text("*"), robots, published(robots.rules.clone())),
        RobotsForm::Named => {
            let text = format!("{}\n{}", Rules::closed().text("*"), robots.rules.text(AGENT));
            file(&text, robots, published(robots.rules.clone()))
        }
        RobotsForm::Oversize => {
            let filling = "# nothing to see here\n".repeat(ROBOTS_LIMIT / 22 + 1);
            let text = format!("{}{filling}Disallow: /late/\n", robots.rules.text("*"));
            file(&text, robots, published(robots.rules.clone()))
        }
        RobotsForm::Missing => plain(status(404, vec![], "no rules"), Some(published(Rules::default()))),
        RobotsForm::Forbidden => plain(status(403, vec![], "no"), Some(published(Rules::closed()))),
        RobotsForm::Html => plain(
            ok("text/html", vec![], "<html><body><p>What are you looking for?</p></body></html>"),
            Some(published(Rules::default())),
        ),
        RobotsForm::Moved(to) => plain(status(301, vec![("location".into(), to.clone())], "moved"), None),
        RobotsForm::Circle => circle(host),
    }
}

/// A robots.txt that only redirects: each hop tells that the site is closed, for a day.
fn circle(host: &str) -> Answer {
    let headers = vec![("location".into(), format!("http://{host}/robots-circle.txt"))];
    let lesson = Some(Lesson { origin: origin(host), rules: Some(Rules::closed()), fresh_for: DAY });
    Answer { reply: status(302, headers, "round and round"), purpose: RequestKind::Robots, lesson }
}

/// Finds the site whose robots.txt has moved to this URL.
fn moved_here<'a>(web: &'a Web, url: &str) -> Option<(&'a str, &'a Robots)> {
    let path = Web::split(url).1;
    let owner = path.strip_prefix("/robots-of-")?.strip_suffix(".txt")?;
    let (owner, site) = web.sites.get_key_value(owner)?;
    matches!(&site.robots.form, RobotsForm::Moved(to) if to == url).then_some((owner, &site.robots))
}

/// The lesson of an answer that settles the matter; digest 2.5 bounds how long it lasts.
fn known(host: &str, robots: &Robots, rules: Rules) -> Lesson {
    let file = !matches!(robots.form, RobotsForm::Missing | RobotsForm::Forbidden | RobotsForm::Html);
    let fresh_for = match robots.max_age {
        Some(seconds) if file => Duration::from_secs(seconds).clamp(Duration::from_mins(10), DAY),
        _ => DAY,
    };
    Lesson { origin: origin(host), rules: Some(rules), fresh_for }
}

fn file(text: &str, robots: &Robots, lesson: Lesson) -> Answer {
    let max_age = robots.max_age.map(|seconds| ("cache-control".to_owned(), format!("max-age={seconds}")));
    let reply = ok("text/plain", max_age.into_iter().collect(), text);
    let lesson = Some(lesson);
    Answer { reply, purpose: RequestKind::Robots, lesson }
}

fn origin(host: &str) -> String {
    format!("http://{host}")
}

fn fail(failure: Failure) -> Reply {
    match failure {
        Failure::Status(code, after) => {
            let after = after.map(|seconds| ("retry-after".to_owned(), seconds.to_string()));
            status(code, after.into_iter().collect(), "<html><a href=\"/from-an-error\">x</a></html>")
        }
        other => Reply::Failure(other),
    }
}

fn ok(content_type: &str, mut headers: Vec<(String, String)>, body: &str) -> Reply {
    headers.insert(0, ("content-type".into(), content_type.into()));
    Reply::Response { status: 200, headers, body: body.as_bytes().to_vec() }
}

fn status(status: u16, mut headers: Vec<(String, String)>, body: &str) -> Reply {
    headers.insert(0, ("content-type".into(), "text/html".into()));
    Reply::Response { status, headers, body: body.as_bytes().to_vec() }
}
