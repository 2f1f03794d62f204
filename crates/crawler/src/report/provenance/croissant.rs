//! `croissant.json`: Croissant 1.1, JSON-LD that loaders of data sets read.

use serde_json::{Value, json};

use super::facts::Facts;
use super::files::DescribedFile;
use super::texts::{abstract_text, methods};
use crate::view::{Column, Kind, Table};

/// The whole document. Record sets are the tables that are there as CSV; loaders read the other forms by their own schema.
pub(super) fn dataset(facts: &Facts, files: &[DescribedFile]) -> Value {
    let url = facts.website().unwrap_or_else(|| format!("urn:uuid:{}", facts.crawl_id));
    let creators: Vec<Value> =
        facts.creators().iter().map(|name| json!({"@type": "Organization", "name": name})).collect();
    let mut dataset = json!({
        "@context": context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": facts.title,
        "description": format!("{} {}", abstract_text(facts), methods(facts)),
        "datePublished": facts.day,
        "version": "1.0.0",
        "url": url,
        "creator": creators,
        "citeAs": format!("{}. {}. {}.", facts.creators().join(", "), facts.title, facts.day),
        "distribution": files.iter().map(file_object).collect::<Vec<_>>(),
        "recordSet": files.iter().filter(|file| file.media_type == "text/csv").filter_map(record_set).collect::<Vec<_>>(),
    });
    if let Some(license) = &facts.license {
        dataset["license"] = json!(license);
    }
    dataset
}

fn file_object(file: &DescribedFile) -> Value {
    json!({
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "description": file.about,
        "contentUrl": file.path,
        "contentSize": format!("{} B", file.size),
        "encodingFormat": file.media_type,
        "sha256": file.sha256,
    })
}

fn record_set(file: &DescribedFile) -> Option<Value> {
    let (table, columns) = file.table.as_ref()?;
    let known = table.columns();
    let fields: Vec<Value> = columns
        .iter()
        .map(|name| field(file, *table, name, known.iter().find(|column| column.name == *name)))
        .collect();
    Some(json!({
        "@type": "cr:RecordSet",
        "@id": format!("{}#rows", file.path),
        "name": table.name(),
        "description": table.about(),
        "field": fields,
    }))
}

fn field(file: &DescribedFile, table: Table, name: &str, column: Option<&Column>) -> Value {
    let kind = column.map_or(Kind::Text, |column| column.kind);
    let about = column.map_or_else(|| format!("Column {name}."), |column| column.about.trim().to_owned());
    json!({
        "@type": "cr:Field",
        "@id": format!("{}#{}/{name}", file.path, table.name()),
        "name": name,
        "description": about,
        "dataType": data_type(kind),
        "source": {"fileObject": {"@id": file.path}, "extract": {"column": name}},
    })
}

/// Lists and objects are texts in CSV.
fn data_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer => "sc:Integer",
        Kind::Number => "sc:Float",
        Kind::Boolean => "sc:Boolean",
        Kind::Time => "sc:DateTime",
        Kind::Text | Kind::List | Kind::Object => "sc:Text",
    }
}

/// The context of Croissant 1.1, of its specification's appendix.
fn context() -> Value {
    let mut context = json!({
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
        "conformsTo": "dct:conformsTo",
        "data": {"@id": "cr:data", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
        "description": {"@container": "@language"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "name": {"@container": "@language"},
    });
    for term in TERMS {
        context[term] = json!(format!("cr:{term}"));
    }
    context
}

/// The terms of Croissant's own vocabulary.
const TERMS: [&str; 35] = [
    "annotation",
    "arrayShape",
    "citeAs",
    "column",
    "containedIn",
    "equivalentProperty",
    "excludes",
    "extract",
    "field",
    "fileObject",
    "fileProperty",
    "fileSet",
    "format",
    "includes",
    "isArray",
    "isLiveDataset",
    "jsonPath",
    "key",
    "md5",
    "parentField",
    "path",
    "readLines",
    "recordSet",
    "references",
    "regex",
    "repeated",
    "replace",
    "samplingRate",
    "sdVersion",
    "separator",
    "source",
    "subField",
    "transform",
    "unArchive",
    "value",
];
