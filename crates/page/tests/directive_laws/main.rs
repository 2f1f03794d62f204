//! A statement for robots that another parser finds in a page is obeyed, whatever the type, the encoding, the form of
//! the markup and the place.
//!
//! Pages are generated from seeds. html5ever builds a tree of each (scripting off), quick-xml reads it with namespaces
//! where it's XML; what either finds in a `<meta>` element must restrict ours. A page whose tags allow everything must
//! stay open: else it would be easy.
//!
//! `DIRECTIVE_CASES` and `DIRECTIVE_SEED` set how many pages there are and where they start.

#![allow(clippy::unwrap_used, reason = "helpers of tests stop where tests do")]

mod pages;
mod parsers;
mod soup;
mod tree;
mod xhtml;

use std::fmt::Write;
use std::thread;

use jiff::Timestamp;
use meta::{Agent, Dialect};
use page::extract::{Document, ExtractInput, ExtractLimits, read};
use url::Url;

use pages::Page;
use parsers::Found;

const CASES: u64 = 100_000;

/// What a page forbids, as ours has it.
fn ours(page: &Page) -> Found {
    let body = page.body();
    let lines = page.types.iter().map(|value| ("content-type", value.as_bytes()));
    let document = Document::of(lines, &body);
    let agent = Agent::new("ExampleBot/1.0");
    let readings = read(
        &ExtractInput {
            body: &body,
            content_type: document.content_type.as_deref(),
            url: &Url::parse("http://e.example/").unwrap(),
            link_headers: &[],
            limits: &ExtractLimits::default(),
            want_text: false,
            want_styles: false,
        },
        &document,
        &agent,
    );
    let directives = readings.resolve(&[], &agent, Dialect::Strict, Timestamp::UNIX_EPOCH, false);
    Found { index: !directives.index, archive: !directives.archive, follow: !directives.follow }
}

/// What other parsers find in a page that ours doesn't obey.
fn missed(page: &Page) -> Option<String> {
    let theirs = parsers::find(page);
    let ours = ours(page);
    let named = theirs.into_iter().find(|(_, found)| found.is_beyond(ours))?;
    Some(format!("{} finds {:?}, ours obeys {ours:?}", named.0, named.1))
}

/// Leaves out what isn't needed to fail.
fn shrunk(mut page: Page) -> Page {
    let mut at = 0;
    while at < page.parts.len() {
        let mut smaller = page.clone();
        smaller.parts.remove(at);
        if missed(&smaller).is_some() {
            page = smaller;
        } else {
            at += 1;
        }
    }
    page
}

#[derive(Default)]
struct Tally {
    pages: u64,
    /// Pages in which another parser finds something.
    speaking: u64,
    failures: Vec<String>,
}

fn run(seeds: impl Iterator<Item = u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        tally.pages += 1;
        let page = Page::of(seed, true);
        tally.speaking += u64::from(parsers::find(&page).iter().any(|(_, found)| *found != Found::default()));
        if let Some(what) = missed(&page) {
            let small = shrunk(page);
            let again = missed(&small).unwrap_or_default();
            let mut line = format!("seed {seed}: {what}\n  {:?} {:?}\n", small.types, small.encoding);
            write!(line, "  {:?}\n  {again}", small.parts.concat()).unwrap();
            tally.failures.push(line);
        }
        // One in eight: half of the time goes into the trees.
        if seed % 8 == 0 {
            let open = Page::of(seed, false);
            let found = ours(&open);
            if found != Found::default() {
                tally.failures.push(format!(
                    "seed {seed}: closed without a word: {found:?}\n  {:?}",
                    open.parts.concat()
                ));
            }
        }
    }
    tally
}

/// Pages that once failed, by what was wrong; `META` stands for a tag that forbids all, `P:META` for one with a prefix.
const KEPT: [(&str, &str, &str); 20] = [
    ("an end tag without an element closes no svg", "text/html", "<svg></iframe><textarea>META"),
    (
        "nor does one that only a part of svg could have",
        "text/html",
        "<html><svg><script></mi><textarea/>META",
    ),
    ("nor does that of a block", "text/html", "<svg></div><plaintext>META"),
    ("nor does that of a table's part", "text/html", "<math></td><template shadowrootmode=open>META"),
    ("nor does that of a form, though it's open", "text/html", "<form><svg></form><iframe/>META"),
    ("nor does that of the document", "text/html", "<svg></html><plaintext>META"),
    ("nor does that of the body", "text/html", "<body><math></body><xmp>META"),
    ("nor does that of the head", "text/html", "<head><!--x--><svg><style></head><iframe/>META"),
    ("nor does any within math within svg", "*/*", "<math><mi><svg></noembed><xmp>META"),
    ("a glyph is one of math, in its texts too", "text/html", "<math><mtext><mglyph><textarea/>META"),
    ("svg in an annotation is svg", "text/html", "<math><annotation-xml><svg><desc><p><![CDATA[x>META"),
    ("sections are allowed inside of a description", "text/html", "<svg><desc><![CDATA[><textarea>]]>META"),
    ("but not in an element within it", "text/html", "<svg><desc><b><![CDATA[x>META"),
    ("and again after it", "text/html", "<svg><desc><b></b><![CDATA[><textarea>]]>META"),
    ("an annotation ends with its math", "text/html", "<math><annotation-xml></math><![CDATA[x>META"),
    ("an end tag of what is open does", "text/html", "<div><svg></div><![CDATA[x>META"),
    ("that of a paragraph always does", "text/html", "<svg></p><![CDATA[x>META"),
    ("a template without a namespace is none", "application/xml", "<h:template><h:html xmlns:h='NS'>P:META"),
    (
        "nor after the end of the root",
        "text/xml",
        "<h:html xmlns:h='NS'></h:html><h:template><q:e xmlns:q='NS'><q:METAX",
    ),
    ("a section of CDATA without end hides nothing", "application/rss+xml", "<rss><![CDATA[<![CDATA[META"),
];

#[test]
fn pages_that_failed_are_read() {
    const TAG: &str = "meta name='robots' content='noindex, noarchive, nofollow'";
    for (what, content_type, text) in KEPT {
        let text = text.replace("P:META", "<h:METAX").replace("METAX", &format!("{TAG}/>"));
        let text = text.replace("META", &format!("<{TAG}/>")).replace("NS", "http://www.w3.org/1999/xhtml");
        let page = Page::written(content_type, &text);
        let all = Found { index: true, archive: true, follow: true };
        assert_eq!(ours(&page), all, "{what}: {text}");
        assert_eq!(missed(&page), None, "{what}: {text}");
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |value| value.parse().unwrap())
}

#[test]
fn directives_that_other_parsers_find_are_honoured() {
    let (first, cases) = (number("DIRECTIVE_SEED", 0), number("DIRECTIVE_CASES", CASES));
    let threads = thread::available_parallelism().map_or(2, |n| n.get() as u64);
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let part = |thread| {
            let seeds = (first..first + cases).filter(move |seed| seed % threads == thread);
            scope.spawn(move || run(seeds))
        };
        let parts: Vec<_> = (0..threads).map(part).collect();
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    let failures: Vec<&String> = tallies.iter().flat_map(|tally| &tally.failures).collect();
    let pages: u64 = tallies.iter().map(|tally| tally.pages).sum();
    let speaking: u64 = tallies.iter().map(|tally| tally.speaking).sum();
    assert!(
        failures.is_empty(),
        "{} of {pages} pages:\n{}",
        failures.len(),
        failures.iter().take(30).map(|f| f.as_str()).collect::<Vec<_>>().join("\n")
    );
    // The law says nothing about pages in which nobody finds anything.
    assert!(speaking * 2 > pages, "{speaking} of {pages} pages say something");
    println!("{pages} pages, {speaking} of them say something");
}
