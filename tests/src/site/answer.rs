//! What a test site answers: data only.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::rules::Rules;

/// One response.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Fields besides `Content-Length`. The characters U+F780 to U+F7FF are sent as the bytes 0x80 to 0xFF.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// How long the server thinks before it answers.
    pub delay: Duration,
    /// The status of the answer to HEAD, where that isn't the same.
    pub head_status: Option<u16>,
    /// What the answer says about robots, when it is one for `/robots.txt` with rules in it.
    pub rules: Option<Rules>,
}

impl Answer {
    /// An answer without a body.
    pub fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Vec::new(),
            delay: Duration::ZERO,
            head_status: None,
            rules: None,
        }
    }

    /// An HTML page.
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::status(200) }.header("Content-Type", "text/html; charset=utf-8")
    }

    /// Anything else.
    pub fn content(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::status(200) }.header("Content-Type", content_type)
    }

    /// A redirect.
    pub fn redirect(status: u16, to: &str) -> Self {
        Self::status(status).header("Location", to)
    }

    /// A robots.txt with rules for every robot.
    pub fn robots(rules: Rules) -> Self {
        let text = rules.text("*");
        Self { rules: Some(rules), ..Self::content("text/plain", text) }
    }

    /// Adds a field.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Answers HEAD with another status, and without the fields.
    #[must_use]
    pub fn head_status(self, status: u16) -> Self {
        Self { head_status: Some(status), ..self }
    }

    /// Lets the server think first.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// Sites by host name; what isn't there is 404.
#[derive(Clone, Debug, Default)]
pub struct Sites {
    hosts: BTreeMap<String, BTreeMap<String, Vec<Answer>>>,
}

impl Sites {
    /// No site yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts an answer at a path (with its query). A second one for the same path is given to the second request, and so on;
    /// the last one is given from then on.
    #[must_use]
    pub fn page(mut self, host: &str, path: &str, answer: Answer) -> Self {
        self.hosts.entry(host.to_owned()).or_default().entry(path.to_owned()).or_default().push(answer);
        self
    }

    /// Adds a site of `pages` pages whose links form a tree with links back to the front page: `/`, `/1` ... Each answer takes
    /// `delay`.
    #[must_use]
    pub fn tree(mut self, host: &str, pages: usize, delay: Duration) -> Self {
        for n in 0..pages {
            let mut links = String::new();
            for m in (4 * n + 1..=4 * n + 4).filter(|&m| m < pages) {
                let _ = write!(links, "<a href=\"/{m}\">{m}</a> ");
            }
            let title = format!("<title>Page {n} of {host}</title>");
            let body =
                format!("<html><head>{title}</head><body>{links}<a href=\"/\">front</a></body></html>");
            let path = if n == 0 { "/".to_owned() } else { format!("/{n}") };
            self = self.page(host, &path, Answer::html(body).after(delay));
        }
        self
    }

    /// The names of the sites.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        self.hosts.keys().map(String::as_str)
    }

    /// The answer to request number `nth` (from 0) for a path.
    pub fn answer(&self, host: &str, path: &str, nth: usize) -> Answer {
        let answers = self.hosts.get(host).and_then(|site| site.get(path));
        let answer = answers.and_then(|answers| answers.get(nth).or_else(|| answers.last()));
        answer.cloned().unwrap_or_else(|| Answer::status(404))
    }
}
