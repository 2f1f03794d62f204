//! A page's outlinks: postcard.

use serde::{Deserialize, Serialize};

use super::{LinkOutcome, RecordError};
use crate::extract::Position;

/// One link of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkRecord {
    /// The target, or the reference as written where it is no URL.
    pub to: String,
    /// The element: `a`, `img`, `redirect` ...
    pub kind: String,
    /// The `rel` attribute; empty on withheld pages.
    pub rel: String,
    /// The anchor text; empty on withheld pages.
    pub text: String,
    /// True if page or `rel` forbid to follow it.
    pub nofollow: bool,
    /// What became of it.
    pub outcome: LinkOutcome,
    /// Its part of the page, if the page says; none on withheld pages.
    pub position: Option<Position>,
    /// `hreflang` as written; none on withheld pages.
    pub hreflang: Option<String>,
}

const FORM: u8 = 2;

/// Form 1, which knew neither position nor `hreflang`.
#[derive(Serialize, Deserialize)]
struct FirstForm {
    to: String,
    kind: String,
    rel: String,
    text: String,
    nofollow: bool,
    outcome: LinkOutcome,
}

impl From<FirstForm> for LinkRecord {
    fn from(link: FirstForm) -> Self {
        let FirstForm { to, kind, rel, text, nofollow, outcome } = link;
        Self { to, kind, rel, text, nofollow, outcome, position: None, hreflang: None }
    }
}

/// A page's links in bytes; none for none.
pub fn encode_links(links: &[LinkRecord]) -> Result<Vec<u8>, RecordError> {
    if links.is_empty() {
        return Ok(Vec::new());
    }
    postcard::to_extend(links, vec![FORM]).map_err(|error| RecordError::new(&error))
}

/// Reads what [`encode_links`] wrote.
pub fn decode_links(bytes: &[u8]) -> Result<Vec<LinkRecord>, RecordError> {
    match bytes.split_first() {
        None => Ok(Vec::new()),
        Some((&FORM, rest)) => postcard::from_bytes(rest).map_err(|error| RecordError::new(&error)),
        Some((1, rest)) => {
            let links: Vec<FirstForm> =
                postcard::from_bytes(rest).map_err(|error| RecordError::new(&error))?;
            Ok(links.into_iter().map(LinkRecord::from).collect())
        }
        _ => Err(RecordError::new(&"links with an unsupported format version")),
    }
}

/// Unpacks a page's links as databases of form 1 hold them: compressed, one value a page.
pub(crate) fn unpack_links(value: &[u8]) -> Result<Vec<LinkRecord>, RecordError> {
    decode_links(&crate::packed::unpack(value).map_err(|error| RecordError::new(&error))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_come_back_and_those_of_the_first_form_without_what_it_didnt_know() {
        let link = LinkRecord {
            to: "http://a.test/x".to_owned(),
            kind: "a".to_owned(),
            rel: "next".to_owned(),
            text: "x".to_owned(),
            nofollow: true,
            outcome: LinkOutcome::RelNofollow,
            position: Some(Position::Footer),
            hreflang: Some("de".to_owned()),
        };
        let bytes = encode_links(std::slice::from_ref(&link)).unwrap();
        assert_eq!(decode_links(&bytes).unwrap(), std::slice::from_ref(&link));
        assert_eq!(decode_links(&encode_links(&[]).unwrap()).unwrap(), []);

        let LinkRecord { to, kind, rel, text, nofollow, outcome, .. } = link.clone();
        let first = [FirstForm { to, kind, rel, text, nofollow, outcome }];
        let mut plain = vec![1];
        plain.extend(postcard::to_stdvec(&first[..]).unwrap());
        let read = unpack_links(&crate::packed::pack(plain)).unwrap();
        assert_eq!(read, [LinkRecord { position: None, hreflang: None, ..link }]);
        assert!(decode_links(&[3, 0]).is_err());
    }
}
