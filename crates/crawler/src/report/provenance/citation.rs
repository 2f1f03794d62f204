//! `CITATION.cff`, version 1.2.0.

use std::fmt::Write as _;

use super::facts::Facts;
use super::texts::abstract_text;

/// The file.
pub(super) fn citation(facts: &Facts) -> String {
    let mut text = String::from(
        "cff-version: 1.2.0\nmessage: If you use these data, please cite them as below.\ntype: dataset\n",
    );
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(text, "{key}: {}", quoted(value));
    };
    line("title", &facts.title);
    line("abstract", &abstract_text(facts));
    line("date-released", &facts.day);
    if let Some(license) = &facts.license {
        line("license-url", license);
    }
    text.push_str("authors:\n");
    for author in facts.creators() {
        let _ = writeln!(text, "  - name: {}", quoted(&author));
        // The contacts are those of the robot's operators.
        if !facts.authors.is_empty() {
            continue;
        }
        if let Some(email) = facts.email() {
            let _ = writeln!(text, "    email: {}", quoted(email));
        }
        if let Some(url) = facts.website() {
            let _ = writeln!(text, "    website: {}", quoted(&url));
        }
    }
    text.push_str("identifiers:\n");
    let mut identifier = |value: &str, about: &str| {
        let _ = writeln!(
            text,
            "  - type: other\n    value: {}\n    description: {}",
            quoted(value),
            quoted(about)
        );
    };
    identifier(&format!("urn:uuid:{}", facts.crawl_id), "id of the crawl");
    if let Some(head) = &facts.head {
        identifier(head, "head of the ledger's chain, for `crawl audit --head`");
    }
    let (name, version) = &facts.program;
    let _ = write!(
        text,
        "references:\n  - type: software\n    title: {}\n    version: {}\n    authors:\n      - name: {}\n",
        quoted(name),
        quoted(version),
        quoted(&format!("The authors of {name}")),
    );
    text
}

/// A text as a double-quoted scalar of YAML 1.2 (section 7.3.1), of which JSON's strings are a part.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
