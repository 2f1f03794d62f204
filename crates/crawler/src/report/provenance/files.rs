//! The files of a directory: size, digest, type, and the table that a file holds.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use data_encoding::HEXLOWER;
use ring::digest::{Context, SHA256};

use super::ProvenanceError;
use crate::nofollow;
use crate::view::Table;

/// A file that the metadata describe.
#[derive(Debug, Clone)]
pub(super) struct DescribedFile {
    /// Path from the directory, with `/`.
    pub(super) path: String,
    /// Bytes.
    pub(super) size: u64,
    /// SHA-256, as lower-case hex digits.
    pub(super) sha256: String,
    /// Media type.
    pub(super) media_type: &'static str,
    /// What it is.
    pub(super) about: String,
    /// The table that it holds, with its columns as far as they are known.
    pub(super) table: Option<(Table, Vec<String>)>,
}

/// Media types by the end of a name.
const MEDIA_TYPES: [(&str, &str); 14] = [
    (".warc.gz", "application/warc"),
    (".warc", "application/warc"),
    (".wacz", "application/wacz"),
    (".cdxj", "text/x-cdxj"),
    (".csv", "text/csv"),
    (".parquet", "application/vnd.apache.parquet"),
    (".jsonl", "application/jsonl"),
    (".json", "application/json"),
    (".sqlite", "application/vnd.sqlite3"),
    (".graphml", "application/graphml+xml"),
    (".html", "text/html"),
    (".md", "text/markdown"),
    (".cff", "application/yaml"),
    (".toml", "application/toml"),
];

/// Longest header line of a CSV file that is read for its columns.
const LONGEST_HEADER: u64 = 1 << 20;

/// Every file below a directory, by path, without the named ones, hidden ones and symbolic links. Reads each once.
pub(super) fn described_files(dir: &Path, without: &[&str]) -> Result<Vec<DescribedFile>, ProvenanceError> {
    let mut files = Vec::new();
    add(dir, "", without, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn add(
    dir: &Path,
    before: &str,
    without: &[&str],
    files: &mut Vec<DescribedFile>,
) -> Result<(), ProvenanceError> {
    for entry in fs::read_dir(dir).map_err(ProvenanceError::read(dir))? {
        let entry = entry.map_err(ProvenanceError::read(dir))?;
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
        let kind = entry.file_type().map_err(ProvenanceError::read(&path))?;
        let inside = format!("{before}{name}");
        if kind.is_dir() {
            add(&path, &format!("{inside}/"), without, files)?;
        } else if kind.is_file() && !without.contains(&inside.as_str()) {
            files.push(described(&path, inside)?);
        }
    }
    Ok(())
}

fn described(path: &Path, inside: String) -> Result<DescribedFile, ProvenanceError> {
    let (size, sha256) = digest(path).map_err(ProvenanceError::read(path))?;
    let name = inside.rsplit('/').next().unwrap_or_default();
    let media_type = MEDIA_TYPES.iter().find(|(end, _)| name.ends_with(end));
    let media_type = media_type.map_or("application/octet-stream", |(_, media_type)| media_type);
    let table = table_of(path, name).map_err(ProvenanceError::read(path))?;
    let about = match (&table, name) {
        (Some((table, _)), _) => format!("Table {}: {}.", table.name(), lower_first(table.holds())),
        (None, "report.html") => "Report of the crawl, with plots.".to_owned(),
        (None, "report.json") => "The figures of the report.".to_owned(),
        (None, "CITATION.cff") => "How to cite the data.".to_owned(),
        (None, "datasheet.md") => "Datasheet of the data.".to_owned(),
        (None, "methods.md") => "How the data were collected.".to_owned(),
        (None, "croissant.json") => "Description of the data in Croissant 1.1.".to_owned(),
        (None, "crawl.toml") => "The settings and seeds of the crawl.".to_owned(),
        (None, _) if media_type == "application/warc" => "Archived responses, WARC 1.1.".to_owned(),
        (None, _) if media_type == "application/wacz" => {
            "Archived responses with their index, WACZ.".to_owned()
        }
        (None, _) if media_type == "text/x-cdxj" => "Index of an archive file, CDXJ.".to_owned(),
        (None, name) => format!("File {name}."),
    };
    Ok(DescribedFile { path: inside, size, sha256, media_type, about, table })
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

fn digest(path: &Path) -> std::io::Result<(u64, String)> {
    let (mut file, mut context) = (nofollow::open(path)?, Context::new(&SHA256));
    let (mut size, mut buffer) = (0, vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((size, HEXLOWER.encode(context.finish().as_ref())));
        }
        context.update(&buffer[..read]);
        size += read as u64;
    }
}

/// The table that a file holds by its name: of CSV with the columns of its header, of Parquet and JSON lines with those of the schema.
fn table_of(path: &Path, name: &str) -> std::io::Result<Option<(Table, Vec<String>)>> {
    let Some((stem, end)) = name.split_once('.') else { return Ok(None) };
    let Some(table) = Table::named(stem) else { return Ok(None) };
    match end {
        "csv" => {
            let mut header = String::new();
            BufReader::new(nofollow::open(path)?.take(LONGEST_HEADER)).read_line(&mut header)?;
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(header.as_bytes());
            let columns = reader.records().next().and_then(Result::ok);
            Ok(columns.map(|columns| (table, columns.iter().map(str::to_owned).collect())))
        }
        "parquet" | "jsonl" => {
            Ok(Some((table, table.columns().iter().map(|column| column.name.to_string()).collect())))
        }
        _ => Ok(None),
    }
}
