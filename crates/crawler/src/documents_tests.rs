//! The documents name tests, modules and files that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with("target") {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
}

/// Names of all test functions: those below a `test` attribute, and those inside `proptest!`.
fn tests() -> BTreeSet<String> {
    let mut files = Vec::new();
    for dir in ["crates", "tests"] {
        sources(&root().join(dir), &mut files);
    }
    let mut names = BTreeSet::new();
    for file in files {
        let mut is_test = false;
        for line in fs::read_to_string(file).unwrap().lines().map(str::trim) {
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some(rest) = line.strip_prefix("fn ").or_else(|| line.strip_prefix("async fn "))
                && is_test
            {
                names.insert(rest.split('(').next().unwrap_or_default().to_owned());
                is_test = false;
            }
        }
    }
    names
}

/// The code spans in the last column of the rows of a table.
fn last_column(text: &str) -> Vec<String> {
    let rows = text.lines().filter(|line| line.starts_with('|') && line.ends_with('|'));
    let cells = rows.filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Whether a code span is the name of a test, which is a sentence: columns and settings have fewer words.
fn is_sentence(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.split('_').count() > 3 && name.split('_').all(is_word)
}

#[test]
fn documents_name_real_tests_and_modules() {
    let tests = tests();
    assert!(tests.contains("documents_name_real_tests_and_modules"), "the search finds itself");
    let mut named = 0;
    for (document, from) in
        [("ARCHITECTURE.md", "## Invariants"), ("politeness.md", "# "), ("faults.md", "# ")]
    {
        let text = fs::read_to_string(root().join("docs").join(document)).unwrap();
        let part = &text[text.find(from).unwrap()..];
        for name in last_column(part) {
            named += 1;
            assert!(tests.contains(&name), "docs/{document} names `{name}`, and there is no such test");
        }
    }
    // Tests that the text names, outside of tables.
    for document in ["politeness.md", "limits.md", "faults.md"] {
        let text = fs::read_to_string(root().join("docs").join(document)).unwrap();
        for name in text.split('`').skip(1).step_by(2).filter(|name| is_sentence(name)) {
            named += 1;
            assert!(tests.contains(name), "docs/{document} names `{name}`, and there is no such test");
        }
    }
    assert!(named > 200, "only {named} tests are named");
    let text = fs::read_to_string(root().join("docs/faults.md")).unwrap();
    for row in text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| fault ")) {
        assert!(
            last_column(row).iter().any(|name| is_sentence(name)),
            "a row of docs/faults.md names no test: {row}"
        );
    }

    let text = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let rooms: BTreeSet<String> = text
        .lines()
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| {
            cell.split('`')
                .skip(1)
                .step_by(2)
                .map(|name| name.trim_matches('/').to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    let libs = ["page", "crawler"].map(|name| root().join("crates").join(name).join("src/lib.rs"));
    let modules: BTreeSet<String> = libs
        .iter()
        .map(|lib| fs::read_to_string(lib).unwrap())
        .collect::<String>()
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect();
    assert_eq!(rooms, modules, "docs/ARCHITECTURE.md lists the modules of these crates");
    assert!(text.lines().count() < 90, "it fits on a page");
}

/// Where the path of a source file in a document may begin.
const BASES: [&str; 11] = [
    "",
    "tests",
    "crates/crawler",
    "crates/crawler/src",
    "crates/meta",
    "crates/meta/src",
    "crates/page",
    "crates/page/src",
    "crates/page/src/extract",
    "crates/robots",
    "crates/robots/src",
];

fn documents(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            documents(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "md") {
            found.push(entry);
        }
    }
}

#[test]
fn documents_name_source_files_that_exist() {
    let mut files = Vec::new();
    documents(&root().join("docs"), &mut files);
    let mut named = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        for path in spans.filter(|span| {
            Path::new(span).extension().is_some_and(|end| end == "rs") && !span.contains([' ', '*'])
        }) {
            named += 1;
            let exists = BASES.iter().any(|base| root().join(base).join(path).exists());
            assert!(exists, "{} names `{path}`, and there is no such file", file.display());
        }
    }
    assert!(named > 40, "only {named} files are named");
}
