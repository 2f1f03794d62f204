//! `crawl export --format wacz`: the archives of some crawls as one file.

use std::io;
use std::path::Path;

use crawler::causes::with_causes;
use crawler::config::read_own;
use crawler::extract::ExtractLimits;
use crawler::output_file;
use crawler::wacz::{self, KeyError, Options, Part, SigningKey, WaczError, Written};

use super::ExportArgs;
use crate::exit::{self, Stop};
use crate::options::path_text;
use crate::show;
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
    let mut views = Vec::with_capacity(args.dirs.len());
    for dir in &args.dirs {
        views.push(show::open(dir)?);
    }
    let mut parts = Vec::with_capacity(views.len());
    for (dir, view) in args.dirs.iter().zip(&views) {
        parts.push(Part { root: dir, store: view.store(), limits: limits(dir)? });
    }
    let options = Options { with_texts: !args.no_text, key: key.as_ref(), now: crawler::clock::wall() };
    let made = output_file::write(path, WaczError::Write, |out| wacz::write(&parts, options, out));
    let written = made.map_err(|error| match error {
        WaczError::NoArchive(_) => Stop::new(exit::USAGE, with_causes(&error)),
        WaczError::Write(error) => {
            Stop::new(exit::STORAGE, format!("{} can't be written: {error}", path_text(path)))
        }
        error => Stop::new(exit::STORAGE, with_causes(&error)),
    })?;
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

/// How much of a page's text is read, by the settings of its crawl.
fn limits(dir: &Path) -> anyhow::Result<ExtractLimits> {
    let settings = read_own(&dir.join("crawl.toml"), dir)?;
    Ok(settings.page.extract_limits(settings.limits.max_links_per_page))
}
