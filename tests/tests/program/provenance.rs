//! The methods text and the metadata of a crawl of three runs, compared with what its web saw: requests by status and run, documents by type, the gaps of each run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use whole_program::request_log::Request;
use whole_program::rules::Rules;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

/// A GIF image of one pixel (`GIF89a`).
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff!\xf9\x04\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

/// Paths with their type and how a page names each: as a link, or as a resource that it embeds.
const DOCUMENTS: [(&str, &str, bool); 12] = [
    ("/", "text/html", false),
    ("/one", "text/html", false),
    ("/two", "text/html", false),
    ("/three", "application/xhtml+xml", false),
    ("/data.json", "application/json", false),
    ("/text.txt", "text/plain", false),
    ("/paper.pdf", "application/pdf", false),
    ("/linked.gif", "image/gif", false),
    ("/a.gif", "image/gif", true),
    ("/b.gif", "image/gif", true),
    ("/style.css", "text/css", true),
    ("/script.js", "text/javascript", true),
];

fn web() -> Sites {
    let mut sites =
        Sites::new().page("a.test", "/robots.txt", Answer::robots(Rules::default().deny("/private/")));
    let linked = DOCUMENTS.iter().filter(|(_, _, embedded)| !embedded);
    let links: Vec<String> = linked.map(|(path, ..)| format!("<a href={path}>{path}</a> ")).collect();
    let links = links.concat();
    let front =
        format!("<title>Front</title>{links}<a href=/private/x>p</a><a href=/gone>g</a><a href=/moved>m</a>");
    let embedding = "<img src=/a.gif><img src=/b.gif><link rel=stylesheet href=/style.css><script src=/script.js></script>";
    for (path, kind, _) in DOCUMENTS {
        let body: Vec<u8> = match path {
            "/" => front.clone().into(),
            "/one" => format!("<title>One</title>{embedding}<p>one").into(),
            "/three" => {
                "<html xmlns='http://www.w3.org/1999/xhtml'><head><title>3</title></head><body/></html>"
                    .into()
            }
            _ if kind == "image/gif" => GIF.into(),
            _ if kind == "application/pdf" => "%PDF-1.4\n%%EOF\n".into(),
            _ if kind == "application/json" => "{\"a\": 1}".into(),
            path => format!("<!-- {path} --> text of {path}").into(),
        };
        sites = sites.page("a.test", path, Answer::content(kind, body));
    }
    sites.page("a.test", "/moved", Answer::redirect(301, "/two"))
}

/// What the web saw of one run.
fn seen(log: &[Request], from: usize) -> (usize, BTreeMap<u16, usize>) {
    let mut statuses = BTreeMap::new();
    for request in &log[from..] {
        *statuses.entry(request.status.expect("each was answered")).or_default() += 1;
    }
    (log.len() - from, statuses)
}

/// The gaps between the requests of a run, as the web saw them, the shortest first. Those of the crawler are no longer: the end of a response is earlier here,
/// and the next request is later.
fn gaps(log: &[Request]) -> Vec<f64> {
    let mut gaps: Vec<f64> =
        log.windows(2).map(|pair| pair[1].start.saturating_sub(pair[0].end).as_secs_f64()).collect();
    gaps.sort_by(f64::total_cmp);
    gaps
}

#[test]
fn methods_and_metadata_say_what_the_web_saw_in_three_runs() {
    let scene = Scene::new(web());
    let delays = ["40ms", "80ms", "60ms"];
    let mut begins = Vec::new();
    begins.push(scene.server.log().len());
    scene.crawl_every(delays[0]).args(["--max-pages", "3"]).run().expect(10);
    begins.push(scene.server.log().len());
    scene.resume().args(["--delay", delays[1], "--resources", "--max-pages", "none"]).run().expect(0);
    begins.push(scene.server.log().len());
    scene
        .look("recrawl", &["--older-than", "0s", "--delay", delays[2], "--max-pages", "none", "--resources"])
        .expect(0);
    let log = scene.server.log();

    let deposit = scene.path("deposit");
    let place = deposit.to_str().expect("a path of text");
    scene.look("export", &["--format", "csv", "-o", &format!("{place}/tables/")]).expect(0);
    scene.look("report", &["--provenance", place]).expect(0);
    let read = |name: &str| std::fs::read_to_string(deposit.join(name)).expect("it was written");
    let methods = read("methods.md");
    let says = |part: &str| assert!(methods.contains(part), "{part}\n{methods}");

    // What was set and what changed, by run.
    says("in 3 runs");
    says("at least 40ms (run 1); 80ms (run 2); 60ms (run 3) between");
    says("`pace.delay` = `40ms (run 1); 80ms (run 2); 60ms (run 3)`");
    says("`scope.resources` = `false (run 1); true (runs 2 and 3)`");
    says("Scope in run 1: the hosts of the seeds; not the resources that pages embed");
    says("Scope in runs 2 and 3: the hosts of the seeds; the resources that pages embed");

    // The requests, all and by run.
    let (all, statuses) = seen(&log, 0);
    says(&format!("{all} requests were sent"));
    let by_status: Vec<String> =
        statuses.iter().map(|(status, count)| format!("{status}: {count}")).collect();
    says(&format!("(responses by status: {})", by_status.join(", ")));
    let report: Value = serde_json::from_str(&read("report.json")).expect("it is JSON");
    let runs = report["activity"]["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 3);
    let ends = begins[1..].iter().copied().chain([log.len()]);
    for (((run, from), to), delay) in runs.iter().zip(&begins).zip(ends).zip([0.04, 0.08, 0.06]) {
        let of_run = &log[*from..to];
        let number = &run["run"];
        let figure = |name: &str| run[name].as_f64().expect("a number");
        assert_eq!(run["requests"], of_run.len(), "run {number}");
        assert!((figure("delay") - delay).abs() < 1e-9, "{run}");
        let seen = gaps(of_run);
        assert_eq!(run["gaps"], seen.len(), "run {number}");
        for (name, seen) in [("least_gap", seen[0]), ("median_gap", seen[seen.len() / 2])] {
            assert!(figure(name) + 1e-5 >= delay && figure(name) <= seen + 1e-5, "{name} {run}: {seen}");
        }
        let row = format!(
            "| {} s | {} | {} s | {} s |",
            figure("delay"),
            seen.len(),
            figure("least_gap"),
            figure("median_gap")
        );
        assert!(methods.contains(&row), "{row}\n{methods}");
    }

    // The documents that the web served, by type.
    let served: BTreeSet<&str> = log
        .iter()
        .filter(|request| request.status == Some(200) && request.path != "/robots.txt")
        .map(|request| request.path.as_str())
        .collect();
    assert_eq!(served, DOCUMENTS.iter().map(|(path, _, _)| *path).collect(), "all were asked for");
    says("The data have 4 HTML pages and 8 other documents (status 2xx) of 1 host");
    for (kind, count) in [
        ("image", 3),
        ("PDF file", 1),
        ("JSON document", 1),
        ("text file", 1),
        ("style sheet", 1),
        ("script", 1),
    ] {
        let plural = if count == 1 { "" } else { "s" };
        says(&format!("{count} {kind}{plural}"));
    }
    says("fetched as resources of pages: 2 images");
    says("1 redirect and 1 URL that failed are recorded");
    says("1 URL was found and skipped (robots.txt: 1)");
    assert!(!methods.contains("no images"), "{methods}");
    let datasheet = read("datasheet.md");
    assert!(datasheet.contains("4 HTML pages and 8 other documents (status 2xx) of 1 host"), "{datasheet}");
    let citation = read("CITATION.cff");
    assert!(citation.contains("abstract: \"4 HTML pages and 8 other documents of 1 host"), "{citation}");

    // The metadata quote the same paragraph, and the times of the first and last run.
    let paragraph = methods.lines().nth(2).expect("a paragraph").replace('\\', "");
    let crate_of: Value = serde_json::from_str(&read("ro-crate-metadata.json")).expect("it is JSON");
    let graph = crate_of["@graph"].as_array().expect("a list");
    let entity = |id: &str| graph.iter().find(|entity| entity["@id"] == id).expect("it is there");
    assert_eq!(entity("ro-crate-metadata.json")["conformsTo"]["@id"], "https://w3id.org/ro/crate/1.2");
    let action = entity("#crawl");
    assert_eq!(action["description"].as_str().map(|text| text.replace('\\', "")), Some(paragraph.clone()));
    assert_eq!(
        (&action["startTime"], &action["endTime"]),
        (&report["summary"]["started"], &runs[2]["ended"])
    );
    let croissant: Value = serde_json::from_str(&read("croissant.json")).expect("it is JSON");
    assert_eq!(croissant["conformsTo"], "http://mlcommons.org/croissant/1.1");
    let description = croissant["description"].as_str().expect("a text").replace('\\', "");
    assert!(description.ends_with(&paragraph), "{description}");
}
