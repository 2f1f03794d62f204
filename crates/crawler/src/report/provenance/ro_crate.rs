//! `ro-crate-metadata.json`: RO-Crate 1.2, JSON-LD with one flat graph.

use serde_json::{Value, json};

use super::facts::Facts;
use super::files::DescribedFile;
use super::texts::{abstract_text, methods};

/// Id of the licence where none was named: the root must have one.
const NO_LICENSE: &str = "#no-license";

/// The whole document.
pub(super) fn graph(facts: &Facts, files: &[DescribedFile]) -> Value {
    let id = |id: &str| json!({"@id": id});
    let authors: Vec<(String, Value)> = facts
        .creators()
        .iter()
        .enumerate()
        .map(|(place, name)| (format!("#author-{}", place + 1), author(facts, place, name)))
        .collect();
    let author_ids = one_or_many(authors.iter().map(|(author, _)| id(author)).collect());
    let crawl_id = format!("urn:uuid:{}", facts.crawl_id);
    let mut identifiers = vec![id("#crawl-id")];
    let (name, version) = &facts.program;
    let mut entities = vec![
        json!({
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "conformsTo": id("https://w3id.org/ro/crate/1.2"),
            "about": id("./"),
        }),
        json!({"@id": "#crawl-id", "@type": "PropertyValue", "name": "id of the crawl", "value": crawl_id}),
        json!({
            "@id": "#program",
            "@type": "SoftwareApplication",
            "name": name,
            // RO-Crate 1.2, "Describing a Software application", asks for a URL and a version. The program has no web page: a package URL (ECMA-427) names it.
            "version": version,
            "softwareVersion": version,
            "url": format!("pkg:generic/{}@{}", address(name), address(version)),
        }),
        json!({
            "@id": "#crawl",
            "@type": "CreateAction",
            "name": format!("Crawl by {}", facts.agent),
            "description": methods(facts),
            "instrument": id("#program"),
            "agent": author_ids,
            "startTime": facts.start.map(|at| at.to_string()),
            "endTime": facts.end.map(|at| at.to_string()),
            "result": id("./"),
        }),
    ];
    if let Some(head) = &facts.head {
        identifiers.push(id("#ledger-head"));
        entities.push(json!({
            "@id": "#ledger-head",
            "@type": "PropertyValue",
            "name": "head of the ledger's chain",
            "value": head,
        }));
    }
    let coverage = facts.start.zip(facts.end).map(|(start, end)| format!("{start}/{end}"));
    entities.push(json!({
        "@id": "./",
        "@type": "Dataset",
        "name": facts.title,
        "description": abstract_text(facts),
        "datePublished": facts.day,
        "temporalCoverage": coverage,
        "license": id(facts.license.as_deref().unwrap_or(NO_LICENSE)),
        "author": author_ids,
        "identifier": one_or_many(identifiers),
        "mentions": id("#crawl"),
        "hasPart": files.iter().map(|file| id(&address(&file.path))).collect::<Vec<_>>(),
    }));
    entities.push(match &facts.license {
        Some(license) => {
            json!({"@id": license, "@type": "CreativeWork", "name": license, "description": "Licence of the data."})
        }
        None => json!({
            "@id": NO_LICENSE,
            "@type": "CreativeWork",
            "name": "No licence",
            "description": "No licence was named. The pages remain under the rights of their authors.",
        }),
    });
    entities.extend(authors.into_iter().map(|(_, entity)| entity));
    entities.extend(files.iter().map(|file| {
        json!({
            "@id": address(&file.path),
            "@type": "File",
            "name": file.path,
            "description": file.about,
            "encodingFormat": file.media_type,
            "contentSize": file.size.to_string(),
            "sha256": file.sha256,
        })
    }));
    for entity in &mut entities {
        if let Value::Object(members) = entity {
            members.retain(|_, value| !value.is_null());
        }
    }
    json!({"@context": "https://w3id.org/ro/crate/1.2/context", "@graph": entities})
}

/// One value is no list (RO-Crate 1.2, appendix JSON-LD).
fn one_or_many(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.remove(0) } else { Value::Array(values) }
}

fn author(facts: &Facts, place: usize, name: &str) -> Value {
    // The operators of a robot are nobody's name.
    let kind = if facts.authors.is_empty() { "Organization" } else { "Person" };
    let mut author = json!({"@id": format!("#author-{}", place + 1), "@type": kind, "name": name});
    if facts.authors.is_empty() {
        if let Some(email) = facts.email() {
            author["email"] = json!(email);
        }
        if let Some(url) = facts.website() {
            author["url"] = json!(url);
        }
    }
    author
}

/// A path as a relative URI (RFC 3986, section 3.3).
fn address(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            byte => text.extend(['%', digit(byte >> 4), digit(byte & 15)]),
        }
    }
    text
}

fn digit(value: u8) -> char {
    char::from_digit(u32::from(value), 16).unwrap_or('0').to_ascii_uppercase()
}
