//! Where an export goes: standard output, a file, a directory of files, or a database. Files are written by [`output_file`].

use std::fs;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crawler::output_file;
use crawler::tables::graph::{Graph, GraphFormat, write_graph};
use crawler::view::{Table, TableFormat, ViewError, write_rows};

use super::{ExportArgs, Format, Job};
use crate::exit::{self, Stop};
use crate::options::path_text;

/// Where the tables go.
#[derive(Debug)]
pub(super) enum Output {
    /// One table to standard output.
    Standard(Table),
    /// One table to a file.
    File(PathBuf, Table),
    /// All tables, or graphs, to a directory.
    Directory(PathBuf),
    /// Tables to a database.
    Database(PathBuf),
}

impl Output {
    /// Decides where to, or says what is missing.
    pub(super) fn new(args: &ExportArgs) -> anyhow::Result<Self> {
        let usage = |what: &str| Err(Stop::new(exit::USAGE, what).into());
        let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
        let is_binary = matches!(args.format, Format::Parquet | Format::Sqlite);
        let names_directory =
            |path: &Path| path.is_dir() || path.as_os_str().to_string_lossy().ends_with('/');
        Ok(match (path, args.table) {
            (None, _) if args.format == Format::Sqlite => {
                return usage("a SQLite database needs a file: -o FILE.sqlite");
            }
            (None, None) => return usage("--table TABLE is required, or -o DIRECTORY for all tables"),
            (None, Some(_)) if (is_binary || args.raw) && io::stdout().is_terminal() => {
                return usage("this output isn't meant for a terminal: use -o FILE or a pipe");
            }
            (None, Some(table)) => Self::Standard(table),
            (Some(path), _) if args.format == Format::Sqlite => {
                if path.is_dir() {
                    return usage("-o is a directory; a SQLite database needs a file: -o FILE.sqlite");
                }
                Self::Database(path.to_owned())
            }
            (Some(path), None) => {
                if path.exists() && !path.is_dir() {
                    return usage("-o is a file; use a directory for all tables, or --table TABLE for one");
                }
                Self::Directory(path.to_owned())
            }
            (Some(path), Some(table)) if names_directory(path) => {
                Self::File(file_in(path, table.name(), args.format), table)
            }
            (Some(path), Some(table)) => Self::File(path.to_owned(), table),
        })
    }

    /// Its name for messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Standard(_) => "standard output".to_owned(),
            Self::File(path, _) | Self::Directory(path) | Self::Database(path) => path_text(path),
        }
    }

    /// Writes everything; returns the number of omitted links.
    pub(super) fn write(&self, job: &Job<'_>) -> Result<u64, ViewError> {
        match self {
            Self::Standard(table) => {
                let mut out = BufWriter::new(io::stdout());
                let written = job.write_table(*table, &mut out).and_then(|omitted| {
                    out.flush()?;
                    Ok(omitted)
                });
                // What is still in the buffer has been written, or nobody wants it.
                let (_, _) = out.into_parts();
                written
            }
            Self::File(path, table) => {
                if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty() && !dir.exists()) {
                    fs::create_dir_all(dir)?;
                }
                output_file::write(path, ViewError::from, |out| job.write_table(*table, out))
            }
            Self::Directory(dir) => {
                fs::create_dir_all(dir)?;
                let tables = if job.args.format.is_graph() {
                    vec![Table::Pages, Table::Hosts]
                } else {
                    Table::ALL.to_vec()
                };
                let mut omitted = 0;
                for table in tables {
                    let path = file_in(dir, table.name(), job.args.format);
                    let written =
                        output_file::write(&path, ViewError::from, |out| job.write_table(table, out));
                    omitted = omitted.max(written?);
                }
                Ok(omitted)
            }
            Self::Database(path) => write_database(path, job),
        }
    }
}

fn file_in(dir: &Path, name: &str, format: Format) -> PathBuf {
    dir.join(format!("{name}.{}", format.extension()))
}

impl Job<'_> {
    /// Writes one table, or graph; returns the number of omitted links.
    fn write_table(&self, table: Table, out: &mut (impl Write + Send)) -> Result<u64, ViewError> {
        let form = match self.args.format {
            Format::Csv if self.args.raw => TableFormat::RawCsv,
            Format::Csv => TableFormat::Csv,
            Format::Jsonl => TableFormat::Jsonl,
            Format::Graphml => return self.write_graph(table, GraphFormat::GraphMl, out),
            Format::Edges => return self.write_graph(table, GraphFormat::Edges, out),
            // Not a table: written before any is opened.
            Format::Cdxj | Format::Wacz => return Ok(0),
            Format::Parquet => return self.write_parquet(table, out),
            Format::Sqlite => return Err(not_built("sqlite")),
        };
        Ok(write_rows(self.rows(table)?, form, out)?.omitted)
    }

    fn write_graph(&self, table: Table, form: GraphFormat, out: &mut impl Write) -> Result<u64, ViewError> {
        let graph = if table == Table::Hosts { Graph::Hosts } else { Graph::Pages };
        Ok(write_graph(&self.crawls, graph, form, out)?.omitted)
    }

    #[cfg(feature = "parquet")]
    fn write_parquet(&self, table: Table, out: &mut (impl Write + Send)) -> Result<u64, ViewError> {
        let mut rows = self.rows(table)?;
        crawler::tables::write_parquet(&mut rows, out)?;
        Ok(rows.omitted())
    }

    #[cfg(not(feature = "parquet"))]
    #[expect(clippy::unused_self, reason = "the form with the feature")]
    fn write_parquet(&self, _: Table, _: &mut impl Write) -> Result<u64, ViewError> {
        Err(not_built("parquet"))
    }
}

/// What the command line refuses before it comes here.
fn not_built(what: &str) -> ViewError {
    ViewError::Write(io::Error::other(format!("{what} isn't written here")))
}

#[cfg(feature = "sqlite")]
fn write_database(path: &Path, job: &Job<'_>) -> Result<u64, ViewError> {
    let tables = job.args.table.map_or_else(|| Table::ALL.to_vec(), |table| vec![table]);
    output_file::write_by_path(path, ViewError::from, |part| {
        let mut database = crawler::tables::SqliteOutput::create(part)?;
        let mut omitted = 0;
        for table in tables {
            let mut rows = job.rows(table)?;
            database.table(&mut rows)?;
            omitted += rows.omitted();
        }
        add_texts(job, &mut database)?;
        database.finish()?;
        Ok(omitted)
    })
}

/// Adds the texts of the pages that are in the database, for full-text search.
#[cfg(all(feature = "sqlite", feature = "search"))]
fn add_texts(job: &Job<'_>, database: &mut crawler::tables::SqliteOutput) -> Result<(), ViewError> {
    use crawler::search::{PageText, SearchError, page_texts};
    if job.args.no_text {
        return Ok(());
    }
    database.begin_texts()?;
    let failed = |error: SearchError| ViewError::Write(io::Error::other(error));
    for (dir, (name, view)) in job.args.dirs.iter().zip(&job.crawls) {
        let limits =
            crate::full_text::limits(dir).map_err(|error| ViewError::Write(io::Error::other(error)))?;
        // What can't be looked up is an error when it is added.
        let is_wanted = |url: &str| !matches!(database.text_row(name, url), Ok(None));
        let now = page::clock::wall();
        for text in page_texts(dir, view.store(), limits, now, is_wanted) {
            let PageText { url, title, description, text } = text.map_err(failed)?;
            if let Some(row) = database.text_row(name, &url)? {
                database.add_text(row, &title, &description, &text)?;
            }
        }
    }
    Ok(())
}

/// A build without search reads no texts.
#[cfg(all(feature = "sqlite", not(feature = "search")))]
#[expect(clippy::unnecessary_wraps, reason = "with search it can fail")]
fn add_texts(_: &Job<'_>, _: &mut crawler::tables::SqliteOutput) -> Result<(), ViewError> {
    Ok(())
}

#[cfg(not(feature = "sqlite"))]
fn write_database(_: &Path, _: &Job<'_>) -> Result<u64, ViewError> {
    Err(not_built("sqlite"))
}
