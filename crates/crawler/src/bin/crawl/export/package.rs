//! `crawl export --format wacz`: the archives of some crawls as one file.

use std::io;
use std::path::{Path, PathBuf};

use crawler::causes::with_causes;
#[cfg(feature = "cluster")]
use crawler::config::read_record_text;
use crawler::config::{Settings, read_own};
use crawler::output_file;
use crawler::store::AnyStore;
use crawler::view::View;
use crawler::wacz::{self, KeyError, Options, Part, SigningKey, WaczError, Written};
use page::extract::ExtractLimits;

use super::ExportArgs;
use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::terminal::Console;

/// Writes the file.
pub(super) fn run(args: &ExportArgs, console: Console) -> anyhow::Result<i32> {
    let Some(path) = args.output.as_deref().filter(|path| *path != Path::new("-")) else {
        return Err(Stop::new(exit::USAGE, "a WACZ file needs a name: -o FILE.wacz").into());
    };
    if path.is_dir() {
        let what = "-o is a directory; all crawls go into one WACZ file: -o FILE.wacz";
        return Err(Stop::new(exit::USAGE, what).into());
    }
    let key = args.sign.as_deref().map(SigningKey::read).transpose().map_err(|error| {
        let code = if matches!(error, KeyError::Key { .. }) { exit::USAGE } else { exit::STORAGE };
        Stop::new(code, with_causes(&error))
    })?;
    let crawls = crawls(args)?;
    let parts: Vec<_> = crawls.iter().map(Crawl::part).collect();
    let options = Options { with_texts: !args.no_text, key: key.as_ref(), now: page::clock::wall() };
    let made = output_file::write(path, WaczError::Write, |out| wacz::write(&parts, options, out));
    let written = made.map_err(|error| failed(error, &path_text(path)))?;
    report(&written, path, key.as_ref(), console)?;
    Ok(exit::COMPLETE)
}

fn report(written: &Written, path: &Path, key: Option<&SigningKey>, console: Console) -> io::Result<()> {
    let Written { pages, records, files, digest, .. } = written;
    if console.json {
        let public = key.map(SigningKey::public);
        let line = serde_json::json!({
            "v": 1, "pages": pages, "records": records, "files": files, "digest": digest, "public_key": public,
        });
        return io::Write::write_all(&mut io::stdout().lock(), format!("{line}\n").as_bytes());
    }
    console.note(&format!(
        "{}: pages: {pages}, responses: {records}, WARC files: {files}; digest of datapackage.json: {digest}",
        path_text(path)
    ));
    if let Some(key) = key {
        console.note(&format!("signed; the public key is {}", key.public()));
    }
    Ok(())
}

/// An error with its exit code. `name` is that of the output.
fn failed(error: WaczError, name: &str) -> Stop {
    match error {
        WaczError::NoArchive(_) | WaczError::Missing(_) | WaczError::Forgotten(_) => {
            Stop::new(exit::USAGE, with_causes(&error))
        }
        WaczError::Write(error) => Stop::new(exit::STORAGE, format!("{name} can't be written: {error}")),
        error => Stop::new(exit::STORAGE, with_causes(&error)),
    }
}

/// Writes the index of the archive of a crawl on many machines.
#[cfg(feature = "cluster")]
pub(super) fn index_of_cluster(args: &ExportArgs) -> anyhow::Result<i32> {
    for crawl in &crawls(args)? {
        let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
        let written = match path {
            Some(path) => {
                output_file::write(path, WaczError::Write, |out| wacz::write_index(&crawl.part(), out))
            }
            None => wacz::write_index(&crawl.part(), &mut io::stdout().lock()),
        };
        match written {
            Err(WaczError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => {
                let name = path.map_or_else(|| "standard output".to_owned(), path_text);
                written.map_err(|error| failed(error, &name))?;
            }
        }
    }
    Ok(exit::COMPLETE)
}

/// A crawl whose archive is exported.
struct Crawl {
    root: Option<PathBuf>,
    archive: Vec<PathBuf>,
    stores: Vec<AnyStore>,
    limits: ExtractLimits,
    /// They keep other processes from the directory.
    _views: Vec<View>,
}

impl Crawl {
    fn new(root: Option<PathBuf>, archive: Vec<PathBuf>, views: Vec<View>, settings: &Settings) -> Self {
        let stores = views.iter().map(|view| AnyStore::clone(view.store())).collect();
        // How much of a page's text is read, by the settings of its crawl.
        let limits = settings.page.extract_limits(settings.limits.max_links_per_page);
        Self { root, archive, stores, limits, _views: views }
    }

    fn part(&self) -> Part<'_> {
        let Self { root, archive, stores, limits, .. } = self;
        Part { root: root.as_deref(), archive, stores, limits: limits.clone() }
    }
}

/// The crawls that are named.
fn crawls(args: &ExportArgs) -> anyhow::Result<Vec<Crawl>> {
    #[cfg(feature = "cluster")]
    if let Some(database) = &args.cluster {
        if let Some(dir) = args.warc.iter().find(|dir| !dir.is_dir()) {
            let what = format!("--warc {}: no such directory", path_text(dir));
            return Err(Stop::new(exit::USAGE, what).into());
        }
        let text = crate::database::settings(database)?;
        let views = crate::database::snapshot_views(database)?.into_iter().map(|(_, view)| view).collect();
        let (settings, _) = read_record_text(&text).map_err(|error| {
            Stop::new(exit::STORAGE, format!("the crawl's settings can't be read: {error}"))
        })?;
        return Ok(vec![Crawl::new(None, args.warc.clone(), views, &settings)]);
    }
    let of_dir = |dir: &PathBuf| {
        let view = args.reading.open(dir)?;
        let settings = read_own(&dir.join("crawl.toml"), dir)?;
        Ok(Crawl::new(Some(dir.clone()), vec![dir.join("warc")], vec![view], &settings))
    };
    args.dirs.iter().map(of_dir).collect()
}
