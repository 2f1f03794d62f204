//! What a data repository, a reader or a reviewer needs to know of a crawl, as the files that they expect.
//!
//! The formats: [RO-Crate 1.2](https://www.researchobject.org/ro-crate/specification/1.2/), [Croissant
//! 1.1](https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html), [CITATION.cff
//! 1.2.0](https://github.com/citation-file-format/citation-file-format), a datasheet (Gebru et al.,
//! [doi:10.1145/3458723](https://doi.org/10.1145/3458723)), and a methods paragraph.

mod citation;
mod croissant;
mod facts;
mod files;
mod ro_crate;
#[cfg(test)]
mod tests;
mod texts;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use self::facts::Facts;
use self::files::described_files;
use super::Report;
use crate::output_file;

/// What a crawl's database can't know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// The title of the data. Default: `Crawl` and the beginning of its id.
    pub title: Option<String>,
    /// The authors, by name. Default: the operators of the robot.
    pub authors: Vec<String>,
    /// The URL of the licence. Default: none, and the datasheet says so.
    pub license: Option<String>,
}

/// A file that can't be written or read.
#[derive(Debug, thiserror::Error)]
#[error("{} can't be {verb}", .path.display())]
pub struct ProvenanceError {
    path: PathBuf,
    verb: &'static str,
    source: io::Error,
}

impl ProvenanceError {
    fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, verb: "read", source }
    }

    fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, verb: "written", source }
    }
}

/// What [`write_provenance`] did with the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provenance {
    /// Files that were written.
    pub written: Vec<&'static str>,
    /// Texts that were there already, perhaps edited, and were kept.
    pub kept: Vec<&'static str>,
    /// Other files of the directory that the metadata describe.
    pub described: usize,
}

/// Texts that people edit: they are written once.
const TEXTS: [&str; 3] = ["CITATION.cff", "datasheet.md", "methods.md"];

/// Metadata, written last, which don't describe themselves.
const CROISSANT: &str = "croissant.json";
const RO_CRATE: &str = "ro-crate-metadata.json";

/// Writes the metadata of a crawl to a directory, which is made if it isn't there. Its other files (tables, archives) are described with their size and SHA-256;
/// files named as a table (`pages.csv`, `links.parquet`) with their columns. Memory: the report; files are read once, as streams.
pub fn write_provenance(report: &Report, about: &About, dir: &Path) -> Result<Provenance, ProvenanceError> {
    fs::create_dir_all(dir).map_err(ProvenanceError::write(dir))?;
    let facts = Facts::of(report, about);
    let mut done = Provenance::default();
    let mut put = |name: &'static str, fill: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| {
        let path = dir.join(name);
        if TEXTS.contains(&name) && path.exists() {
            done.kept.push(name);
            return Ok(());
        }
        let mut text = Vec::new();
        let put = |text: &[u8]| output_file::write(&path, |error| error, |out| out.write_all(text));
        fill(&mut text).and_then(|()| put(&text)).map_err(ProvenanceError::write(&path))?;
        done.written.push(name);
        Ok(())
    };
    put("report.html", &|out| report.write_html(out))?;
    put("report.json", &|out| report.write_json(out))?;
    put("CITATION.cff", &|out| out.write_all(citation::citation(&facts).as_bytes()))?;
    put("datasheet.md", &|out| out.write_all(texts::datasheet(&facts).as_bytes()))?;
    put("methods.md", &|out| out.write_all(texts::methods_file(&facts).as_bytes()))?;
    let files = described_files(dir, &[CROISSANT, RO_CRATE])?;
    put(CROISSANT, &|out| pretty(out, &croissant::dataset(&facts, &files)))?;
    let croissant = described_files(dir, &[RO_CRATE])?;
    put(RO_CRATE, &|out| pretty(out, &ro_crate::graph(&facts, &croissant)))?;
    done.described = files.len();
    Ok(done)
}

fn pretty(out: &mut Vec<u8>, value: &serde_json::Value) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.push(b'\n');
    Ok(())
}
