//! Which crawl is served: that of a directory, or one on many machines.

use std::path::{Path, PathBuf};

#[cfg(feature = "cluster")]
use crate::cluster::Address;

/// The crawl that is served.
#[derive(Debug, Clone)]
pub enum Served {
    /// That of a directory.
    Dir(PathBuf),
    /// One on many machines.
    #[cfg(feature = "cluster")]
    Cluster {
        /// Its database.
        database: Box<Address>,
        /// The `warc` directories of its workers that are within reach.
        archive: Vec<PathBuf>,
        /// The directory of its full-text index; none where it has none.
        index: Option<PathBuf>,
    },
}

impl Served {
    /// The directory; none for a crawl on many machines.
    #[cfg_attr(not(feature = "cluster"), expect(clippy::unnecessary_wraps, reason = "a cluster has none"))]
    pub(super) fn root(&self) -> Option<&Path> {
        match self {
            Self::Dir(root) => Some(root),
            #[cfg(feature = "cluster")]
            Self::Cluster { .. } => None,
        }
    }

    /// The directory that has the full-text index; none where none was named.
    #[cfg(feature = "search")]
    #[cfg_attr(not(feature = "cluster"), expect(clippy::unnecessary_wraps, reason = "a directory has one"))]
    pub(super) fn index(&self) -> Option<&Path> {
        match self {
            Self::Dir(root) => Some(root),
            #[cfg(feature = "cluster")]
            Self::Cluster { index, .. } => index.as_deref(),
        }
    }

    /// Its name on every page: that of the directory, or where the database is.
    pub(super) fn name(&self) -> String {
        let name = match self {
            Self::Dir(root) => root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned(),
            #[cfg(feature = "cluster")]
            Self::Cluster { database, .. } => database.to_string(),
        };
        page::clean::clean(&name).into_owned()
    }

    /// How commands name it.
    pub(super) fn argument(&self) -> &'static str {
        match self {
            Self::Dir(_) => "DIR",
            #[cfg(feature = "cluster")]
            Self::Cluster { .. } => "--cluster DATABASE",
        }
    }
}
