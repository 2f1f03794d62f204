//! Meta tags: a name and a content.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::Term;
use crate::walk::{CONTENT, Found, trim, walk};

/// One meta element of a page, as an HTML parser with scripting off sees it.
///
/// The values are as the parser gives them: character references resolved, nothing trimmed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct MetaTag {
    /// Value of the attribute `name`.
    pub name: Option<String>,
    /// Value of the attribute `http-equiv`.
    pub http_equiv: Option<String>,
    /// Value of the attribute `property` (Open Graph); never a source of directives.
    pub property: Option<String>,
    /// Value of the attribute `content`.
    pub content: Option<String>,
    /// Where the tag is in the page (ordinal or byte offset); kept as evidence.
    pub position: u32,
    /// The name (or `http-equiv`) holds what couldn't be read, so that the tag may be meant for us.
    #[serde(default)]
    pub name_unread: bool,
    /// The content holds what couldn't be read. If the tag is for us, or may be, that counts as
    /// `noindex, nofollow, noarchive`.
    #[serde(default)]
    pub content_unread: bool,
}

impl MetaTag {
    /// Makes a tag with a `name` and a `content`, at position 0.
    pub fn named(name: &str, content: &str) -> Self {
        Self { name: Some(name.to_owned()), content: Some(content.to_owned()), ..Self::default() }
    }
}

/// Reads the content of a robots meta tag into its terms, in order.
///
/// Separators are `,` and, leniently, `;` and their Chinese forms; case, quote marks and blanks around a term
/// don't matter. What is no term is passed over; an empty content counts as `all` (BOF).
///
/// ```
/// use meta::{Term, parse_content};
/// assert_eq!(parse_content("NOINDEX, no-follow, sparkle"), [Term::NoIndex, Term::NoFollow]);
/// ```
pub fn parse_content(content: &str) -> Vec<Term> {
    let mut terms = Vec::new();
    read_content(content, &mut |found| {
        if let Found::Term(term) | Found::Malformed(term) = found {
            terms.push(term);
        }
    });
    terms
}

/// Reads the content of a robots meta tag and reports everything found.
pub(crate) fn read_content<'a>(content: &'a str, found: &mut dyn FnMut(Found<'a>)) {
    if trim(content).is_empty() {
        return found(Found::Term(Term::All));
    }
    walk(content, CONTENT, &mut |_, what| found(what));
}

/// Normalises the name of a tag: without blanks and quote marks around it, in lower case.
pub(crate) fn tag_name(name: &str) -> Cow<'_, str> {
    let name = trim(name);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ImagePreview, Limit, parse_date};

    #[test]
    fn separators_and_spellings() {
        let both = [Term::NoIndex, Term::NoFollow];
        for content in [
            "noindex nofollow",
            "noindex;nofollow",
            "noindex，nofollow",
            "noindex、nofollow",
            "noindex；nofollow",
            "no-index, no follow",
            "”noindex,nofollow”",
            " ,noindex,, 'NoFollow' ,",
            "noindex: yes, no_follow",
            "noindex\u{3000}nofollow",
        ] {
            assert_eq!(parse_content(content), both, "{content}");
        }
    }

    #[test]
    fn empty_content_counts_as_all() {
        assert_eq!(parse_content(" "), [Term::All]);
        assert_eq!(parse_content(","), []);
    }

    #[test]
    fn values_stand_after_a_colon_or_an_equals_sign() {
        let snippet = |n| Term::MaxSnippet(Limit::AtMost(n));
        assert_eq!(parse_content("max-snippet : 80, max_snippet=5"), [snippet(80), snippet(5)]);
        assert_eq!(parse_content("noindex max-snippet:20"), [Term::NoIndex, snippet(20)]);
        assert_eq!(parse_content("max-image-preview:LARGE"), [Term::MaxImagePreview(ImagePreview::Large)]);
        assert_eq!(parse_content("max-snippet:many, max-image-preview:huge, max-snippet"), []);
        assert_eq!(parse_content("noindex: max-snippet:2"), [Term::NoIndex]);
    }

    #[test]
    fn scopes_are_unknown_in_tags() {
        assert_eq!(
            parse_content("noindex, sparkle, x:y, otherbot: nofollow"),
            [Term::NoIndex, Term::NoFollow]
        );
    }

    #[test]
    fn the_longest_stretch_that_is_a_date_is_taken() {
        let date = |text| Term::UnavailableAfter(parse_date(text).unwrap());
        assert_eq!(
            parse_content("unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, noarchive"),
            [date("2025-12-03T13:09:53Z"), Term::NoArchive]
        );
        assert_eq!(
            parse_content(
                "unavailable-after=Saturday, 01-Jan-22 00:00:00 GMT; unavailable_after: 2027-01-01"
            ),
            [date("2022-01-01"), date("2027-01-01")]
        );
        assert_eq!(
            parse_content("unavailable_after: 25 Jun 2010, 15:00:00 PST, noai"),
            [date("2010-06-25T23:00:00Z"), Term::NoAi]
        );
        assert_eq!(parse_content("unavailable_after: whenever, nofollow"), [Term::NoFollow]);
        assert_eq!(parse_content("unavailable_after:"), []);
        assert_eq!(parse_content("unavailable_after: , , , , , , , , , , , , ,nofollow"), [Term::NoFollow]);
    }
}
