//! The fields that are known, and how their names are misspelt.

use crate::bytes::is_blank;

/// A known field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    UserAgent,
    Allow,
    Disallow,
    Sitemap,
    CrawlDelay,
    CacheDelay,
    RequestRate,
    VisitTime,
    RobotVersion,
    Comment,
    CleanParam,
    Host,
    Noindex,
    ContentUsage,
    ContentSignal,
    License,
}

/// How sure the name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// As the standards write it; case doesn't matter.
    Exact,
    /// One of the slips that Google's parser accepts (`rfc9309`, `hardened`).
    Slip,
}

const EXACT: [(&str, Field); 16] = [
    ("user-agent", Field::UserAgent),
    ("allow", Field::Allow),
    ("disallow", Field::Disallow),
    ("sitemap", Field::Sitemap),
    ("crawl-delay", Field::CrawlDelay),
    ("cache-delay", Field::CacheDelay),
    ("request-rate", Field::RequestRate),
    ("visit-time", Field::VisitTime),
    ("robot-version", Field::RobotVersion),
    ("comment", Field::Comment),
    ("clean-param", Field::CleanParam),
    ("host", Field::Host),
    ("noindex", Field::Noindex),
    ("content-usage", Field::ContentUsage),
    ("content-signal", Field::ContentSignal),
    ("license", Field::License),
];

const SLIPS: [(&str, Field); 8] = [
    ("useragent", Field::UserAgent),
    ("user agent", Field::UserAgent),
    ("dissallow", Field::Disallow),
    ("dissalow", Field::Disallow),
    ("disalow", Field::Disallow),
    ("diasllow", Field::Disallow),
    ("disallaw", Field::Disallow),
    ("site-map", Field::Sitemap),
];

impl Field {
    /// Reads a trimmed field name.
    pub(crate) fn read(name: &[u8]) -> Option<(Field, Spelling)> {
        // The three fields of nearly every line first.
        match name.len() {
            8 if name.eq_ignore_ascii_case(b"disallow") => return Some((Field::Disallow, Spelling::Exact)),
            5 if name.eq_ignore_ascii_case(b"allow") => return Some((Field::Allow, Spelling::Exact)),
            10 if name.eq_ignore_ascii_case(b"user-agent") => {
                return Some((Field::UserAgent, Spelling::Exact));
            }
            0..=3 | 16.. => return None,
            _ => {}
        }
        let find = |names: &[(&str, Field)]| {
            names
                .iter()
                .find(|(known, _)| name.eq_ignore_ascii_case(known.as_bytes()))
                .map(|&(_, field)| field)
        };
        find(&EXACT)
            .map(|field| (field, Spelling::Exact))
            .or_else(|| find(&SLIPS).map(|field| (field, Spelling::Slip)))
    }

    /// Returns the name as people write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Field::UserAgent => "User-agent",
            Field::Allow => "Allow",
            Field::Disallow => "Disallow",
            Field::Sitemap => "Sitemap",
            Field::CrawlDelay => "Crawl-delay",
            Field::CacheDelay => "Cache-delay",
            Field::RequestRate => "Request-rate",
            Field::VisitTime => "Visit-time",
            Field::RobotVersion => "Robot-version",
            Field::Comment => "Comment",
            Field::CleanParam => "Clean-param",
            Field::Host => "Host",
            Field::Noindex => "Noindex",
            Field::ContentUsage => "Content-Usage",
            Field::ContentSignal => "Content-Signal",
            Field::License => "License",
        }
    }

    /// Returns whether the field speaks for a group alone, and not for the whole file.
    pub(crate) fn is_of_group(self) -> bool {
        matches!(
            self,
            Field::CrawlDelay
                | Field::CacheDelay
                | Field::RequestRate
                | Field::VisitTime
                | Field::RobotVersion
                | Field::Comment
                | Field::Noindex
                | Field::ContentUsage
                | Field::ContentSignal
        )
    }
}

/// Guesses which field an unknown name was meant for: one letter too many, missing or changed, or two letters swapped.
pub(crate) fn likely(name: &[u8]) -> Option<Field> {
    // Nothing longer is near a known name.
    if name.len() > 16 {
        return None;
    }
    let name: Vec<u8> =
        name.iter().map(|&b| if b == b'_' || is_blank(b) { b'-' } else { b.to_ascii_lowercase() }).collect();
    let best = EXACT
        .iter()
        .map(|(known, field)| (distance(&name, known.as_bytes()), *field))
        .min_by_key(|(d, _)| *d)?;
    (best.0 <= 2 && best.0 * 4 < name.len()).then_some(best.1)
}

fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(x != y)).min(above + 1).min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ignore_case_and_known_slips_are_marked() {
        assert_eq!(Field::read(b"DISALLOW"), Some((Field::Disallow, Spelling::Exact)));
        assert_eq!(Field::read(b"Content-signal"), Some((Field::ContentSignal, Spelling::Exact)));
        assert_eq!(Field::read(b"User Agent"), Some((Field::UserAgent, Spelling::Slip)));
        for unknown in [&b"disallow-x"[..], b"allows", b"user_agent", b"", b"<p>disallow", b"disallows"] {
            assert_eq!(Field::read(unknown), None);
        }
    }

    #[test]
    fn likely_names_help_the_author() {
        assert_eq!(likely(b"Disallows"), Some(Field::Disallow));
        assert_eq!(likely(b"User_agent"), Some(Field::UserAgent));
        assert_eq!(likely(b"Crawldelay"), Some(Field::CrawlDelay));
        assert_eq!(likely(b"Content-Signalss"), Some(Field::ContentSignal));
        for unknown in [&b"font-size"[..], b"Content-Signalsss", b"hist", b"hos", b"x", b""] {
            assert_eq!(likely(unknown), None);
        }
    }

    #[test]
    fn a_guess_is_at_most_two_letters_off_and_less_than_a_quarter() {
        assert_eq!(likely(b"alloy"), Some(Field::Allow));
        assert_eq!(likely(b"visit_time"), Some(Field::VisitTime));
        assert_eq!(likely(b"request rate"), Some(Field::RequestRate));
        for unknown in [&b"sitxmxp"[..], b"hoss"] {
            assert_eq!(likely(unknown), None);
        }
        for (a, b, expected) in
            [("", "", 0), ("ab", "", 2), ("", "ab", 2), ("xxallow", "allow", 2), ("alolw", "allow", 2)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
    }
}
