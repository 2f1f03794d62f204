//! Errors in words. No message here says what its cause says: a message names what was tried, on what, and what to do, its
//! [`source`](std::error::Error::source) why that failed.

use std::error::Error;

/// Why something failed, of any type: the `source` of an error.
pub type Cause = Box<dyn Error + Send + Sync>;

/// An error with all its causes on one line: what the program prints behind `error:`.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::audit::AuditError;
    use crate::crawl_dir::DirError;
    use crate::job::JobError;
    use crate::record::{RobotsRecord, SiteFileRecord};
    use crate::scope::Scope;
    use crate::sorter::SortError;
    use crate::store::{StoreError, Tree};
    use crate::view::ViewError;
    use crate::{config, warc};

    #[test]
    fn every_cause_is_named_once() {
        let path = || PathBuf::from("/there");
        let source = || io::Error::other("it is sick");
        let dir = || DirError::Io { action: "write", path: path(), source: source() };
        let stored = || StoreError::Io { path: path(), source: source() };
        let errors: [Box<dyn Error>; 7] = [
            Box::new(dir()),
            Box::new(JobError::from(dir())),
            Box::new(stored()),
            Box::new(JobError::Scrub { dir: path(), source: Box::new(stored().into()) }),
            Box::new(JobError::Index { dir: path(), source: source() }),
            Box::new(SortError::new(Path::new("/there"), source())),
            Box::new(warc::Error::Io { doing: "write to", path: path(), source: source() }),
        ];
        for error in errors {
            let text = with_causes(&*error);
            assert_eq!(text.matches("it is sick").count(), 1, "{text}");
            assert!(text.contains("/there") && text.ends_with(": it is sick"), "{text}");
        }
        let record = |fault| warc::Error::Record { path: path(), offset: 7, fault };
        let length = warc::Fault::Length.to_string();
        assert_eq!(with_causes(&record(warc::Fault::Length)).matches(&length).count(), 1);
        let gzip = with_causes(&record(warc::Fault::Gzip(source())));
        assert_eq!(gzip, "record at byte 7 of /there: damaged gzip member: it is sick");
        let pattern = Scope::new(config::ScopeMode::Any, &["(".to_owned()], &[], None, 9).unwrap_err();
        let text = with_causes(&pattern);
        assert!(text.starts_with("--include: ") && text.matches("unclosed group").count() == 1, "{text}");
    }

    #[test]
    fn damaged_bytes_are_reported_with_what_the_decoder_says() {
        // Nine bytes, packed by zstd, of which nothing is right.
        let packed = [1, 0, 0, 0, 9, 0xff, 0xff, 0xff];
        let unpacked = || crate::packed::unpack(&packed).unwrap_err();
        let decoder = unpacked().source().expect("the decoder gives a reason").to_string();
        // A value of one page whose records are these bytes: see docs/storage.md.
        let block = [&[2, 1][..], &[0; 13], &packed].concat();
        let tree = Tree::Pages.name();
        let errors: Vec<Box<dyn Error>> = vec![
            Box::new(RobotsRecord::read(&packed).unwrap_err()),
            Box::new(SiteFileRecord::read(&packed).unwrap_err()),
            Box::new(crate::page_store::entries(&[0; 8], &block).unwrap_err()),
            Box::new(StoreError::Unreadable { tree, source: unpacked().into() }),
            Box::new(ViewError::Record { tree, source: unpacked().into() }),
            Box::new(AuditError::Record { tree, source: unpacked().into() }),
            #[cfg(feature = "search")]
            Box::new(crate::search::SearchError::Index(unpacked().into())),
        ];
        for error in errors {
            let text = with_causes(&*error);
            assert_eq!(text.matches(&decoder).count(), 1, "{text}");
            assert!(text.ends_with(&format!("packed value can't be decompressed: {decoder}")), "{text}");
        }
        let json = RobotsRecord::read(b"\0{").unwrap_err();
        assert!(with_causes(&json).starts_with("unreadable record: EOF while parsing"), "{json:?}");
    }
}
