//! Names of archive files: our own counter and start time, nothing from the web.

/// File name of the `serial`-th file of a directory: `crawl-20260301120000-00007.warc.gz`; in a series of files,
/// `crawl-20260301120000-w3p017f5-00007.warc.gz`.
pub(super) fn file_name(started_at: jiff::Timestamp, series: Option<&str>, serial: u32) -> String {
    let start = started_at.strftime("%Y%m%d%H%M%S");
    match series {
        Some(series) => format!("crawl-{start}-{series}-{serial:05}.warc.gz"),
        None => format!("crawl-{start}-{serial:05}.warc.gz"),
    }
}

/// Returns the serial number of a name that [`file_name`] gave, `None` for any other (a path among them).
pub(crate) fn serial(name: &str) -> Option<u32> {
    read(name).map(|(_, serial)| serial)
}

/// The series of a file, if it belongs to one.
pub(crate) fn series(name: &str) -> Option<&str> {
    read(name).and_then(|(series, _)| series)
}

fn read(name: &str) -> Option<(Option<&str>, u32)> {
    let (start, rest) = name.strip_prefix("crawl-")?.strip_suffix(".warc.gz")?.split_once('-')?;
    let (series, serial) = match rest.split_once('-') {
        Some((series, serial)) => (Some(series), serial),
        None => (None, rest),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_series = |text: &str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        text.starts_with('w') && text.bytes().all(allowed)
    };
    if start.len() != 14
        || serial.len() < 5
        || !digits(start)
        || !digits(serial)
        || !series.is_none_or(is_series)
    {
        return None;
    }
    Some((series, serial.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{file_name, serial, series};

    #[test]
    fn only_our_own_names_are_read() {
        let at: jiff::Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for number in [0, 7, 99_999, 100_000, u32::MAX] {
            assert_eq!(serial(&file_name(at, None, number)), Some(number));
            let name = file_name(at, Some("w3p017f5"), number);
            assert_eq!((serial(&name), series(&name)), (Some(number), Some("w3p017f5")));
        }
        for foreign in [
            "",
            "crawl-20260301120000-1.warc.gz",
            "crawl-20260301120000-00001.warc",
            "crawl-2026030112000-00001.warc.gz",
            "crawl-20260301120000-+0001.warc.gz",
            "../crawl-20260301120000-00001.warc.gz",
            "crawl-20260301120000-99999999999.warc.gz",
            "crawl-20260301120000-00001/../../x.warc.gz",
            "crawl-20260301120000-W3-00001.warc.gz",
            "crawl-20260301120000-w3/..-00001.warc.gz",
            "crawl-20260301120000-w3-w4-00001.warc.gz",
        ] {
            assert_eq!(serial(foreign), None, "{foreign}");
        }
    }
}
