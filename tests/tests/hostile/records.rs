//! Small answers that would make large records: what a page says of itself, again and again, from two hundred hosts.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;
use whole_program::hostile::http::{answer, gzip};
use whole_program::hostile::{Ask, HostileWeb, Scenario, Serve};
use whole_program::memory::{Limited, Peak};
use whole_program::program::{Crawl, PATIENCE};

/// The memory that no crawl may pass.
const MOST_MEMORY: Peak = Peak(300_000_000);

/// Pages of a host: its front page and what that links to.
const PAGES: usize = 5;

/// A page in gzip, with links to the other pages of its host behind what is hostile in it.
fn page(fields: &[String], html: &str) -> Vec<u8> {
    let links: String = (1..PAGES).map(|n| format!("<a href='/{n}'>{n}</a>")).collect();
    let mut head = vec!["Content-Type: text/html; charset=utf-8", "Content-Encoding: gzip"];
    head.extend(fields.iter().map(String::as_str));
    answer(200, &head, gzip(format!("<!doctype html><title>t</title>{html}<p>{links}")))
}

fn block(json: &str) -> String {
    format!("<script type='application/ld+json'>{json}</script>")
}

/// Distinct texts of so many bytes, each of the same character after its number.
fn texts(count: usize, bytes: usize, filler: char) -> impl Iterator<Item = String> {
    (0..count).map(move |n| format!("{n}{}", filler.to_string().repeat(bytes / filler.len_utf8())))
}

macro_rules! kinds {
    ($($kind:ident: $make:expr;)*) => {
        $(static $kind: LazyLock<Vec<u8>> = LazyLock::new($make);)*
    };
}

kinds! {
    CONTROLS: || page(&[], &block(&"\u{1}".repeat(250_000)));
    ESCAPES: || page(&[], &block(&format!("\"{}\"", "\\u0001".repeat(20_000))));
    QUOTES: || page(&[], &block(&format!("[{}\"\"]", "\"\",".repeat(80_000))));
    LONG: || page(&[], &block(&format!("{{\"name\":\"{}\"}}", "n".repeat(120_000))).repeat(2));
    BLOCKS: || page(&[], &block("{}").repeat(10_000));
    METAS: || {
        let words = texts(64, 8_000, '\u{1}').map(|word| format!("<meta name=keywords content='{word}'>"));
        page(&[], &words.collect::<String>())
    };
    TEXTS: || {
        let long = "\u{1}".repeat(8_000);
        let names = ["description", "og:title", "og:description", "twitter:title", "twitter:description", "url"];
        let metas = names.map(|name| format!("<meta name={name} property={name} content='http://{long}'>"));
        let links = texts(5_000, 250, '\u{1}').map(|text| format!("<a rel=nofollow href='/?{}'>{text}</a>", text.len()));
        page(&[], &format!("<html lang='{long}'><title>{long}</title>{}<base href='/{long}'>{}", metas.concat(), links.collect::<String>()))
    };
    CONSENT: || {
        let terms = "noai, noml, noimageai, nosnippet, max-snippet:9, notranslate, unavailable_after: never, x\u{1}y";
        let robots = texts(900, 400, '\u{10ffff}')
            .map(|text| format!("<meta name=robots content='{terms}, {text}'><meta name=tdm-policy content='/{text}'>"));
        let fields = (0..80).map(|n| match n % 4 {
            0 => format!("Content-Usage: train-ai=n;{}", "x".repeat(700)),
            1 => format!("Content-Signal: ai-train=no, search=yes, {}", "y".repeat(700)),
            2 => format!("X-Robots-Tag: noarchive, {}", "z".repeat(700)),
            _ => format!("Link: </{}>; rel=canonical", "l".repeat(700)),
        });
        page(&fields.collect::<Vec<_>>(), &robots.collect::<String>())
    };
}

type Kind = (&'static str, fn(&Ask) -> Vec<u8>, &'static LazyLock<Vec<u8>>);

const KINDS: [Kind; 8] = [
    ("controls", |_| CONTROLS.clone(), &CONTROLS),
    ("escapes", |_| ESCAPES.clone(), &ESCAPES),
    ("quotes", |_| QUOTES.clone(), &QUOTES),
    ("long", |_| LONG.clone(), &LONG),
    ("blocks", |_| BLOCKS.clone(), &BLOCKS),
    ("metas", |_| METAS.clone(), &METAS),
    ("texts", |_| TEXTS.clone(), &TEXTS),
    ("consent", |_| CONSENT.clone(), &CONSENT),
];

/// What a crawl of some kinds came to.
struct Crawled {
    /// Megabytes of the database for a thousand pages.
    stored: f64,
    pages: Vec<Value>,
}

/// Crawls two hundred hosts of these kinds with the settings of a user who changed nothing.
fn crawl(name: &str, kinds: &[Kind], limit: Duration) -> Crawled {
    let scenario = |n: usize| {
        let (kind, answer, _) = kinds[n % kinds.len()];
        let name: &'static str = format!("{kind}-{n}").leak();
        Scenario::pages(name, "record", Serve::Answer(answer), &[])
    };
    let scenarios: Vec<Scenario> = (0..200).map(scenario).collect();
    for (_, _, answer) in kinds {
        // Made before the clock runs.
        LazyLock::force(answer);
    }
    let _alone = crate::crawl::alone();
    let web = HostileWeb::start(&scenarios);
    let directory = tempfile::tempdir().expect("a directory for the test");
    let path = |name: &str| directory.path().join(name);
    let mut seeds = String::new();
    for scenario in &scenarios {
        let _ = writeln!(seeds, "{}/", scenario.origin());
    }
    std::fs::write(path("seeds.txt"), seeds).expect("the test's own directory can be written to");
    std::fs::write(path("resolve.txt"), web.resolve()).expect("the test's own directory can be written to");
    let command = Crawl::new(["--agent", "SuperRobot/1.0"])
        .args([Path::new("--seed"), &path("seeds.txt"), Path::new("--out"), &path("out")])
        .args([Path::new("--resolve-file"), &path("resolve.txt")]);
    let (output, peak) = Limited::start(command, MOST_MEMORY).wait(limit);
    let stored = bytes_below(&path("out").join("db"));
    let _written = writeln!(
        std::io::stderr(),
        "hostile records, {name}: exit code {:?}, peak {peak}, database {} MB",
        output.code,
        stored / 1_000_000
    );
    let output = output.expect(0);
    assert!(!output.stderr.contains("panicked"), "{}", output.stderr);
    let pages = Crawl::new([Path::new("export"), &path("out")])
        .args(["--table", "pages", "--format", "jsonl"])
        .start()
        .wait(PATIENCE)
        .expect(0)
        .json();
    assert_eq!(pages.len(), 200 * PAGES, "{name}");
    let stored = stored as f64 / 1e6 / (pages.len() as f64 / 1e3);
    Crawled { stored, pages }
}

fn bytes_below(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => bytes_below(&entry.path()),
        _ => entry.metadata().map_or(0, |data| data.len()),
    });
    sizes.sum()
}

/// Checks that no control character was stored, but for the ends of lines.
fn assert_clean(value: &Value) {
    match value {
        Value::String(text) => assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}"),
        Value::Array(list) => list.iter().for_each(assert_clean),
        Value::Object(fields) => fields.values().for_each(assert_clean),
        _ => {}
    }
}

/// The pages of hosts of a kind.
fn of<'a>(crawled: &'a Crawled, kind: &str) -> Vec<&'a Value> {
    let start = format!("http://{kind}-");
    let pages = crawled.pages.iter();
    pages.filter(|page| page["url"].as_str().is_some_and(|url| url.starts_with(&start))).collect()
}

fn assert_hits(crawled: &Crawled, kind: &str, words: &[&str]) {
    let pages = of(crawled, kind);
    assert!(!pages.is_empty(), "{kind}");
    for page in pages {
        assert_eq!(page["limits_hit"], serde_json::json!(words), "{kind}");
    }
}

/// The reproduction: pages of some 400 bytes, with 250 KB of U+0001 in what should be JSON.
#[test]
fn control_characters_in_json_ld_from_two_hundred_hosts() {
    assert!(CONTROLS.len() < 800, "{}", CONTROLS.len());
    let crawled = crawl("controls", &KINDS[..1], Duration::from_mins(4));
    assert!(crawled.stored < 5.0, "{} MB a thousand pages", crawled.stored);
    assert_hits(&crawled, "controls", &["json-ld block"]);
    crawled.pages.iter().for_each(assert_clean);
}

/// What is stored of JSON-LD that is JSON.
#[test]
fn much_json_ld_from_two_hundred_hosts() {
    let crawled = crawl("json-ld", &KINDS[1..5], Duration::from_mins(4));
    assert!(crawled.stored < 20.0, "{} MB a thousand pages", crawled.stored);
    assert_hits(&crawled, "escapes", &["json-ld block"]);
    assert_hits(&crawled, "quotes", &["json-ld block"]);
    assert_hits(&crawled, "long", &[]);
    assert_hits(&crawled, "blocks", &["json-ld"]);
    crawled.pages.iter().for_each(assert_clean);
}

/// Everything else that is stored of a page.
#[test]
fn long_texts_of_every_kind_from_two_hundred_hosts() {
    let crawled = crawl("texts", &KINDS[5..], Duration::from_mins(8));
    assert!(crawled.stored < 100.0, "{} MB a thousand pages", crawled.stored);
    crawled.pages.iter().for_each(assert_clean);
    for page in of(&crawled, "consent") {
        assert_eq!(page["archived"], false, "what an author says is read to its end");
    }
}
