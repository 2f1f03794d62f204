//! `X-Robots-Tag` and `Robots-Tag` header lines with their agent scopes.

use crate::Term;
use crate::walk::{Found, ROBOTS_TAG_PART, X_ROBOTS_TAG, walk};

/// The robots that a term addresses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Every robot.
    All,
    /// The robot of this name (lower case, without version).
    Agent(String),
}

/// One term, and the robots that it addresses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct Scoped {
    /// The robots that it addresses.
    pub scope: Scope,
    /// What it says.
    pub term: Term,
}

/// Reads one header field line into its terms, in order; gives nothing for a field that isn't `X-Robots-Tag` or
/// `Robots-Tag` (the second is draft-illyes-repext-00).
///
/// `name:` before a term opens the scope of that agent, up to the next name or the end of the line. Lines must
/// be handed in separately: joined by `, ` the terms of the second would fall under the last scope of the first.
///
/// ```
/// use meta::{Scope, Term, parse_header_line};
/// let read = parse_header_line("X-Robots-Tag", "BadBot: noindex, nofollow, googlebot: nofollow");
/// assert_eq!(read.len(), 3);
/// assert_eq!(read[2].scope, Scope::Agent("googlebot".to_owned()));
/// assert_eq!(read[2].term, Term::NoFollow);
/// ```
pub fn parse_header_line(name: &str, value: &str) -> Vec<Scoped> {
    let mut read = Vec::new();
    read_header_line(name, value, &mut |scope, found| {
        if let Found::Term(term) | Found::Malformed(term) = found {
            read.push(Scoped { scope: scope.clone(), term });
        }
    });
    read
}

/// Returns whether a header field of this name is read here.
pub(crate) fn is_header(name: &str) -> bool {
    name.eq_ignore_ascii_case("x-robots-tag") || name.eq_ignore_ascii_case("robots-tag")
}

/// Reads one header field line and reports everything found.
pub(crate) fn read_header_line<'a>(name: &str, value: &'a str, found: &mut dyn FnMut(&Scope, Found<'a>)) {
    let name = name.trim();
    if name.eq_ignore_ascii_case("x-robots-tag") {
        walk(value, X_ROBOTS_TAG, found);
    } else if name.eq_ignore_ascii_case("robots-tag") {
        for part in value.split(';') {
            walk(part, ROBOTS_TAG_PART, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limit;

    /// Writes what was read as `scope term` pairs.
    fn read(name: &str, value: &str) -> Vec<String> {
        let scope = |scope| match scope {
            Scope::All => "*".to_owned(),
            Scope::Agent(agent) => agent,
        };
        parse_header_line(name, value).into_iter().map(|s| format!("{} {}", scope(s.scope), s.term)).collect()
    }

    #[test]
    fn a_name_scopes_the_terms_up_to_the_next_name() {
        assert_eq!(
            read(
                "x-robots-tag",
                "noarchive, BadBot : noindex, nofollow, googlebot/2.1: none, *: nosnippet, robots: noai"
            ),
            ["* noarchive", "badbot noindex", "badbot nofollow", "googlebot none", "* nosnippet", "* noai"]
        );
        assert_eq!(read("X-Robots-Tag", "otherbot: noindex nofollow; noarchive").len(), 3);
        assert!(read("X-Robots-Tag", "otherbot:").is_empty());
    }

    #[test]
    fn valued_terms_and_known_terms_open_no_scope() {
        assert_eq!(
            read("X-Robots-Tag", "max-snippet: 5, unavailable_after: 2020-09-21, noindex: x, noarchive"),
            ["* max-snippet:5", "* unavailable_after: 2020-09-21T00:00:00Z", "* noindex", "* noarchive"]
        );
        assert_eq!(
            read("X-Robots-Tag", "otherbot: unavailable_after: Wed, 03 Dec 2025 13:09:53 GMT, noarchive"),
            ["otherbot unavailable_after: 2025-12-03T13:09:53Z", "otherbot noarchive"]
        );
    }

    #[test]
    fn robots_tag_parts_have_their_own_scopes() {
        assert_eq!(read("Robots-Tag", "*=noindex, nosnippet; ExampleBot=;"), ["* noindex", "* nosnippet"]);
        assert_eq!(
            read("robots-tag", "noindex; OtherBot=nosnippet;nofollow"),
            ["* noindex", "otherbot nosnippet", "* nofollow"]
        );
        assert_eq!(
            read("Robots-Tag", "max-snippet=20, a=noindex; a=\"nofollow, noai\""),
            ["* max-snippet:20", "a noindex", "a nofollow", "a noai"]
        );
    }

    #[test]
    fn other_fields_say_nothing() {
        assert!(parse_header_line("X-Robots", "noindex").is_empty());
        assert_eq!(
            parse_header_line(" X-ROBOTS-TAG ", "max-snippet:-1"),
            [Scoped { scope: Scope::All, term: Term::MaxSnippet(Limit::Unlimited) }]
        );
    }
}
