//! The two arguments DIR and URL in either order: the directory first, or last as in older versions.

use std::path::{Path, PathBuf};

use crate::exit::{self, Stop};

/// Which of two arguments is the directory of a crawl; the other one follows. The one that holds a crawl, else the one that is a
/// directory, else the one that is no URL, else the one with a slash; where nothing tells them apart, the first. `usage` is the command's order; it is
/// reported if both are URLs.
pub(crate) fn directory_first<'a>(
    first: &'a str,
    second: &'a str,
    usage: &str,
) -> anyhow::Result<(PathBuf, &'a str)> {
    let holds_crawl = |text: &str| {
        let dir = Path::new(text);
        dir.join("crawl.toml").is_file() || dir.join("db").is_dir()
    };
    let is_dir = |text: &str| Path::new(text).is_dir();
    let is_no_url = |text: &str| !text.contains("://");
    let is_path = |text: &str| text.contains('/') && is_no_url(text);
    let tests: [&dyn Fn(&str) -> bool; 4] = [&holds_crawl, &is_dir, &is_no_url, &is_path];
    let is_swapped = tests.iter().find_map(|test| match (test(first), test(second)) {
        (true, false) => Some(false),
        (false, true) => Some(true),
        _ => None,
    });
    if is_swapped.is_none() && !is_no_url(first) {
        let (first, second) = (page::clean::clean(first), page::clean::clean(second));
        let what = format!("neither {first} nor {second} is the directory of a crawl: `{usage}`");
        return Err(Stop::new(exit::USAGE, what).into());
    }
    Ok(if is_swapped == Some(true) { (second.into(), first) } else { (first.into(), second) })
}
