//! Why a request has no answer, with the HTTP status that says so.

use axum::http::StatusCode;

use crate::view::ViewError;

/// A request that isn't answered as asked.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    /// What is wrong and what to do, in one or two sentences.
    pub(super) what: String,
}

impl Failure {
    pub(super) fn new(status: StatusCode, what: impl Into<String>) -> Self {
        Self { status, what: what.into() }
    }

    /// The request is wrong.
    pub(super) fn bad(what: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, what)
    }

    pub(super) fn not_found(what: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, what)
    }

    /// The request may be repeated later.
    pub(super) fn busy(what: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, what)
    }
}

impl From<ViewError> for Failure {
    fn from(error: ViewError) -> Self {
        match &error {
            ViewError::InUse(_) | ViewError::Unfinished(_) => Self::busy(error.message()),
            ViewError::Write(cause) if cause.kind() == std::io::ErrorKind::TimedOut => {
                Self::busy(cause.to_string())
            }
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.message()),
        }
    }
}
