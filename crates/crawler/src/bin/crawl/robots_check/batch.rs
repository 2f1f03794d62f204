//! `crawl robots check --batch`: one JSON object a line in, one out, in the same order.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use anyhow::{Context, bail};
use data_encoding::BASE64;
use robots::{Agent, Options, Robots, VisitTime, origin_of};
use serde_json::{Map, Value, json};

/// Answers every line; whether all of them could be read.
pub(super) fn run(mut reader: impl BufRead, options: &Options, out: &mut impl Write) -> io::Result<bool> {
    let mut clean = true;
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let parsed = serde_json::from_slice::<Value>(&line).context("not JSON");
        let id = parsed.as_ref().ok().and_then(|value| value.get("id")).cloned().unwrap_or_default();
        let answer = parsed.and_then(|value| answer(&value, options));
        let mut object = answer.unwrap_or_else(|error| {
            clean = false;
            Map::from_iter([("error".to_owned(), json!(format!("{error:#}")))])
        });
        object.insert("id".to_owned(), id);
        crawler::view::write_json_line(out, &object)?;
    }
    out.flush()?;
    Ok(clean)
}

fn answer(case: &Value, options: &Options) -> anyhow::Result<Map<String, Value>> {
    let body = match (&case["robots"], &case["robots_b64"]) {
        (Value::String(text), Value::Null) => text.as_bytes().to_vec(),
        (Value::Null, Value::String(text)) => BASE64.decode(text.as_bytes()).context("robots_b64")?,
        _ => bail!("`robots` or `robots_b64` is required, as a string"),
    };
    let options = match &case["dialect"] {
        Value::Null => options.clone(),
        Value::String(name) => {
            let mut options = options.clone();
            options.dialect = name.parse()?;
            options
        }
        _ => bail!("`dialect` must be a string"),
    };
    let mut files = Files { body: &body, options: &options, prepared: HashMap::new() };
    let object = match &case["checks"] {
        Value::Null => one(case, &mut files)?,
        Value::Array(checks) => json!({ "allowed": many(checks, &mut files)? }),
        _ => bail!("`checks` must be a list of [agent, url]"),
    };
    match object {
        Value::Object(object) => Ok(object),
        _ => bail!("no answer"),
    }
}

/// The file, prepared once for each agent and site that are asked for.
struct Files<'a> {
    body: &'a [u8],
    options: &'a Options,
    prepared: HashMap<(String, Option<String>), Robots>,
}

impl Files<'_> {
    fn robots(&mut self, agent: &str, url: &str) -> &Robots {
        let site = origin_of(url);
        let (body, options) = (self.body, self.options);
        self.prepared
            .entry((agent.to_owned(), site.clone()))
            .or_insert_with(|| Robots::parse(body, &Agent::new(agent), options, site.as_deref()))
    }
}

fn one(case: &Value, files: &mut Files<'_>) -> anyhow::Result<Value> {
    let agent = case["agent"].as_str().context("`agent` must be a string")?;
    let url = match &case["url"] {
        Value::Null => "/",
        url => url.as_str().context("`url` must be a string")?,
    };
    let robots = files.robots(agent, url);
    let verdict = robots.verdict(url);
    Ok(json!({
        "allowed": verdict.allowed, "line": verdict.line, "rule": verdict.rule, "group": verdict.group,
        "reason": verdict.reason, "dialect": verdict.dialect, "crawl_delay": crawl_delay(robots),
        "request_rate": request_rate(robots), "visit_time": visit_time(robots), "sitemaps": robots.sitemaps(),
    }))
}

fn many(checks: &[Value], files: &mut Files<'_>) -> anyhow::Result<Vec<bool>> {
    let check = |check: &Value| {
        let (Some(agent), Some(url)) = (check[0].as_str(), check[1].as_str()) else {
            bail!("each of `checks` must be [agent, url]");
        };
        Ok(files.robots(agent, url).verdict(url).allowed)
    };
    checks.iter().map(check).collect()
}

/// The delay in seconds, or null.
pub(super) fn crawl_delay(robots: &Robots) -> Option<f64> {
    robots.timing().crawl_delay().map(|delay| delay.as_secs_f64())
}

/// The rate, or null; a list where there are several.
pub(super) fn request_rate(robots: &Robots) -> Value {
    let rates = robots.timing().rates().iter().map(|rate| {
        let mut object = Map::new();
        object.insert("requests".to_owned(), json!(rate.pages));
        object.insert("seconds".to_owned(), json!(rate.per.as_secs()));
        if let Some(range) = rate.range {
            ends(range, &mut object);
        }
        Value::Object(object)
    });
    one_or_list(rates.collect())
}

/// The window, or null; a list where there are several.
pub(super) fn visit_time(robots: &Robots) -> Value {
    let windows = robots.timing().visits().iter().map(|&range| {
        let mut object = Map::new();
        ends(range, &mut object);
        Value::Object(object)
    });
    one_or_list(windows.collect())
}

fn ends(range: VisitTime, object: &mut Map<String, Value>) {
    let text = range.to_string();
    let (start, end) = text.split_once('-').unwrap_or_default();
    object.insert("start".to_owned(), json!(start));
    object.insert("end".to_owned(), json!(end));
}

fn one_or_list(mut values: Vec<Value>) -> Value {
    match values.len() {
        0 => Value::Null,
        1 => values.remove(0),
        _ => Value::Array(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(input: &str) -> (Vec<Value>, bool) {
        let mut out = Vec::new();
        let clean = run(input.as_bytes(), &Options::default(), &mut out).unwrap();
        let lines = String::from_utf8(out).unwrap();
        (lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), clean)
    }

    #[test]
    fn a_case_gives_its_verdict_and_fields() {
        let file = "User-agent: *\\nCrawl-delay: 10\\nRequest-rate: 40/1m 0100 - 0759\\nVisit-time: 0100-1300\\nDisallow: /x\\nSitemap: s";
        let (got, clean) =
            answers(&format!(r#"{{"id":"a","robots":"{file}","agent":"Foo/1.0","url":"http://h/x"}}"#));
        let want = json!({
            "id": "a", "allowed": false, "line": 5, "rule": "Disallow: /x", "group": "*", "reason": "rule",
            "dialect": "hardened", "crawl_delay": 10.0, "sitemaps": ["s"],
            "request_rate": {"requests": 40, "seconds": 60, "start": "0100", "end": "0759"},
            "visit_time": {"start": "0100", "end": "1300"},
        });
        assert_eq!((got, clean), (vec![want], true));
    }

    #[test]
    fn many_checks_keep_their_order() {
        let case = r#"{"id":7,"robots":"User-agent: a\nDisallow: /x\n","dialect":"rfc9309","checks":[["a","/x"],["b","/x"],["a","/"]]}"#;
        let (got, clean) = answers(case);
        assert_eq!((got, clean), (vec![json!({"id": 7, "allowed": [false, true, true]})], true));
    }

    #[test]
    fn bytes_come_as_base64() {
        let body = BASE64.encode(b"\xef\xbb\xbfUser-agent: *\nDisallow: /\xff\n");
        let (got, _) = answers(&format!(r#"{{"robots_b64":"{body}","agent":"a","url":"/%ff"}}"#));
        assert_eq!((&got[0]["allowed"], &got[0]["id"]), (&json!(false), &Value::Null));
    }

    #[test]
    fn an_unreadable_line_is_reported_and_the_rest_is_answered() {
        let input = "{\n\n{\"id\":1}\n{\"id\":2,\"robots\":\"\",\"agent\":\"a\",\"url\":\"/\",\"dialect\":\"x\"}\n{\"id\":3,\"robots\":\"\",\"agent\":\"a\",\"url\":\"/\"}\n";
        let (got, clean) = answers(input);
        assert!(!clean);
        assert_eq!(got.len(), 4);
        assert!(got[..3].iter().all(|line| line["error"].is_string() && line["allowed"].is_null()));
        assert_eq!((&got[1]["id"], &got[2]["id"], &got[3]["allowed"]), (&json!(1), &json!(2), &json!(true)));
    }
}
