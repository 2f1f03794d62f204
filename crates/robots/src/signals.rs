//! Fields beside the rules: parsed and kept, never wider than the rules.

use serde::Serialize;

/// Holds what the file says beside rules, timing and sitemaps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Signals {
    usage: Vec<PathSignal>,
    signal: Vec<PathSignal>,
    noindex: Vec<(u32, String)>,
    clean_params: Vec<CleanParam>,
    hosts: Vec<String>,
    licenses: Vec<String>,
    comments: Vec<String>,
}

/// Names what a page may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// A search index that leads readers to the page.
    Search,
    /// Input of a model at the time of an answer.
    AiInput,
    /// Training of a model.
    AiTrain,
}

/// Says what a site lets a copy be kept as (`use=` of Content-Signal).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Store nothing.
    Immediate,
    /// Index, excerpt and link.
    Reference,
    /// No limit.
    Full,
}

/// Answers for one path what the file says about each purpose; `None` = nothing said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Consent {
    /// Search.
    pub search: Option<bool>,
    /// AI input.
    pub ai_input: Option<bool>,
    /// AI training.
    pub ai_train: Option<bool>,
    /// The grade of use.
    pub grade: Option<Grade>,
}

impl Consent {
    /// Gives the answer for one purpose.
    pub fn get(&self, purpose: Purpose) -> Option<bool> {
        match purpose {
            Purpose::Search => self.search,
            Purpose::AiInput => self.ai_input,
            Purpose::AiTrain => self.ai_train,
        }
    }
}

/// Holds one Content-Usage or Content-Signal line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PathSignal {
    /// The path for which it speaks, as a rule pattern; `/` where none was given.
    pub path: String,
    /// What it says.
    pub consent: Consent,
    /// The line's value as it was written.
    pub raw: String,
    /// The number of the line, from 1.
    pub line: u32,
}

/// Holds one Clean-param line: query parameters that don't change the page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CleanParam {
    /// The names of the parameters.
    pub params: Vec<String>,
    /// The path prefix for which they count; `/` where none was given.
    pub path: String,
}

impl Signals {
    /// Answers for a path what the Content-Usage and Content-Signal lines of our group say: any deny wins over any allow.
    pub fn consent(&self, _path_and_query: &str) -> Consent {
        Consent::default()
    }

    /// Gives the line of the `Noindex` field that covers a path.
    pub fn noindex(&self, _path_and_query: &str) -> Option<u32> {
        None
    }

    /// Gives the Content-Usage lines of our group, in file order.
    pub fn content_usage(&self) -> &[PathSignal] {
        &self.usage
    }

    /// Gives the Content-Signal lines of our group, in file order.
    pub fn content_signal(&self) -> &[PathSignal] {
        &self.signal
    }

    /// Gives the Clean-param lines of the file.
    pub fn clean_params(&self) -> &[CleanParam] {
        &self.clean_params
    }

    /// Gives the preferred mirrors (`Host`), in file order.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Gives the licence URLs (`License`), in file order.
    pub fn licenses(&self) -> &[String] {
        &self.licenses
    }

    /// Gives the `Comment` lines of our group: they address the operator of the crawl.
    pub fn comments(&self) -> &[String] {
        &self.comments
    }
}
