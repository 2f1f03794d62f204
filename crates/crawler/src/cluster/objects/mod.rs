//! Archive files in object storage that speaks the S3 protocol.
//!
//! A file is there whole or not at all: a large one is uploaded in parts, which nobody sees before the last of them is there. Parts that
//! a killed process had uploaded are removed when the worker is started again ([`Objects::abort_unfinished`]).

mod download;
mod http;
#[cfg(test)]
mod tests;
mod uploads;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::multipart::MultipartStore as _;
use object_store::path::Path as Name;
use object_store::{ObjectStoreExt as _, PutPayload, RetryConfig};

pub use self::download::{DownloadError, Downloaded, download};
pub(super) use self::uploads::Uploads;
use super::archive_place::Bucket;
use crate::fetch;
use crate::nofollow;

/// Bytes of a part, and of the largest file that is sent at once. The protocol allows 10,000 parts.
const PART: usize = 16 << 20;

/// What the name of a file ends with that has the number of an upload which isn't complete.
const UPLOAD: &str = "upload";

/// The object that says which crawl the archive is of.
const CRAWL: &str = "cluster-crawl";

/// Why an archive can't be stored, or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectsError {
    /// The service.
    #[error("can't {doing} {object}")]
    Service {
        /// What was tried.
        doing: &'static str,
        /// The object.
        object: String,
        /// Why it failed.
        source: object_store::Error,
    },
    /// A file here.
    #[error("can't {doing} {}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// TLS can't be used.
    #[error("can't prepare TLS for the object storage")]
    Tls(#[from] fetch::SetupError),
    /// The place is taken.
    #[error("{0} has the archive of another crawl; give each crawl a prefix of its own")]
    OtherCrawl(String),
    /// The service has something else than it was sent.
    #[error("{object} has {there} bytes, and {sent} were sent")]
    Length {
        /// The object.
        object: String,
        /// Its bytes.
        there: u64,
        /// Those of the file.
        sent: u64,
    },
}

/// A place in object storage.
#[derive(Debug)]
pub(super) struct Objects {
    store: AmazonS3,
    bucket: Bucket,
}

impl Objects {
    /// Of a bucket, with the credentials, region and endpoint that the environment names (`AWS_ACCESS_KEY_ID` and the like).
    pub(super) fn new(bucket: &Bucket) -> Result<Self, ObjectsError> {
        Self::of(AmazonS3Builder::from_env(), bucket)
    }

    fn of(service: AmazonS3Builder, bucket: &Bucket) -> Result<Self, ObjectsError> {
        let tls = Arc::new(fetch::tls_of_http_1()?);
        let retry = RetryConfig { max_retries: 4, ..RetryConfig::default() };
        let store = service
            .with_bucket_name(&bucket.name)
            .with_http_connector(http::Connector(tls))
            .with_retry(retry)
            .build();
        let store = store.map_err(|source| ObjectsError::Service {
            doing: "use",
            object: bucket.to_string(),
            source,
        })?;
        Ok(Self { store, bucket: bucket.clone() })
    }

    /// Makes the place one of this crawl, or says that it is another's. Shows as well that objects can be written there.
    pub(super) async fn claim(&self, crawl: &str) -> Result<(), ObjectsError> {
        let name = self.name(CRAWL);
        let failed = |doing| move |source| self.failed(doing, CRAWL, source);
        match self.store.get(&name).await {
            Ok(found) => {
                let found = found.bytes().await.map_err(failed("read"))?;
                let is_ours = found.trim_ascii() == crawl.as_bytes();
                if is_ours { Ok(()) } else { Err(ObjectsError::OtherCrawl(self.bucket.to_string())) }
            }
            Err(object_store::Error::NotFound { .. }) => {
                let text = PutPayload::from(format!("{crawl}\n"));
                self.store.put(&name, text).await.map(drop).map_err(failed("write"))
            }
            Err(error) => Err(failed("read")(error)),
        }
    }

    /// Stores a file under its own name, in place of an object that has it. Memory: a part of 16 MB.
    pub(super) async fn put(&self, path: &Path) -> Result<String, ObjectsError> {
        let file = file_name(path);
        let name = self.name(&file);
        let io = |doing| move |source| ObjectsError::File { doing, path: path.to_owned(), source };
        let from = nofollow::open(path).map_err(io("open"))?;
        let length = from.metadata().map_err(io("look at"))?.len();
        let read = || -> Result<Vec<u8>, ObjectsError> {
            let mut part = Vec::new();
            (&from).take(PART as u64).read_to_end(&mut part).map_err(io("read"))?;
            Ok(part)
        };
        let failed = |source| self.failed("write", &file, source);
        if length <= PART as u64 {
            self.store.put(&name, PutPayload::from(read()?)).await.map_err(failed)?;
        } else {
            let id = self.store.create_multipart(&name).await.map_err(failed)?;
            let noted = path.with_added_extension(UPLOAD);
            nofollow::create(&noted)
                .and_then(|mut noted| noted.write_all(id.as_bytes()))
                .map_err(io("note the upload of"))?;
            let sent = async {
                let mut parts = Vec::new();
                loop {
                    let part = read()?;
                    if part.is_empty() {
                        break;
                    }
                    let part = self.store.put_part(&name, &id, parts.len(), PutPayload::from(part)).await;
                    parts.push(part.map_err(failed)?);
                }
                self.store.complete_multipart(&name, &id, parts).await.map_err(failed)
            };
            if let Err(error) = sent.await {
                self.abort(&noted).await;
                return Err(error);
            }
            fs::remove_file(&noted).map_err(io("forget the upload of"))?;
        }
        let there =
            self.store.head(&name).await.map_err(|source| self.failed("look at", &file, source))?.size;
        let object = self.bucket.url_of(&file);
        if there == length { Ok(object) } else { Err(ObjectsError::Length { object, there, sent: length }) }
    }

    /// The bytes of an object, and when it was stored.
    async fn look(&self, file: &str) -> Result<(u64, SystemTime), ObjectsError> {
        let found = self.store.head(&self.name(file)).await;
        let found = found.map_err(|source| self.failed("look at", file, source))?;
        Ok((found.size, found.last_modified.into()))
    }

    /// Reads an object into a file of its name in this directory.
    pub(super) async fn get(&self, file: &str, dir: &Path) -> Result<PathBuf, ObjectsError> {
        let path = dir.join(file);
        let part = path.with_added_extension("part");
        let io = |doing| {
            let path = part.clone();
            move |source| ObjectsError::File { doing, path, source }
        };
        let failed = |source| self.failed("read", file, source);
        let name = self.name(file);
        let length = self.store.head(&name).await.map_err(failed)?.size;
        let mut to = nofollow::create(&part).map_err(io("make"))?;
        for start in (0..length).step_by(PART) {
            let range = start..length.min(start + PART as u64);
            let bytes = self.store.get_range(&name, range).await.map_err(failed)?;
            to.write_all(&bytes).map_err(io("write"))?;
        }
        to.sync_all().map_err(io("sync"))?;
        fs::rename(&part, &path).map_err(io("rename"))?;
        Ok(path)
    }

    /// Tells the service to forget the parts of uploads that were begun from this directory and never completed.
    pub(super) async fn abort_unfinished(&self, dir: &Path) {
        let Ok(files) = fs::read_dir(dir) else { return };
        for path in files.flatten().map(|file| file.path()) {
            if path.extension().is_some_and(|extension| extension == UPLOAD) {
                self.abort(&path).await;
            }
        }
    }

    async fn abort(&self, noted: &Path) {
        let Ok(id) = nofollow::read_to_string(noted) else { return };
        let name = self.name(&file_name(&noted.with_extension("")));
        match self.store.abort_multipart(&name, &id).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => drop(fs::remove_file(noted)),
            Err(error) => tracing::debug!("an upload can't be taken back yet: {error}"),
        }
    }

    fn name(&self, file: &str) -> Name {
        let Bucket { prefix, .. } = &self.bucket;
        if prefix.is_empty() { Name::from(file) } else { Name::from(format!("{prefix}/{file}")) }
    }

    fn failed(&self, doing: &'static str, file: &str, source: object_store::Error) -> ObjectsError {
        ObjectsError::Service { doing, object: self.bucket.url_of(file), source }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
