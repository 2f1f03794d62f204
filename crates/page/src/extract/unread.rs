//! The parts of a response that weren't read, though they may have directives.

use std::fmt;

use meta::{DirectiveSource, Directives, Source, SourceKind};

/// Names a part of a response that wasn't read and may have held directives.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unread {
    /// The body isn't what its type says; holds what it is.
    Body(String),
    /// The body was cut before the head ended.
    CutHead,
    /// A `<meta>` element is beyond so many bytes.
    LateMeta(usize),
    /// There are more `<meta>` elements than so many.
    SurplusMetas(usize),
    /// A `<meta>` element that addresses the robot has a value of more than so many bytes.
    LongMeta(usize),
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body(found) => write!(f, "sent as a page, but it is {found}"),
            Self::CutHead => write!(f, "the body was truncated before the end of its head"),
            Self::LateMeta(bytes) => write!(f, "a meta element is beyond the first {bytes} bytes"),
            Self::SurplusMetas(count) => write!(f, "there are more than {count} meta elements"),
            Self::LongMeta(bytes) => write!(f, "a meta value is longer than {bytes} bytes"),
        }
    }
}

impl Unread {
    /// Returns whether the page is kept out of index and archive under every dialect. The others do so where
    /// `closes_unread_head` holds.
    fn closes_always(&self) -> bool {
        matches!(self, Self::Body(_))
    }

    /// Returns the part that wasn't read: `body` or `head`.
    pub fn part(&self) -> &'static str {
        if self.closes_always() { "body" } else { "head" }
    }

    fn source(&self) -> Source {
        Source::new(SourceKind::Unread, 0, self.part(), &self.to_string())
    }
}

/// Forbids to index and to archive what wasn't read well enough to know whether its author does, with the reason.
pub(super) fn close(mut directives: Directives, unread: &[Unread], closes_unread_head: bool) -> Directives {
    for part in unread.iter().filter(|part| closes_unread_head || part.closes_always()) {
        directives.index = false;
        directives.archive = false;
        for directive in ["noarchive", "noindex"] {
            directives
                .because
                .push(DirectiveSource { directive: directive.to_owned(), source: part.source() });
        }
    }
    directives.because.sort();
    directives
}
