//! Reads the conformance vectors in `tests/data/vectors`, and the real files beside the checkout.
#![allow(clippy::unwrap_used, reason = "a table that can't be read fails the test")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::path::PathBuf;

use serde_json::Value;

/// A file in the directory `shared` beside the checkout, or where `SHARED_DATA` points. Its absence fails in CI and is reported elsewhere.
pub fn shared(file: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SHARED_DATA").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let path = root.join(file);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("CI").is_none(), "{} is missing, and CI is set", path.display());
    eprintln!("SKIPPED: {} is missing", path.display());
    None
}

/// The objects of a file of one JSON object a line.
pub fn rows(file: &str) -> Vec<Value> {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/vectors/robots");
    let path = PathBuf::from(vectors).join(file);
    parse_rows(&std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

pub fn parse_rows(text: &str) -> Vec<Value> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The real files.
pub fn real() -> Vec<Value> {
    use std::io::Read as _;
    let Some(path) = shared("vectors/robots/real.jsonl.gz") else { return Vec::new() };
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    parse_rows(&text)
}

/// The bytes of a case's robots.txt.
pub fn body(row: &Value) -> Vec<u8> {
    if let Some(text) = row["robots"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(text) = row["robots_b64"].as_str() {
        return data_encoding::BASE64.decode(text.as_bytes()).unwrap();
    }
    parts(&row["robots_parts"]).into_bytes()
}

/// The URL of a case; none where the case asks for something else.
pub fn url(row: &Value) -> Option<String> {
    match (&row["url"], &row["url_parts"]) {
        (Value::String(url), _) => Some(url.clone()),
        (_, Value::Array(_)) => Some(parts(&row["url_parts"])),
        _ => None,
    }
}

fn parts(parts: &Value) -> String {
    let part =
        |part: &Value| part[0].as_str().unwrap().repeat(usize::try_from(part[1].as_u64().unwrap()).unwrap());
    parts.as_array().unwrap().iter().map(part).collect()
}
