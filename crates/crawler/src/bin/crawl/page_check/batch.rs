//! Many pages, one JSON object per line.

use std::io::{BufRead, Write};

use anyhow::Context;
use jiff::Timestamp;
use meta::{Agent, Dialect};
use page::clean::clean;
use page::extract::ExtractLimits;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::answer::as_json;
use super::decide::{Check, Checked};
use crate::exit;

/// One line of a batch, as `docs/cli.md` has it. Other fields are passed over.
#[derive(Deserialize)]
struct Request {
    html: Option<String>,
    #[serde(default)]
    headers: Option<Vec<(String, String)>>,
    agent: String,
    aliases: Option<Vec<String>>,
    dialect: Option<String>,
    now: Option<Timestamp>,
    url: Option<String>,
}

/// Checks line by line; a line that can't be read is answered with its error, and the exit code tells.
pub(super) fn run(lines: &mut dyn BufRead, out: &mut dyn Write) -> anyhow::Result<i32> {
    let mut code = exit::COMPLETE;
    let mut text = Vec::new();
    while lines.read_until(b'\n', &mut text).context("can't read the batch")? > 0 {
        if !text.trim_ascii().is_empty() {
            let request: Result<Value, _> = serde_json::from_slice(&text);
            let id = request.as_ref().ok().and_then(|request| request.get("id")).cloned().unwrap_or_default();
            let mut answer = serde_json::Map::from_iter([("id".to_owned(), id)]);
            match request.map_err(anyhow::Error::from).and_then(answer_one) {
                Ok(checked) => answer.extend(as_json(&checked)),
                Err(error) => {
                    answer.insert("error".to_owned(), json!(clean(&format!("{error:#}"))));
                    code = exit::UNEXPECTED;
                }
            }
            crawler::view::write_json_line(&mut &mut *out, &Value::Object(answer))?;
        }
        text.clear();
    }
    out.flush()?;
    Ok(code)
}

fn answer_one(request: Value) -> anyhow::Result<Checked> {
    let request: Request = serde_json::from_value(request)?;
    let check = Check {
        html: request.html.map(String::into_bytes),
        // A JSON string is decoded already, whatever the page or its headers say.
        content_types: vec!["text/html; charset=utf-8".to_owned()],
        limits: ExtractLimits::default(),
        is_cut: false,
        closes_unread_head: true,
        headers: request.headers.unwrap_or_default(),
        agent: Agent::new(&request.agent).with_aliases(request.aliases.unwrap_or_default()),
        dialect: request.dialect.as_deref().unwrap_or(Dialect::default().name()).parse()?,
        now: request.now.unwrap_or_else(page::clock::wall),
        url: request.url.map(|url| Url::parse(&url).with_context(|| format!("url {url:?}"))).transpose()?,
    };
    Ok(check.decide())
}
