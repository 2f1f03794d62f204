//! A page's outlinks: postcard.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{LinkOutcome, RecordError};
use page::extract::Position;
use page::shared_text::SharedText;

/// One link of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// The target, or the reference as written where it is no URL.
    pub to: SharedText,
    /// The element: `a`, `img`, `redirect` ...
    pub kind: Cow<'static, str>,
    /// The `rel` attribute; empty on withheld pages.
    pub rel: String,
    /// The anchor text; empty on withheld pages.
    pub text: SharedText,
    /// True if page or `rel` forbid to follow it.
    pub nofollow: bool,
    /// What became of it.
    pub outcome: LinkOutcome,
    /// Its part of the page, if the page says; none on withheld pages.
    pub position: Option<Position>,
    /// `hreflang` as written; none on withheld pages.
    pub hreflang: Option<String>,
}

/// The first byte of encoded links.
pub(super) const FORMAT: u8 = 2;

/// A page's links in bytes; none for none.
pub fn encode_links(links: &[LinkRecord]) -> Result<Vec<u8>, RecordError> {
    if links.is_empty() {
        return Ok(Vec::new());
    }
    postcard::to_extend(links, begin(links)).map_err(RecordError::from)
}

/// The beginning of encoded links, with capacity for about as many bytes as they take.
fn begin(links: &[LinkRecord]) -> Vec<u8> {
    let sizes = links.iter().map(|link| link.to.len() + link.rel.len() + link.text.len() + 24);
    let mut bytes = Vec::with_capacity(sizes.sum());
    bytes.push(FORMAT);
    bytes
}

/// Reads what [`encode_links`] wrote.
pub fn decode_links(bytes: &[u8]) -> Result<Vec<LinkRecord>, RecordError> {
    match bytes.split_first() {
        None => Ok(Vec::new()),
        Some((&FORMAT, rest)) => postcard::from_bytes(rest).map_err(RecordError::from),
        _ => Err(RecordError::LinksVersion),
    }
}

/// Unpacks a page's links as databases of format 1 have them: compressed, one value per page.
pub(crate) fn unpack_links(value: &[u8]) -> Result<Vec<LinkRecord>, RecordError> {
    decode_links(&crate::packed::unpack(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_links_are_read_as_they_were() {
        let link = LinkRecord {
            to: "http://a.test/x".into(),
            kind: "a".into(),
            rel: "next".to_owned(),
            text: "x".into(),
            nofollow: true,
            outcome: LinkOutcome::RelNofollow,
            position: Some(Position::Footer),
            hreflang: Some("de".to_owned()),
        };
        let bytes = encode_links(std::slice::from_ref(&link)).unwrap();
        assert_eq!(decode_links(&bytes).unwrap(), std::slice::from_ref(&link));
        assert_eq!(decode_links(&encode_links(&[]).unwrap()).unwrap(), []);

        assert_eq!(unpack_links(&crate::packed::pack(bytes)).unwrap(), [link]);
        for unsupported in [1, 3] {
            assert!(decode_links(&[unsupported, 0]).is_err());
        }
    }
}
