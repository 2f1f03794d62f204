//! Names of archive files: our own counter and start time, nothing from the web.

/// File name of the `serial`-th file of a directory: `crawl-20260301120000-00007.warc.gz`.
pub(super) fn file_name(started_at: jiff::Timestamp, serial: u32) -> String {
    format!("crawl-{}-{serial:05}.warc.gz", started_at.strftime("%Y%m%d%H%M%S"))
}

/// Returns the serial number of a name that [`file_name`] gave, `None` for any other (a path among them).
pub(super) fn serial(name: &str) -> Option<u32> {
    let (start, serial) = name.strip_prefix("crawl-")?.strip_suffix(".warc.gz")?.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if start.len() != 14 || serial.len() < 5 || !digits(start) || !digits(serial) {
        return None;
    }
    serial.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{file_name, serial};

    #[test]
    fn only_our_own_names_are_read() {
        let at: jiff::Timestamp = "2026-03-01T12:00:00Z".parse().unwrap();
        for number in [0, 7, 99_999, 100_000, u32::MAX] {
            assert_eq!(serial(&file_name(at, number)), Some(number));
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
        ] {
            assert_eq!(serial(foreign), None, "{foreign}");
        }
    }
}
