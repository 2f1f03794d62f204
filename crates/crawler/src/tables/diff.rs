//! Compares two crawls: pages and robots.txt that were added, removed or changed.

use std::cmp::Ordering;
use std::io::{self, Write};

use serde::Serialize;

use crate::sorter::Sorter;
use crate::view::{Rows, Table, Value, View, ViewError, changed_lines, host_of, in_order, write_json_line};
use page::clean::clean;

/// What became of a page or robots.txt from the first crawl to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The second crawl alone has it.
    Added,
    /// The first crawl alone has it.
    Gone,
    /// Both have it, and it differs.
    Changed,
}

/// How a page was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageState {
    /// The status code.
    pub status: u64,
    /// Digest of the body; none under noindex.
    pub digest: Option<String>,
    /// The title; none under noindex.
    pub title: Option<String>,
    /// Where a redirect leads.
    pub redirect: Option<String>,
    /// Each directive that took effect.
    pub directives: Vec<String>,
    /// It may be indexed.
    pub indexed: bool,
    /// Its body is in the archive.
    pub archived: bool,
    /// It doesn't forbid to follow its links.
    pub followed: bool,
    #[serde(skip)]
    simhash: Option<u64>,
}

/// A page that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PageChange {
    /// What became of it.
    pub change: Change,
    /// Its URL.
    pub url: String,
    /// What differs, of a page that both have: `status`, `redirect`, `content` (the digest), `directives` (what it says to robots and what follows).
    pub changed: Vec<&'static str>,
    /// How alike the texts are, where the content differs and both have a simhash: the part of its 64 bits that is the same. 0.5 is what
    /// different texts have, 1 what texts have that are the same.
    pub similarity: Option<f64>,
    /// As the first crawl found it.
    pub before: Option<PageState>,
    /// As the second crawl found it.
    pub after: Option<PageState>,
}

/// The last answer for a robots.txt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsState {
    /// The final status.
    pub status: Option<u64>,
    /// What it meant.
    pub access: String,
    /// Digest of the rules.
    pub digest: Option<String>,
}

/// A robots.txt that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsChange {
    /// What became of it.
    pub change: Change,
    /// Scheme, host and port.
    pub origin: String,
    /// What differs, where both have it: `access`, `rules` (the digest).
    pub changed: Vec<&'static str>,
    /// The lines that differ with those around them, each behind `-`, `+` or a blank.
    pub lines: Vec<String>,
    /// The last answer that the first crawl had.
    pub before: Option<RobotsState>,
    /// The last answer that the second crawl had.
    pub after: Option<RobotsState>,
}

/// How many of each there are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// In the second crawl alone.
    pub added: u64,
    /// In the first crawl alone.
    pub gone: u64,
    /// In both, with differences.
    pub changed: u64,
    /// In both, the same.
    pub same: u64,
}

/// How much differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DiffCounts {
    /// Pages.
    pub pages: Counts,
    /// Files robots.txt.
    pub robots: Counts,
}

impl DiffCounts {
    /// Nothing differs.
    pub fn is_same(&self) -> bool {
        [self.pages, self.robots].iter().all(|counts| counts.added + counts.gone + counts.changed == 0)
    }
}

/// How a difference is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffFormat {
    /// A line each, behind `+`, `-` or `~`, and a summary.
    Text,
    /// One JSON object each with `"v":1` and `what`: `page`, `robots`, at the end `summary`.
    Json,
}

const COLUMNS: [&str; 9] =
    ["url", "status", "digest", "title", "redirect", "directives", "indexed", "archived", "followed"];

/// Compares two crawls, and writes what differs: pages by host and URL, then robots.txt files. Pages are the URLs that were answered; times, durations and how a
/// page was found don't count. Memory: some 40 MB; the pages of both are sorted in temporary files.
pub fn write_diff(
    before: &View,
    after: &View,
    form: DiffFormat,
    out: &mut dyn Write,
) -> Result<DiffCounts, ViewError> {
    let mut counts = DiffCounts::default();
    let columns: Vec<_> = COLUMNS.into_iter().chain(["simhash"]).collect();
    let pages = (sorted(before, Table::Pages, &columns)?, sorted(after, Table::Pages, &columns)?);
    for pair in Pairs::new(pages.0, pages.1) {
        let (one, two) = pair?;
        match page_change(one.as_deref(), two.as_deref()) {
            Some(change) => {
                counts.pages.add(change.change);
                write_page(&change, form, out)?;
            }
            None => counts.pages.same += 1,
        }
    }
    let columns = ["origin", "status", "access", "digest"];
    let robots = (sorted(before, Table::Robots, &columns)?, sorted(after, Table::Robots, &columns)?);
    for pair in Pairs::new(last_of_each(robots.0), last_of_each(robots.1)) {
        let (one, two) = pair?;
        match robots_change(one.as_deref(), two.as_deref()) {
            Some(mut change) => {
                counts.robots.add(change.change);
                if change.changed.contains(&"rules") {
                    let texts = (before.stored_robots(&change.origin)?, after.stored_robots(&change.origin)?);
                    if let (Some(one), Some(two)) = texts {
                        change.lines = changed_lines(&one.text, &two.text);
                    }
                }
                write_robots(&change, form, out)?;
            }
            None => counts.robots.same += 1,
        }
    }
    write_summary(&counts, form, out)?;
    Ok(counts)
}

impl Counts {
    fn add(&mut self, change: Change) {
        match change {
            Change::Added => self.added += 1,
            Change::Gone => self.gone += 1,
            Change::Changed => self.changed += 1,
        }
    }
}

fn sorted<'a>(view: &'a View, table: Table, columns: &[&str]) -> Result<Rows<'a>, ViewError> {
    let rows = view.rows(table)?.select(columns).map_err(io::Error::other)?;
    in_order(vec![rows], Sorter::new(view.temporary()))
}

type Row = Vec<Value>;

/// Rows of two streams, both ordered by the host and text of their first column, with those of the same text together.
struct Pairs<A: Iterator, B: Iterator> {
    one: std::iter::Peekable<A>,
    two: std::iter::Peekable<B>,
}

impl<A, B> Pairs<A, B>
where
    A: Iterator<Item = Result<Row, ViewError>>,
    B: Iterator<Item = Result<Row, ViewError>>,
{
    fn new(one: A, two: B) -> Self {
        Self { one: one.peekable(), two: two.peekable() }
    }
}

fn name(row: &Row) -> (&str, &str) {
    let text = row[0].as_str().unwrap_or_default();
    (host_of(text), text)
}

impl<A, B> Iterator for Pairs<A, B>
where
    A: Iterator<Item = Result<Row, ViewError>>,
    B: Iterator<Item = Result<Row, ViewError>>,
{
    type Item = Result<(Option<Row>, Option<Row>), ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.one.peek(), self.two.peek()) {
            (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
            (_, Some(Err(_))) | (None, Some(_)) => Ordering::Greater,
            (Some(Ok(one)), Some(Ok(two))) => name(one).cmp(&name(two)),
            (None, None) => return None,
        };
        let one = (order != Ordering::Greater).then(|| self.one.next()).flatten().transpose();
        let two = (order != Ordering::Less).then(|| self.two.next()).flatten().transpose();
        Some(one.and_then(|one| Ok((one, two?))))
    }
}

/// The last of each run of rows with the same first column.
fn last_of_each(
    rows: impl Iterator<Item = Result<Row, ViewError>>,
) -> impl Iterator<Item = Result<Row, ViewError>> {
    let mut rows = rows.peekable();
    std::iter::from_fn(move || {
        let mut last = rows.next()?;
        while let (Ok(row), Some(Ok(next))) = (&last, rows.peek())
            && row[0] == next[0]
        {
            last = rows.next()?;
        }
        Some(last)
    })
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    }
}

fn page_state(row: &[Value]) -> PageState {
    #[derive(serde::Deserialize)]
    struct DirectiveCell {
        directive: String,
    }
    let directives: Vec<DirectiveCell> = match &row[5] {
        Value::Compound { json, .. } => serde_json::from_str(json).unwrap_or_default(),
        _ => Vec::new(),
    };
    let mut directives: Vec<_> = directives.into_iter().map(|said| said.directive).collect();
    directives.sort();
    directives.dedup();
    let is = |place: usize| row[place] == Value::Boolean(true);
    PageState {
        status: number(&row[1]).unwrap_or_default(),
        digest: text(&row[2]),
        title: text(&row[3]),
        redirect: text(&row[4]),
        directives,
        indexed: is(6),
        archived: is(7),
        followed: is(8),
        simhash: row[9].as_str().and_then(|text| u64::from_str_radix(text, 16).ok()),
    }
}

/// What became of a page; none where it is the same.
fn page_change(one: Option<&[Value]>, two: Option<&[Value]>) -> Option<PageChange> {
    let url = text(&one.or(two)?[0]).unwrap_or_default();
    let (before, after) = (one.map(page_state), two.map(page_state));
    let (Some(one), Some(two)) = (&before, &after) else {
        let change = if before.is_some() { Change::Gone } else { Change::Added };
        return Some(PageChange { change, url, changed: Vec::new(), similarity: None, before, after });
    };
    let effects = |state: &PageState| (state.indexed, state.followed, state.directives.clone());
    let differences = [
        ("status", one.status != two.status),
        ("redirect", one.redirect != two.redirect),
        ("content", one.digest != two.digest),
        ("directives", effects(one) != effects(two)),
    ];
    let changed: Vec<_> =
        differences.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect();
    if changed.is_empty() {
        return None;
    }
    let similarity = one
        .simhash
        .zip(two.simhash)
        .filter(|_| changed.contains(&"content"))
        .map(|(one, two)| 1.0 - f64::from((one ^ two).count_ones()) / 64.0);
    Some(PageChange { change: Change::Changed, url, changed, similarity, before, after })
}

fn robots_state(row: &[Value]) -> RobotsState {
    RobotsState { status: number(&row[1]), access: text(&row[2]).unwrap_or_default(), digest: text(&row[3]) }
}

fn robots_change(one: Option<&[Value]>, two: Option<&[Value]>) -> Option<RobotsChange> {
    let origin = text(&one.or(two)?[0]).unwrap_or_default();
    let (before, after) = (one.map(robots_state), two.map(robots_state));
    let (change, changed) = match (&before, &after) {
        (Some(one), Some(two)) => {
            // A response that keeps the stored rules in effect means the same as they do.
            let means = |state: &RobotsState| match state.access.as_str() {
                "stored" => "rules".to_owned(),
                access => access.to_owned(),
            };
            let differences = [("access", means(one) != means(two)), ("rules", one.digest != two.digest)];
            let changed: Vec<_> =
                differences.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect();
            if changed.is_empty() {
                return None;
            }
            (Change::Changed, changed)
        }
        (Some(_), None) => (Change::Gone, Vec::new()),
        _ => (Change::Added, Vec::new()),
    };
    Some(RobotsChange { change, origin, changed, lines: Vec::new(), before, after })
}

#[derive(Serialize)]
struct Line<'a, T> {
    v: u32,
    what: &'static str,
    #[serde(flatten)]
    of: &'a T,
}

fn sign(change: Change) -> char {
    match change {
        Change::Added => '+',
        Change::Gone => '-',
        Change::Changed => '~',
    }
}

fn write_page(change: &PageChange, form: DiffFormat, out: &mut dyn Write) -> io::Result<()> {
    if form == DiffFormat::Json {
        return write_json_line(out, &Line { v: 1, what: "page", of: change });
    }
    let mut line = format!("{} {}", sign(change.change), change.url);
    match (&change.before, &change.after) {
        (Some(one), Some(two)) => {
            let parts = change.changed.iter().map(|name| match *name {
                "status" => format!("status {} -> {}", one.status, two.status),
                "redirect" => format!(
                    "redirect {} -> {}",
                    or_none(one.redirect.as_deref()),
                    or_none(two.redirect.as_deref())
                ),
                "content" => match change.similarity {
                    Some(similarity) => format!("content (similarity {similarity:.2})"),
                    None => "content".to_owned(),
                },
                _ => directives_changed(one, two),
            });
            line.push_str("  ");
            line.push_str(&parts.collect::<Vec<_>>().join(", "));
        }
        (state, other) => {
            if let Some(state) = state.as_ref().or(other.as_ref()) {
                line = format!("{line}  status {}", state.status);
            }
        }
    }
    writeln!(out, "{}", clean(&line))
}

fn or_none(text: Option<&str>) -> &str {
    text.unwrap_or("none")
}

fn directives_changed(one: &PageState, two: &PageState) -> String {
    let only = |of: &PageState, other: &PageState, sign: char| -> Vec<String> {
        let only = of.directives.iter().filter(|directive| !other.directives.contains(directive));
        only.map(|directive| format!("{sign}{directive}")).collect()
    };
    let mut parts = only(one, two, '-');
    parts.extend(only(two, one, '+'));
    for (name, before, after) in
        [("indexed", one.indexed, two.indexed), ("followed", one.followed, two.followed)]
    {
        if before != after {
            parts.push(format!("{name} {before} -> {after}"));
        }
    }
    format!("directives ({})", parts.join(" "))
}

fn write_robots(change: &RobotsChange, form: DiffFormat, out: &mut dyn Write) -> io::Result<()> {
    if form == DiffFormat::Json {
        return write_json_line(out, &Line { v: 1, what: "robots", of: change });
    }
    let mut line = format!("{} {}/robots.txt", sign(change.change), change.origin);
    match (&change.before, &change.after) {
        (Some(one), Some(two)) if one.access != two.access => {
            line = format!("{line}  {} -> {}", one.access, two.access);
        }
        (Some(_), Some(_)) => line.push_str("  the rules changed"),
        (state, other) => {
            if let Some(state) = state.as_ref().or(other.as_ref()) {
                line = format!("{line}  {}", state.access);
            }
        }
    }
    writeln!(out, "{}", clean(&line))?;
    for line in &change.lines {
        writeln!(out, "    {}", clean(line))?;
    }
    Ok(())
}

fn write_summary(counts: &DiffCounts, form: DiffFormat, out: &mut dyn Write) -> io::Result<()> {
    if form == DiffFormat::Json {
        return write_json_line(out, &Line { v: 1, what: "summary", of: counts });
    }
    for (name, counts) in [("pages", counts.pages), ("robots.txt", counts.robots)] {
        let Counts { added, gone, changed, same } = counts;
        writeln!(out, "{name}: {added} added, {gone} removed, {changed} changed, {same} unchanged")?;
    }
    Ok(())
}
