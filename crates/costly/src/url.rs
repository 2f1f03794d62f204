//! The parts of a URL that rules look at.

use std::borrow::Cow;

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
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, hex(bytes.get(at + 1)), hex(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
            }
            (b'+', ..) => {
                plain.push(b' ');
                at += 1;
            }
            _ => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}
