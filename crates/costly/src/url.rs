//! The parts of a URL that rules look at.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// A URL by HTTP. Nothing of it is normalised; a fragment is no part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts<'a> {
    /// Scheme, `//`, host and port.
    pub(crate) origin: &'a str,
    /// With a port, as written.
    pub(crate) host: &'a str,
    /// With the slash at its beginning; empty where the URL has none.
    pub(crate) path: &'a str,
    /// Without the question mark.
    pub(crate) query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(url: &'a str) -> Option<Self> {
        let url = url.split('#').next().unwrap_or_default();
        let start = url.find("://")? + 3;
        let end = url[start..].find(['/', '?']).map_or(url.len(), |end| start + end);
        let (path, query) = match url[end..].split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (&url[end..], None),
        };
        Some(Self { origin: &url[..end], host: &url[start..end], path, query })
    }

    /// Names and values of the query, decoded. Some programs separate them by semicolons.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        let query = self.query.into_iter().flat_map(|query| query.split(['&', ';']));
        query.filter(|piece| !piece.is_empty()).map(|piece| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            (decoded(name), decoded(value))
        })
    }
}

/// The parameters of a query as they are written.
pub(crate) fn pieces(query: Option<&str>) -> impl Iterator<Item = &str> {
    query.into_iter().flat_map(|query| query.split('&')).filter(|piece| !piece.is_empty())
}

/// Text without percent encoding, `+` as a space.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        return Cow::Owned(percent_decode_str(&spaced).decode_utf8_lossy().into_owned());
    }
    percent_decode_str(text).decode_utf8_lossy()
}
