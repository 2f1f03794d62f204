//! The files of a deposit, of a crawl whose every text is hostile, and of one without anything.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{About, Provenance, write_provenance};
use crate::report::Report;
use crate::report::tests::{HOSTILE, empty, hostile};

/// SHA-256 of `abc` (FIPS 180-4, example of NIST's CSRC).
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn about() -> About {
    About {
        title: Some(format!("A title: {HOSTILE}")),
        authors: vec!["Ann \"Example\"".to_owned(), "Bo".to_owned()],
        license: Some("https://spdx.org/licenses/CC0-1.0".to_owned()),
    }
}

fn write(report: &Report, about: &About, dir: &Path) -> Provenance {
    write_provenance(report, about, dir).unwrap()
}

fn json(dir: &Path, name: &str) -> Value {
    serde_json::from_slice(&fs::read(dir.join(name)).unwrap()).unwrap()
}

#[test]
fn every_entity_that_is_referred_to_is_there() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    fs::create_dir(dir.join("warc")).unwrap();
    fs::write(dir.join("warc/a b.txt"), "abc").unwrap();
    for (report, about) in [(hostile(), about()), (empty(), About::default())] {
        write(&report, &about, dir);
        let document = json(dir, "ro-crate-metadata.json");
        let graph = document["@graph"].as_array().unwrap();
        let ids: HashSet<&str> = graph.iter().map(|entity| entity["@id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), graph.len(), "each id once");
        for entity in graph {
            for (name, value) in entity.as_object().unwrap() {
                let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
                for id in values.iter().filter_map(|value| value["@id"].as_str()) {
                    assert!(ids.contains(id) || name == "conformsTo", "{name}: {id}");
                }
            }
        }
        // RO-Crate 1.1, "Root Data Entity": these it must have.
        let root = graph.iter().find(|entity| entity["@id"] == "./").unwrap();
        assert!(
            ["name", "description", "datePublished"].iter().all(|name| root[*name].is_string()),
            "{root}"
        );
        let file = graph.iter().find(|entity| entity["@id"] == "warc/a%20b.txt").unwrap();
        assert_eq!((&file["sha256"], &file["contentSize"]), (&ABC.into(), &"3".into()));
    }
}

#[test]
fn the_tables_that_are_there_are_record_sets_with_their_columns() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    fs::create_dir(dir.join("tables")).unwrap();
    fs::write(dir.join("tables/errors.csv"), "url,status,\"a, b\"\r\nhttp://a.test/,404,\r\n").unwrap();
    fs::write(dir.join("tables/pages.parquet"), "PAR1").unwrap();
    fs::write(dir.join("nothing.csv"), "x\r\n").unwrap();
    write(&hostile(), &about(), dir);
    let document = json(dir, "croissant.json");
    assert_eq!(document["license"], "https://spdx.org/licenses/CC0-1.0");
    let sets = document["recordSet"].as_array().unwrap();
    assert_eq!(sets.len(), 1, "Parquet has its own schema, and nothing.csv is no table");
    let fields: Vec<_> = sets[0]["field"]
        .as_array()
        .unwrap()
        .iter()
        .map(|field| {
            (field["source"]["extract"]["column"].as_str().unwrap(), field["dataType"].as_str().unwrap())
        })
        .collect();
    assert_eq!(fields, [("url", "sc:Text"), ("status", "sc:Integer"), ("a, b", "sc:Text")]);
    let files: Vec<_> = document["distribution"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["contentUrl"].as_str().unwrap())
        .collect();
    assert_eq!(
        files,
        [
            "CITATION.cff",
            "datasheet.md",
            "methods.md",
            "nothing.csv",
            "report.html",
            "report.json",
            "tables/errors.csv",
            "tables/pages.parquet"
        ]
    );
}

#[test]
fn texts_that_people_edit_are_kept_and_the_others_replaced() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = &temporary.path().join("new/deposit");
    let first = write(&hostile(), &about(), dir);
    assert_eq!((first.written.len(), first.kept.len(), first.described), (7, 0, 5));
    fs::write(dir.join("datasheet.md"), "edited").unwrap();
    fs::remove_file(dir.join("methods.md")).unwrap();
    fs::write(dir.join("report.html"), "old").unwrap();
    let second = write(&hostile(), &about(), dir);
    assert_eq!(second.kept, ["CITATION.cff", "datasheet.md"]);
    assert_eq!(
        second.written,
        ["report.html", "report.json", "methods.md", "croissant.json", "ro-crate-metadata.json"]
    );
    assert_eq!(fs::read_to_string(dir.join("datasheet.md")).unwrap(), "edited");
    assert!(fs::read_to_string(dir.join("report.html")).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn hidden_files_and_links_are_not_described() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    fs::write(dir.join(".hidden"), "x").unwrap();
    std::os::unix::fs::symlink("/etc/hostname", dir.join("link")).unwrap();
    assert_eq!(write(&empty(), &About::default(), dir).described, 5);
}

#[test]
fn a_hostile_text_stays_one_value_of_the_citation() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    write(&hostile(), &About { title: Some("a\n- b: [c]\t# \"d\"".to_owned()), ..about() }, dir);
    let text = fs::read_to_string(dir.join("CITATION.cff")).unwrap();
    // JSON strings are scalars of YAML (1.2, section 7.3.1).
    assert!(text.contains("\ntitle: \"a - b: [c] # \\\"d\\\"\"\n"), "{text}");
    assert!(text.contains("\n  - name: \"Ann \\\"Example\\\"\"\n  - name: \"Bo\"\n"), "{text}");
    let keys: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split(':').next().unwrap_or_default())
        .collect();
    assert_eq!(
        keys,
        [
            "cff-version",
            "message",
            "type",
            "title",
            "abstract",
            "date-released",
            "license-url",
            "authors",
            "identifiers",
            "references"
        ]
    );
}

#[test]
fn what_the_database_cannot_know_is_left_to_the_authors() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    write(&empty(), &About::default(), dir);
    let datasheet = fs::read_to_string(dir.join("datasheet.md")).unwrap();
    assert!(
        datasheet.contains("**For what purpose was the data set made?** *To be written by the authors.*")
    );
    assert!(datasheet.contains("**Under which licence?** None was named."));
    let document = json(dir, "ro-crate-metadata.json");
    let root =
        document["@graph"].as_array().unwrap().iter().find(|entity| entity["@id"] == "./").unwrap().clone();
    // RO-Crate 1.2, "Direct properties of the Root Data Entity": it must have a licence; where there is none, its text says so.
    let license = &root["license"]["@id"];
    let license = document["@graph"].as_array().unwrap().iter().find(|entity| entity["@id"] == *license);
    assert_eq!(license.unwrap()["name"], "No licence");
}
