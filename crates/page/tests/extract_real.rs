//! Titles, encodings and link counts of real documentation pages, beside what other programs found in them.
//!
//! Runs where `REALWEB_ROOT` names the unpacked packages and the shared ground truth is there.
//! `EXTRACT_REPORT=1` prints every difference.

#![allow(clippy::unwrap_used, clippy::format_collect, reason = "helpers of tests stop where tests do")]

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use page::extract::{ExtractInput, ExtractLimits, LinkKind, extract};
use page::url::{CrawlUrl, Scheme};
use serde_json::Value;
use url::Url;

fn roots() -> Option<(PathBuf, PathBuf)> {
    let Some(root) = std::env::var_os("REALWEB_ROOT").map(PathBuf::from) else {
        eprintln!("SKIPPED: REALWEB_ROOT isn't set");
        return None;
    };
    let shared = std::env::var("SHARED_DATA")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into());
    let shared = Path::new(&shared).join("realweb");
    if !shared.join("groundtruth/pages.jsonl.gz").exists() {
        eprintln!("SKIPPED: no ground truth in {}", shared.display());
        return None;
    }
    Some((root, shared))
}

fn percent_decoded(path: &str) -> PathBuf {
    let mut out = Vec::new();
    let mut bytes = path.bytes();
    while let Some(b) = bytes.next() {
        if b == b'%' {
            let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
            out.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
        } else {
            out.push(b);
        }
    }
    PathBuf::from(String::from_utf8(out).unwrap())
}

#[test]
fn real_pages_give_what_the_ground_truth_has() {
    let Some((root, shared)) = roots() else { return };
    let sites: Value = serde_json::from_slice(&std::fs::read(shared.join("sites.json")).unwrap()).unwrap();
    let port = &sites["port"];
    let mut folders = BTreeMap::new();
    let mut indexes = BTreeMap::new();
    for site in sites["sites"].as_array().unwrap() {
        if let Some(index) = site["index"].as_str() {
            indexes.insert(site["name"].as_str().unwrap(), index.to_owned());
        }
        folders.insert(
            site["name"].as_str().unwrap(),
            (site["root"].as_str().unwrap(), site["charset"].as_str()),
        );
    }
    let mut truth = String::new();
    let packed = std::fs::File::open(shared.join("groundtruth/pages.jsonl.gz")).unwrap();
    GzDecoder::new(packed).read_to_string(&mut truth).unwrap();

    let limits = ExtractLimits::default();
    let mut differences: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let (mut compared, mut made_by_server) = (0, 0);
    for line in truth.lines() {
        let expected: Value = serde_json::from_str(line).unwrap();
        let (host, path) = (expected["h"].as_str().unwrap(), expected["p"].as_str().unwrap());
        let (folder, charset) = folders[host];
        let mut file = root.join("root").join(folder).join(percent_decoded(path.trim_start_matches('/')));
        if path.ends_with('/') {
            file.push(indexes.get(host).map_or("index.html", |i| i.as_str()));
        }
        let Ok(body) = std::fs::read(&file) else {
            made_by_server += 1; // a listing of a directory
            continue;
        };
        compared += 1;
        let url = Url::parse(&format!("http://{host}:{port}{path}")).unwrap();
        let content_type = charset.map_or("text/html".into(), |c| format!("text/html; charset={c}"));
        let found = extract(&ExtractInput {
            body: &body,
            content_type: Some(&content_type),
            url: &url,
            link_headers: &[],
            limits: &limits,
            want_text: false,
            want_styles: false,
        });
        let mut differs = |what, found: &dyn std::fmt::Debug, expected: &dyn std::fmt::Debug| {
            differences.entry(what).or_default().push(format!("{host}{path}: {found:?}, not {expected:?}"));
        };
        if found.title.as_deref() != expected["t"].as_str() {
            differs("title", &found.title, &expected["t"]);
        }
        if Some(found.charset) != expected["e"].as_str()
            || Some(found.charset_source.name()) != expected["es"].as_str()
        {
            let note = (&expected["e"], &expected["es"], &expected["d"], &expected["act"]);
            differs("charset", &(found.charset, found.charset_source.name()), &note);
        }
        if found.language.as_deref() != expected["lang"].as_str() {
            differs("language", &found.language, &expected["lang"]);
        }
        // What isn't recorded is counted without its kind, so that the count of `a` has bounds only.
        let recorded = found.links.iter().filter(|l| l.kind == LinkKind::A).count() as u64;
        let counted = u64::from(found.same_page + found.other_schemes + found.repeated);
        if !(recorded..=recorded + counted).contains(&expected["a"].as_u64().unwrap()) {
            differs("a", &(recorded, counted), &expected["a"]);
        }
        let mut same_host = HashSet::new();
        let mut other_hosts = HashSet::new();
        for link in found.links.iter().filter(|l| {
            matches!(
                l.kind,
                LinkKind::A
                    | LinkKind::Area
                    | LinkKind::Link
                    | LinkKind::Frame
                    | LinkKind::Iframe
                    | LinkKind::Refresh
            )
        }) {
            let Ok(target) = link.target.clone() else { continue };
            let here =
                target.scheme() == Scheme::Http && target.host() == host && target.port() == url.port();
            if here { &mut same_host } else { &mut other_hosts }.insert(target);
        }
        // The ground truth passes over `href=""`, which leads to the page itself as `#part` does.
        let text = String::from_utf8_lossy(&body);
        if found.same_page > 0 && (text.contains("href=\"#") || text.contains("href='#")) {
            same_host.insert(CrawlUrl::from_url(url.clone()).unwrap());
        }
        if Some(same_host.len() as u64) != expected["l"].as_u64() {
            differs("same-host links", &same_host.len(), &expected["l"]);
        }
        // It tells `http://host` from `http://host/`, which are one URL.
        let twice = other_hosts
            .iter()
            .map(CrawlUrl::as_str)
            .filter(|&u| u.ends_with('/') && u.matches('/').count() == 3)
            .filter(|u| [format!("href=\"{u}\""), format!("href=\"{u}#")].iter().any(|h| text.contains(h)))
            .filter(|u| text.contains(&format!("href=\"{}\"", &u[..u.len() - 1])))
            .count();
        if Some((other_hosts.len() + twice) as u64) != expected["x"].as_u64() {
            differs("other-host links", &other_hosts.len(), &expected["x"]);
        }
    }
    eprintln!("{compared} pages compared, {made_by_server} made by the server");
    for (what, all) in &differences {
        eprintln!("{what}: {} differ", all.len());
        if std::env::var_os("EXTRACT_REPORT").is_some() {
            for difference in all {
                eprintln!("  {difference}");
            }
        }
    }
    assert!(differences.is_empty());
}
