//! A site with every directive, crawled; then each marker is looked for in every byte that the crawl wrote.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crawler::warc::Reader;
use serde_json::Value;
use whole_program::output_dir::{database_values, files, marked, marked_in_files};
use whole_program::program::{Crawl, Output};
use whole_program::site::{Answer, Sites};

use super::cases::{self, Case, Form, ROBOTS_TXT};
use super::malformed;
use crate::scene::{Scene, sorted};

/// Every page with a directive.
static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| [cases::CASES, malformed::CASES].concat());

const HOST: &str = "http://a.test";

/// Parts of a page whose text is kept with its record and links.
const TEXTS: [&str; 14] =
    ["title", "desc", "key", "og", "ogd", "tw", "twd", "ld", "lang", "hl", "murl", "field", "anchor", LINE];
/// The part in a header line, only of pages.
const LINE: &str = "line";
/// Parts that are only in the body.
const BODIES: [&str; 3] = ["body", "comment", "hidden"];
/// Parts that are excerpts wherever they are shown.
const EXCERPTS: [&str; 3] = ["desc", "ogd", "twd"];

fn marker(name: &str, part: &str) -> String {
    format!("zq-{name}-{part}-qz")
}

fn html(case: &Case) -> String {
    let Case { name, head, body, .. } = case;
    let m = |part| marker(name, part);
    // Long enough that whatever packs long values packs these.
    let long = format!("{} ", m("body")).repeat(150);
    format!(
        "<!DOCTYPE html><html lang={lang}><head><title>T {title}</title>{head}\
         <meta name=description content='{desc}'><meta name=keywords content='x, {key}'>\
         <meta property=og:title content='{og}'><meta property=og:description content='{ogd}'>\
         <meta name=twitter:title content='{tw}'><meta name=twitter:description content='{twd}'>\
         <meta name=url content='http://original.test/{murl}'><link rel=alternate hreflang={hl} href=/>\
         <script type=application/ld+json>{{\"name\": \"{ld}\"}}</script></head><body>{body}<h1>{field}</h1><p>{long}</p>\
         <!-- {comment} --><p data-nosnippet>{hidden}</p><img src=/i/{name} alt='x'><a href=/child/{name}>{anchor}</a>\
         <a href=/elsewhere/{name}>e</a><a href=/rel/{name} rel='UGC noopener'>r</a></body></html>",
        lang = m("lang"),
        title = m("title"),
        desc = m("desc"),
        key = m("key"),
        og = m("og"),
        ogd = m("ogd"),
        tw = m("tw"),
        twd = m("twd"),
        murl = m("murl"),
        hl = m("hl"),
        ld = m("ld"),
        field = m("field"),
        comment = m("comment"),
        hidden = m("hidden"),
        anchor = m("anchor"),
    )
}

fn answer(case: &Case) -> Answer {
    let text = html(case);
    let answer = match case.form {
        Form::Html => Answer::html(text),
        Form::Pdf => Answer::content("application/pdf", format!("%PDF-1.7 {text}")),
        Form::Image => Answer::content("image/png", format!("\u{89}PNG {text}")),
        Form::Plain => Answer::content("text/plain", text),
    };
    let mut answer = Answer { status: case.status, ..answer };
    if case.is_page() {
        answer = answer.header("Link", &format!("</>; rel=next; title={}", marker(case.name, LINE)));
    }
    case.headers.iter().fold(answer, |answer, (name, value)| answer.header(name, value))
}

fn site() -> Sites {
    let links =
        CASES.iter().map(|case| format!("<a href=/c/{}>c</a>", case.name)).collect::<Vec<_>>().concat();
    let mut sites = Sites::new()
        .page("a.test", "/robots.txt", Answer::content("text/plain", ROBOTS_TXT))
        .page("a.test", "/", Answer::html(format!("<a href=/hub>h</a>{links}")));
    // Asked for after every case, since it comes last.
    let elsewhere = CASES
        .iter()
        .map(|case| format!("<a href=/elsewhere/{}>e</a>", case.name))
        .collect::<Vec<_>>()
        .concat();
    sites = sites.page("a.test", "/hub", Answer::html(elsewhere));
    for case in CASES.iter() {
        sites = sites.page("a.test", &format!("/c/{}", case.name), answer(case));
        for path in ["child", "elsewhere", "rel", "i"] {
            sites = sites.page("a.test", &format!("/{path}/{}", case.name), Answer::html("ok"));
        }
    }
    sites
}

fn url(case: &Case) -> String {
    format!("{HOST}/c/{}", case.name)
}

impl Case {
    fn may(&self, what: char) -> bool {
        self.keeps.contains(what)
    }

    fn is_page(&self) -> bool {
        self.form == Form::Html && self.status == 200
    }

    /// Its text is kept where it is a page, its metadata and digest else.
    fn is_indexed(&self) -> bool {
        self.may('t') && self.status == 200
    }
}

/// The crawl that the tests here look at, with what it said on its way.
fn crawled() -> (Scene, Output) {
    let scene = Scene::new(site());
    let config = scene.path("c.toml");
    let text = "[agent]\naliases = [\"newsbot\"]\n[[extract]]\nname = \"h\"\nselector = \"h1\"\n";
    std::fs::write(&config, text).expect("the settings can be written");
    let run = scene.crawl().args(["-vv", "--resources", "--config"]).args([&config]).run();
    run.expect(0);
    (scene, run)
}

#[test]
fn every_directive_is_honoured_down_to_the_last_byte() {
    let (scene, run) = crawled();
    what_was_asked_for(&scene);
    what_the_records_say(&scene);
    what_is_in_the_archive(&scene);
    found_anywhere(&scene, &run);
    what_page_check_tells(&scene);
}

fn what_was_asked_for(scene: &Scene) {
    let mut expected: BTreeSet<String> = [HOST.to_owned() + "/", HOST.to_owned() + "/hub"].into();
    for case in CASES.iter() {
        let name = case.name;
        expected.insert(url(case));
        // The same URL found elsewhere is fetched, whatever this page says.
        expected.insert(format!("{HOST}/elsewhere/{name}"));
        if case.is_page() && case.may('l') {
            expected.insert(format!("{HOST}/child/{name}"));
        }
        if case.is_page() && case.may('i') {
            expected.insert(format!("{HOST}/i/{name}"));
        }
        let target = case.headers.iter().find(|(name, _)| *name == "Location");
        expected.extend(target.map(|(_, path)| format!("{HOST}{path}")));
    }
    assert_eq!(sorted(scene.server.pages()), Vec::from_iter(expected));
    scene.assert_polite();
}

fn what_the_records_say(scene: &Scene) {
    let pages = scene.table("pages");
    let links = scene.look("export", &["--table", "links", "--format", "jsonl", "--include-noindex"]);
    let links = links.expect(0).json();
    let mut wrong = Vec::new();
    for case in CASES.iter() {
        let name = case.name;
        let Some(page) = pages.iter().find(|page| page["url"] == url(case).as_str()) else {
            wrong.push(format!("{name}: no record"));
            continue;
        };
        let mut check = |what: &str, found: Value, expected: Value| {
            if found != expected {
                wrong.push(format!("{name}: {what} is {found}, not {expected}"));
            }
        };
        let said = |column: &str, show: &dyn Fn(&Value) -> String| -> Value {
            let mut list: Vec<String> = page[column].as_array().into_iter().flatten().map(show).collect();
            list.sort();
            list.into()
        };
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let because = said("directives", &|d| format!("{} ({})", text(d, "directive"), text(d, "source")));
        check("directives", because, sorted(case.because.iter().map(|&b| b.into()).collect()).into());
        let consent = said("consent", &|s| {
            format!("{} {} {}", text(s, "signal"), text(s, "purpose"), text(s, "verdict"))
        });
        check("consent", consent, sorted(case.consent.iter().map(|&c| c.into()).collect()).into());
        let warnings = page["directive_warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let warned = warnings
            .into_iter()
            .any(|warning| ["malformed", "non-standard"].iter().any(|words| warning.contains(words)));
        check("a warning", warned.into(), malformed::is_warned(case).into());
        check("status", page["status"].clone(), case.status.into());
        check("indexed", page["indexed"].clone(), case.is_indexed().into());
        check("archived", page["archived"].clone(), case.may('b').into());
        check("warc_file", page["warc_file"].is_null().into(), (!case.may('b')).into());
        let has_digest = case.may('t') || case.may('b') || says_no_more_than_noarchive(case);
        check("digest", page["digest"].is_null().into(), (!has_digest).into());
        let shown = |part: &str| -> Value {
            let whole = marker(name, part);
            match (case.is_page() && case.may('t'), case.excerpt.filter(|_| EXCERPTS.contains(&part))) {
                (false, _) | (_, Some(0)) => Value::Null,
                (_, Some(most)) => whole.chars().take(most).collect::<String>().into(),
                (_, None) => whole.into(),
            }
        };
        for (column, part) in [
            ("description", "desc"),
            ("og_title", "og"),
            ("og_description", "ogd"),
            ("twitter_title", "tw"),
            ("twitter_description", "twd"),
            ("language", "lang"),
        ] {
            check(column, page[column].clone(), shown(part));
        }
        let title = shown("title").as_str().map(|title| format!("T {title}"));
        check("title", page["title"].clone(), title.into());
        let outcomes: BTreeSet<(String, String, String)> = links
            .iter()
            .filter(|link| link["from"] == url(case).as_str())
            .map(|link| (text(link, "to"), text(link, "outcome"), text(link, "text")))
            .collect();
        if case.is_page() && !case.may('t') && !case.may('l') {
            check("links", outcomes.len().into(), 0.into());
        } else if case.is_page() {
            let outcome_of = |path: &str| -> Value {
                let to = format!("{HOST}/{path}/{name}");
                outcomes.iter().find(|(found, ..)| *found == to).map(|(_, outcome, _)| outcome.clone()).into()
            };
            let nofollow = !case.may('l');
            let child = if nofollow { "nofollow_page" } else { "queued" };
            check("its child", outcome_of("child"), child.into());
            check(
                "its rel link",
                outcome_of("rel"),
                if nofollow { "nofollow_page" } else { "nofollow_rel" }.into(),
            );
            let image = match (nofollow, case.may('i')) {
                (true, _) => "nofollow_page",
                (false, true) => "queued",
                (false, false) => "no_image_index",
            };
            check("its image", outcome_of("i"), image.into());
            let anchors = outcomes.iter().any(|(.., text)| *text == marker(name, "anchor"));
            check("anchor text kept", anchors.into(), case.may('t').into());
        } else if case.status != 301 && case.headers.iter().all(|(name, _)| *name != "Location") {
            check("links", outcomes.len().into(), 0.into());
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The answers other than 2xx whose text isn't kept for their status alone.
fn says_no_more_than_noarchive(case: &Case) -> bool {
    case.status != 200 && case.because.iter().all(|because| because.starts_with("noarchive"))
}

/// Every record of every archive file, unpacked: only pages that allow it are there.
fn what_is_in_the_archive(scene: &Scene) {
    let mut seen = BTreeSet::new();
    for path in files(&scene.out().join("warc")) {
        if path.extension().is_some_and(|end| end == "cdxj") {
            continue;
        }
        for record in Reader::open(&path).expect("the archive can be read") {
            let record = record.expect("the record is whole");
            let target = record.field("WARC-Target-URI").unwrap_or_default().to_owned();
            for case in CASES.iter().filter(|case| !case.may('b')) {
                if target == url(case) {
                    assert_eq!(record.kind(), "metadata", "{target} may not be archived");
                    let said = String::from_utf8_lossy(&record.block);
                    let names: BTreeSet<&str> =
                        said.lines().filter_map(|line| line.split(':').next()).collect();
                    let known = [
                        "via",
                        "hopsFromSeed",
                        "fetchTimeMs",
                        "status",
                        "withheld",
                        "error",
                        "directive",
                        "robots",
                    ];
                    assert!(names.is_subset(&known.into()), "{said}");
                    assert!(said.contains("\r\nwithheld: "), "{said}");
                }
                let found = marked(&record.block, &format!("zq-{}-", case.name), "-qz");
                assert!(found.is_empty(), "{target}: {found:?}");
            }
            if record.kind() == "response" {
                seen.insert(target);
            }
        }
    }
    for case in CASES.iter().filter(|case| case.may('b')) {
        assert!(seen.contains(&url(case)), "{} isn't in the archive", case.name);
    }
}

/// Every file, every value of the database, every table in every form, everything that was said on the way.
fn found_anywhere(scene: &Scene, run: &Output) {
    let mut said = vec![("the run's talk".to_owned(), run.stdout.clone() + &run.stderr)];
    for table in ["pages", "links", "hosts", "robots", "queue", "skipped", "ledger", "errors", "changes"] {
        for form in ["jsonl", "csv"] {
            let export = scene.look("export", &["--table", table, "--format", form]);
            said.push((format!("export of {table} as {form}"), export.expect(0).stdout.clone()));
        }
        said.push((format!("show {table}"), scene.look("show", &[table]).expect(0).stdout.clone()));
    }
    said.push(("the summary".to_owned(), scene.look("show", &["--json"]).expect(0).stdout.clone()));
    let values = database_values(&scene.out().join("db"));
    assert!(values.len() > CASES.len(), "{} values", values.len());

    let in_database = all_marked(values.iter().map(|(_, value)| value.as_slice()));
    let in_tables = all_marked(said.iter().map(|(_, text)| text.as_bytes()));
    let is_kept = |case: &Case| case.is_page() && case.may('t');
    let is_shown =
        |case: &Case, part: &str| is_kept(case) && !(case.excerpt.is_some() && EXCERPTS.contains(&part));
    let of = |parts: &[&str], may: &dyn Fn(&Case, &str) -> bool| -> BTreeSet<String> {
        let all = CASES.iter().flat_map(|case| parts.iter().map(move |part| (case, *part)));
        let stands = |case: &Case, part: &str| part != LINE || case.is_page();
        all.filter(|(case, part)| stands(case, part) && may(case, part))
            .map(|(case, part)| marker(case.name, part))
            .collect()
    };
    // Neither more nor less than what may be there: what is searched for is found where it may be.
    assert_same("the database", &in_database, &of(&TEXTS, &|case, _| is_kept(case)));
    assert_same("the tables and the talk", &in_tables, &of(&TEXTS, &is_shown));
    let whole = [&TEXTS[..], &BODIES].concat();
    let in_archive = marked_in_files(&scene.out().join("warc"), "zq-", "-qz");
    assert_same("the archive", &in_archive, &of(&whole, &|case, _| case.may('b')));
    let anywhere = marked_in_files(&scene.out(), "zq-", "-qz");
    let mut may_be_anywhere = of(&whole, &|case, _| case.may('b'));
    may_be_anywhere.append(&mut of(&TEXTS, &|case, _| is_kept(case)));
    assert_same("all files", &anywhere, &may_be_anywhere);
    assert_same("the log", &marked_in_files(&scene.out().join("log"), "zq-", "-qz"), &BTreeSet::new());
}

fn all_marked<'a>(bytes: impl Iterator<Item = &'a [u8]>) -> BTreeSet<String> {
    bytes.flat_map(|bytes| marked(bytes, "zq-", "-qz")).collect()
}

#[track_caller]
fn assert_same(place: &str, found: &BTreeSet<String>, allowed: &BTreeSet<String>) {
    let (more, less): (Vec<_>, Vec<_>) =
        (found.difference(allowed).collect(), allowed.difference(found).collect());
    assert!(more.is_empty() && less.is_empty(), "in {place} are {more:?}; missing are {less:?}");
}

/// `crawl page check --from` tells of each page what the records hold, from the archive or from the record.
fn what_page_check_tells(scene: &Scene) {
    let check = |arguments: &[&str]| {
        let out = scene.out();
        Crawl::new(["page", "check", "--from"]).args([&out]).args(arguments).run()
    };
    for case in CASES.iter() {
        let output = check(&["--json", &url(case)]);
        let answer = &output.expect(0).json()[0];
        let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let reported = answer["because"].as_array().into_iter().flatten();
        let reported =
            reported.map(|b| format!("{} ({})", text(b, "directive"), text(b, "source"))).collect();
        let expected = case.because.iter().map(|&b| b.to_owned()).collect();
        assert_eq!(sorted(reported), sorted(expected), "{}", case.name);
        let is_archived = case.may('b');
        assert_eq!(answer["judged"], if is_archived { "archive" } else { "record" }, "{}", case.name);
        let says = |word: &str| case.because.iter().any(|because| because.starts_with(word));
        let due = ["gone", "xgone", "spoiltdate"].contains(&case.name);
        for (flag, denied) in [
            ("index", says("noindex") || due),
            ("follow", says("nofollow")),
            ("archive", says("noarchive")),
            ("snippet", case.excerpt == Some(0)),
            ("imageindex", says("noimageindex")),
            ("translate", says("notranslate")),
        ] {
            assert_eq!(answer[flag], !denied, "{}: {flag}", case.name);
        }
        let visit = &answer["visit"];
        assert_eq!(visit["archived"], is_archived, "{}", case.name);
        assert_eq!(visit["text"], if case.is_indexed() { "stored" } else { "not stored" }, "{}", case.name);
        let children = visit["links"]["nofollow_page"].as_u64();
        assert_eq!(children.is_some(), case.is_page() && !case.may('l'), "{}: {visit}", case.name);
    }
    let named = |name: &str, arguments: &[&str]| {
        let url = format!("{HOST}/c/{name}");
        let output = check(&[&["--json", url.as_str()], arguments].concat());
        output.expect(0).json().remove(0)
    };
    // Archived pages are judged in full, for others too; of the rest what was kept.
    let other = named("others", &["--agent", "OtherBot/2"]);
    assert_eq!(
        (&other["judged"], &other["index"], &other["agent"]),
        (&"archive".into(), &false.into(), &"otherbot".into())
    );
    let other = named("noindex", &["--agent", "OtherBot/2"]);
    assert_eq!((&other["judged"], &other["index"]), (&"headers".into(), &false.into()));
    let other = named("xours", &["--agent", "OtherBot/2"]);
    assert_eq!((&other["judged"], &other["index"]), (&"headers".into(), &true.into()));
    let other = named("ours", &["--agent", "OtherBot/2"]);
    assert_eq!((&other["judged"], &other["index"]), (&"headers".into(), &true.into()));

    let words = check(&["http://A.test:80/c/noindex"]).expect(0).stdout.clone();
    for said in [
        "/c/noindex: visited 2",
        "status 200",
        "as recorded at the visit",
        "noindex (meta robots: noindex)",
        "the text may not be stored",
        "not archived",
        "queued",
    ] {
        assert!(words.contains(said), "{said:?} isn't in\n{words}");
    }
    let absent = check(&["http://a.test/never"]);
    assert!(absent.expect(2).stderr.contains("has no visit of http://a.test/never"), "{absent}");
    assert!(check(&["no url"]).expect(2).stderr.contains("no url"));
}
