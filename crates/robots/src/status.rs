//! What the status of a response means: one table for pages, robots.txt, sitemaps and files of consent.

/// Says what the status code of a response means. Every `u16` is of exactly one class.
///
/// Source: RFC 9110 section 15, RFC 9309 section 2.3.1, RFC 8470 section 5.2 (425), RFC 9113 section 9.1.2 (421), RFC 6585
/// section 4 (429) and RFC 7725 (451).
///
/// ```
/// use robots::StatusClass;
///
/// assert!(StatusClass::of(200).is_success());
/// assert!(StatusClass::of(425).says_nothing() && StatusClass::of(425).may_pass());
/// assert!(!StatusClass::of(404).says_nothing());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatusClass {
    /// 2xx but 206: the whole of what was asked for.
    Success,
    /// 206: a part of it, which was not requested (RFC 9110 section 15.3.7).
    Partial,
    /// 301, 302, 303, 307, 308: it is at the URL in `Location`.
    Redirect,
    /// 304: what was stored before still holds.
    NotModified,
    /// Any other 3xx: it isn't here, and no target is followed.
    OtherRedirection,
    /// 401, 403: closed to us. For robots.txt RFC 9309 would read it as [`Self::Unavailable`].
    Forbidden,
    /// 402, 407, 451: closed to us.
    Closed,
    /// 408, 421, 425: this request, on this connection, at this moment wasn't served. Another may be.
    TryAgain,
    /// 429: our requests are too frequent.
    TooManyRequests,
    /// Any other 4xx: it isn't there, or can't be had by such a request (RFC 9309 section 2.3.1.3).
    Unavailable,
    /// 503: the server is overloaded or being maintained.
    Overloaded,
    /// 500, 502, 504: the server failed; it may do better next time.
    ServerError,
    /// Any other 5xx: the server can't serve such a request.
    OtherServerError,
    /// Below 200 or above 599: no final status. Read as a server error (RFC 9110 section 15).
    Invalid,
}

impl StatusClass {
    /// Returns the class of a status code.
    pub fn of(status: u16) -> Self {
        match status {
            206 => Self::Partial,
            200..=299 => Self::Success,
            301 | 302 | 303 | 307 | 308 => Self::Redirect,
            304 => Self::NotModified,
            300..=399 => Self::OtherRedirection,
            401 | 403 => Self::Forbidden,
            402 | 407 | 451 => Self::Closed,
            408 | 421 | 425 => Self::TryAgain,
            429 => Self::TooManyRequests,
            400..=499 => Self::Unavailable,
            503 => Self::Overloaded,
            500 | 502 | 504 => Self::ServerError,
            501..=599 => Self::OtherServerError,
            ..200 | 600.. => Self::Invalid,
        }
    }

    /// Returns whether the body is the whole of what was asked for.
    pub fn is_success(self) -> bool {
        self == Self::Success
    }

    /// Returns whether `Location` names where to ask instead.
    pub fn is_redirect(self) -> bool {
        self == Self::Redirect
    }

    /// Returns whether it is any 3xx but 304.
    pub fn leads_elsewhere(self) -> bool {
        matches!(self, Self::Redirect | Self::OtherRedirection)
    }

    /// Returns whether the answer tells of a failure, and of nothing that was asked for.
    pub fn is_error(self) -> bool {
        match self {
            Self::Success | Self::Redirect | Self::NotModified | Self::OtherRedirection => false,
            Self::Partial
            | Self::Forbidden
            | Self::Closed
            | Self::TryAgain
            | Self::TooManyRequests
            | Self::Unavailable
            | Self::Overloaded
            | Self::ServerError
            | Self::OtherServerError
            | Self::Invalid => true,
        }
    }

    /// Returns whether the same request may be made again within the run, after the host's gap and any pause.
    pub fn may_pass(self) -> bool {
        matches!(self, Self::TryAgain | Self::TooManyRequests | Self::Overloaded | Self::ServerError)
    }

    /// Returns whether the answer tells nothing of what was asked for, neither that it is there nor that it isn't: a stored page
    /// stays as it is, and what could forbid (robots.txt, a file of consent) forbids as long as it can't be had.
    pub fn says_nothing(self) -> bool {
        match self {
            Self::Partial
            | Self::TryAgain
            | Self::TooManyRequests
            | Self::Overloaded
            | Self::ServerError
            | Self::OtherServerError
            | Self::Invalid => true,
            Self::Success
            | Self::Redirect
            | Self::NotModified
            | Self::OtherRedirection
            | Self::Forbidden
            | Self::Closed
            | Self::Unavailable => false,
        }
    }

    /// Returns whether the server asks us to slow down.
    pub fn is_pushback(self) -> bool {
        matches!(self, Self::TooManyRequests | Self::Overloaded)
    }

    /// Returns whether it counts among the server errors in a row that pause a host.
    pub fn is_server_error(self) -> bool {
        matches!(self, Self::Overloaded | Self::ServerError | Self::OtherServerError | Self::Invalid)
    }
}
