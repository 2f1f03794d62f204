//! Where a worker's archive goes.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// Where the archive of a worker goes: as its option `--warc` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ArchivePlace {
    /// `warc/` in its own directory.
    #[default]
    Own,
    /// Another directory, of this worker alone.
    Dir(PathBuf),
    /// Object storage. Files that are complete are moved there from `warc/` in the worker's own directory.
    Objects(Bucket),
}

/// A place in object storage that speaks the S3 protocol: `s3://BUCKET/PREFIX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// What the names of its objects begin with, without slashes around it; empty for none.
    pub prefix: String,
}

impl Bucket {
    /// The URL of an object there.
    pub fn url_of(&self, object: &str) -> String {
        format!("{self}/{object}")
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, prefix } = self;
        if prefix.is_empty() { write!(f, "s3://{name}") } else { write!(f, "s3://{name}/{prefix}") }
    }
}

/// Why an archive can't go to a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchivePlaceError {
    /// A URL of something else.
    #[error("archives go to a directory or to s3://BUCKET/PREFIX, and not to {0}://")]
    Scheme(String),
    /// A URL without the name of a bucket.
    #[error("no bucket is named: write s3://BUCKET/PREFIX")]
    Bucket,
    /// The program can't.
    #[error("this program was built without object storage (cargo feature `object-storage`)")]
    NotBuilt,
}

impl FromStr for ArchivePlace {
    type Err = ArchivePlaceError;

    fn from_str(text: &str) -> Result<Self, ArchivePlaceError> {
        let Some((scheme, rest)) = text.split_once("://") else { return Ok(Self::Dir(text.into())) };
        if scheme != "s3" {
            return Err(ArchivePlaceError::Scheme(scheme.to_owned()));
        }
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if name.is_empty() {
            return Err(ArchivePlaceError::Bucket);
        }
        if cfg!(not(feature = "object-storage")) {
            return Err(ArchivePlaceError::NotBuilt);
        }
        Ok(Self::Objects(Bucket { name: name.to_owned(), prefix: prefix.trim_matches('/').to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_a_directory_and_other_services_are_named() {
        assert_eq!("a/b".parse(), Ok(ArchivePlace::Dir("a/b".into())));
        let failed = |text: &str| text.parse::<ArchivePlace>().unwrap_err();
        assert_eq!(failed("gs://bucket/x"), ArchivePlaceError::Scheme("gs".to_owned()));
        assert_eq!(failed("s3://"), ArchivePlaceError::Bucket);
        assert_eq!(failed("s3:///x"), ArchivePlaceError::Bucket);
    }

    #[cfg(feature = "object-storage")]
    #[test]
    fn a_bucket_may_have_a_prefix() {
        for (text, plain, object) in [
            ("s3://b", "s3://b", "s3://b/f.warc.gz"),
            ("s3://b/", "s3://b", "s3://b/f.warc.gz"),
            ("s3://b/study/warc/", "s3://b/study/warc", "s3://b/study/warc/f.warc.gz"),
        ] {
            let Ok(ArchivePlace::Objects(bucket)) = text.parse() else { panic!("{text}") };
            assert_eq!((bucket.to_string().as_str(), bucket.url_of("f.warc.gz").as_str()), (plain, object));
        }
    }
}
