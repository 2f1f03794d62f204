//! Stands for `objects` where the program is built without object storage: there is none, so nothing here can be called.

#![expect(clippy::needless_pass_by_value, clippy::unused_async, reason = "as in `objects`")]

use std::sync::Arc;

use super::written::Written;
use super::{Bucket, Database};
use crate::crawl_dir::CrawlDir;

/// Why an archive can't be stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectsError {
    /// The program can't.
    #[error("can't use {0}: this program was built without object storage (cargo feature `object-storage`)")]
    NotBuilt(String),
}

#[derive(Debug)]
pub(super) enum Objects {}

impl Objects {
    pub(super) fn new(bucket: &Bucket) -> Result<Self, ObjectsError> {
        Err(ObjectsError::NotBuilt(bucket.to_string()))
    }

    pub(super) async fn claim(&self, _crawl: &str) -> Result<(), ObjectsError> {
        match *self {}
    }
}

#[derive(Debug)]
pub(super) enum Uploads {}

impl Uploads {
    pub(super) fn new(objects: Arc<Objects>, _own: &CrawlDir, _database: Arc<Database>) -> Self {
        match *objects {}
    }

    pub(super) async fn look(&self, _written: &Written) {
        match *self {}
    }

    pub(super) async fn upload(&self) {
        match *self {}
    }

    pub(super) fn remaining(&self) -> usize {
        match *self {}
    }
}
