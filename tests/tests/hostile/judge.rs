//! Holds what a crawl recorded, and what a host saw of it, against what its scenario expects.

use std::io::Read as _;

use serde_json::Value;
use whole_program::hostile::{At, Contact, Expect, Scenario, Tls, impolite};
use whole_program::output_dir::files;
use whole_program::program::Output;

use crate::crawl::Crawled;

/// Tells everything that is wrong with one scenario.
pub(crate) fn scenario(scenario: &Scenario, crawled: &Crawled) -> Vec<String> {
    let contacts = crawled.web.contacts(scenario.name);
    let mut wrong: Vec<String> =
        scenario.expect.iter().filter_map(|expect| one(scenario, crawled, &contacts, *expect)).collect();
    // HTTP/2 requests and TLS handshakes aren't read as requests; a replaced stale connection has no gap.
    let readable = matches!(scenario.tls, Tls::None | Tls::Http1(_));
    if readable && scenario.hazard != "stale" {
        wrong.extend(impolite(&contacts, crawled.delay).into_iter().map(|what| format!("impolite: {what}")));
    }
    if readable && scenario.at == At::Pages && contacts.len() < 2 {
        wrong.push("the hostile part was never asked".to_owned());
    }
    wrong
}

fn one(scenario: &Scenario, crawled: &Crawled, contacts: &[Contact], expect: Expect) -> Option<String> {
    let tables = &crawled.tables;
    let url = |path: &str| format!("{}{path}", scenario.origin());
    let row = |table: &'static str, path: &str| {
        let rows = if table == "pages" { &tables.pages } else { &tables.errors };
        rows.iter().find(|row| row["url"] == url(path).as_str()).ok_or(format!("{path} isn't in {table}"))
    };
    let field = |path: &str, name: &str, wanted: Value| match row("pages", path) {
        Ok(row) if row[name] == wanted => None,
        Ok(row) => Some(format!("{path}: {name} is {}, expected {wanted}", row[name])),
        Err(missing) => Some(missing),
    };
    let holds = |path: &str, name: &str, wanted: &str| match row("pages", path) {
        Ok(row) if row[name].as_array().is_some_and(|list| list.iter().any(|item| item == wanted)) => None,
        Ok(row) => Some(format!("{path}: {name} is {}, without {wanted}", row[name])),
        Err(missing) => Some(missing),
    };
    let requests = || contacts.iter().filter_map(|contact| contact.path.as_deref());
    let host = || tables.hosts.iter().find(|row| row["host"] == scenario.host().as_str());
    match expect {
        Expect::Fails(path, kinds) => match row("errors", path) {
            Ok(row) if kinds.iter().any(|kind| row["kind"] == *kind) => None,
            Ok(row) => Some(format!("{path}: {} ({}), expected {kinds:?}", row["kind"], row["detail"])),
            Err(missing) => Some(format!("{missing}, expected {kinds:?}; {}", state(crawled, scenario))),
        },
        Expect::Answers(path, status) => match row("pages", path) {
            Ok(row) if row["status"] == status && row["error"].is_null() => None,
            Ok(row) => Some(format!("{path}: status {}, error {}", row["status"], row["error"])),
            Err(missing) => Some(format!("{missing}; {}", state(crawled, scenario))),
        },
        Expect::Settled(path) => match (row("pages", path), row("errors", path)) {
            (Err(missing), Err(_)) => Some(format!("{missing}, nor in errors; {}", state(crawled, scenario))),
            _ => None,
        },
        Expect::Title(path, title) => field(path, "title", title.into()),
        Expect::Cut(path, place) => field(path, "truncated", place.into()),
        Expect::Charset(path, name) => field(path, "charset", name.into()),
        Expect::Links(path, count) => field(path, "links_out", count.into()),
        Expect::Hits(path, limit) => holds(path, "limits_hit", limit),
        Expect::Skips(text, reason) => {
            let mut rows = tables.skipped.iter();
            let holds = |row: &&Value| row["url"].as_str().is_some_and(|url| url.contains(text));
            match rows.find(holds) {
                Some(row) if row["reason"] == reason => None,
                Some(row) => Some(format!("{text}: skipped for {}, expected {reason}", row["reason"])),
                None => Some(format!("{text} isn't skipped, expected {reason}")),
            }
        }
        Expect::Decides(text, decision) => {
            let own = |row: &&Value| {
                row["host"] == scenario.host().as_str()
                    && row["url"].as_str().is_some_and(|url| url.contains(text))
            };
            let said: Vec<&str> =
                tables.ledger.iter().filter(own).filter_map(|row| row["decision"].as_str()).collect();
            (!said.contains(&decision)).then(|| format!("{text}: decided {said:?}, not {decision}"))
        }
        Expect::Never(path) => {
            let asked: Vec<_> = requests().filter(|asked| asked.starts_with(path)).take(3).collect();
            (!asked.is_empty()).then(|| format!("{asked:?} was asked for"))
        }
        Expect::Asked(path, count) => {
            let asked = requests().filter(|asked| *asked == path).count();
            (asked != count).then(|| format!("{path} was asked for {asked} times, not {count}"))
        }
        Expect::NoPages => {
            let asked: Vec<_> = requests().filter(|asked| *asked != "/robots.txt").take(3).collect();
            (!asked.is_empty()).then(|| format!("{asked:?} was asked for"))
        }
        Expect::AtMost(most) => {
            (contacts.len() > most).then(|| format!("{} requests, expected {most} at most", contacts.len()))
        }
        Expect::AtLeast(least) => (contacts.len() < least)
            .then(|| format!("{} requests, expected {least} at least", contacts.len())),
        Expect::Robots(text) => {
            let status = host().and_then(|row| row["robots_status"].as_str()).unwrap_or("nothing");
            (!status.contains(text)).then(|| format!("robots.txt: {status:?}, expected {text:?}"))
        }
        Expect::NoPause => {
            let own = tables.ledger.iter().filter(|row| row["host"] == scenario.host().as_str());
            let gaps = own.filter_map(|row| row["evidence"]["request"]["gap_reason"].as_str());
            let pauses: Vec<_> = gaps.filter(|why| !matches!(*why, "configured" | "adaptive")).collect();
            (!pauses.is_empty()).then(|| format!("waited for {pauses:?}"))
        }
        Expect::Waits(reason) => {
            let found = host().map(|row| (row["wait_reason"].as_str(), row["queued"].as_u64()));
            let fits = matches!(found, Some((Some(why), Some(1..))) if why == reason);
            (!fits).then(|| format!("waits with {found:?}, expected {reason:?}"))
        }
    }
}

/// What is known of a host, for a finding.
fn state(crawled: &Crawled, scenario: &Scenario) -> String {
    let own = |rows: &[Value], name: &str| {
        let own = rows.iter().filter(|row| {
            let url = row["url"].as_str().unwrap_or_default();
            row["host"] == scenario.host().as_str() || url.starts_with(&scenario.origin())
        });
        let list: Vec<String> = own.map(|row| format!("{}:{}", row["url"], row[name])).collect();
        list.join(" ")
    };
    let tables = &crawled.tables;
    let host = tables.hosts.iter().find(|row| row["host"] == scenario.host().as_str());
    format!(
        "queue [{}] errors [{}] skipped [{}] robots {}",
        own(&tables.queue, "tries"),
        own(&tables.errors, "kind"),
        own(&tables.skipped, "reason"),
        host.map_or(&Value::Null, |row| &row["robots_status"])
    )
}

const TABLES: [&str; 8] = ["pages", "links", "hosts", "robots", "queue", "skipped", "ledger", "errors"];

/// Checks that every output is clean: what the crawl said, every table in every form, the archive, the log, the file names.
pub(crate) fn hygiene(crawled: &Crawled, output: &Output, wrong: &mut Vec<String>) {
    steering("the crawl's stdout", &output.stdout, wrong);
    steering("the crawl's stderr", &output.stderr, wrong);
    steering("show", &crawled.look("show", &[]).expect(0).stdout, wrong);
    for table in TABLES {
        steering(&format!("show {table}"), &crawled.look("show", &[table]).expect(0).stdout, wrong);
        for format in ["csv", "jsonl"] {
            let text =
                crawled.look("export", &["--table", table, "--format", format]).expect(0).stdout.clone();
            steering(&format!("{table}.{format}"), &text, wrong);
            if format == "csv" {
                formulas(table, &text, wrong);
            }
        }
    }
    for path in files(&crawled.out()) {
        let name = path.strip_prefix(crawled.out()).unwrap_or(&path).to_string_lossy().into_owned();
        if name.contains("..") || !name.bytes().all(|c| c.is_ascii_alphanumeric() || b"/._-".contains(&c)) {
            wrong.push(format!("a file is called {name:?}"));
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        if name.ends_with(".warc.gz") {
            archive(&name, &bytes, wrong);
        } else if name.starts_with("log/") || name.ends_with(".toml") {
            steering(&name, &String::from_utf8_lossy(&bytes), wrong);
        }
    }
}

fn steering(place: &str, text: &str, wrong: &mut Vec<String>) {
    let steers = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\r' | '\t')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if let Some(line) = text.lines().find(|line| line.contains(steers)) {
        let start: String = line.chars().take(300).collect();
        wrong.push(format!("{place} holds a character that steers a terminal: {start:?}"));
    }
}

/// A cell that a spreadsheet would run.
fn formulas(table: &str, text: &str, wrong: &mut Vec<String>) {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    for row in reader.records() {
        let row = match row {
            Ok(row) => row,
            Err(error) => return wrong.push(format!("{table}.csv: {error}")),
        };
        let runs = |cell: &&str| cell.starts_with(['=', '+', '@', '\t', '\r']) || cell.starts_with('-');
        if let Some(cell) = row.iter().find(runs) {
            wrong.push(format!("{table}.csv: a spreadsheet would run {cell:?}"));
        }
    }
}

/// The fields in the archives of this program.
const FIELDS: [&str; 22] = [
    "WARC-Warcinfo-ID",
    "WARC-Cipher-Suite",
    "WARC-Refers-To-Target-URI",
    "WARC-Refers-To-Date",
    "Crawl-Purpose",
    "Crawl-Refers-To-Place",
    "WARC-Type",
    "WARC-Record-ID",
    "WARC-Date",
    "WARC-Target-URI",
    "WARC-IP-Address",
    "WARC-Protocol",
    "WARC-Truncated",
    "WARC-Payload-Digest",
    "WARC-Block-Digest",
    "WARC-Concurrent-To",
    "WARC-Filename",
    "WARC-Refers-To",
    "WARC-Profile",
    "WARC-Identified-Payload-Type",
    "Content-Type",
    "Content-Length",
];

/// Every record of an archive: its own field names and no others, and a block as long as it says.
fn archive(name: &str, bytes: &[u8], wrong: &mut Vec<String>) {
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut record = Vec::new();
        let mut member = flate2::bufread::GzDecoder::new(rest);
        if let Err(error) = member.read_to_end(&mut record) {
            return wrong.push(format!("{name}: {error}"));
        }
        rest = member.into_inner();
        let Some(end) = record.windows(4).position(|four| four == b"\r\n\r\n") else {
            return wrong.push(format!("{name}: a record without an end of its header"));
        };
        let head = String::from_utf8_lossy(&record[..end]).into_owned();
        let mut lines = head.split("\r\n");
        if lines.next() != Some("WARC/1.1") {
            wrong.push(format!("{name}: {head}"));
        }
        let mut length = None;
        for line in lines {
            let (field, value) = line.split_once(": ").unwrap_or((line, ""));
            if !FIELDS.contains(&field) {
                wrong.push(format!("{name}: a WARC header line that isn't ours: {line:?}"));
            }
            if field == "Content-Length" {
                length = value.parse::<usize>().ok();
            }
        }
        if length != Some(record.len() - end - 8) {
            wrong.push(format!("{name}: {head}"));
        }
    }
}
