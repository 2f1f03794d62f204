//! The statements that come with a page: its headers, its tags, and the site's file about it.

use jiff::Timestamp;

use super::malformed::{self, Read};
use super::tdm::{Reservation, effective};
use super::{Claim, Consent, Purpose, Signal, Statement};
use crate::{Directives, Source, SourceKind};

/// Places of one claim that are kept.
const PLACES: usize = 8;

/// Gathers the statements of a response: `Content-Usage` and `Content-Signal` headers, `noai` and its kin, and the
/// reservation of text and data mining, for which the site's file may say something too.
///
/// `directives` is what [`resolve`](crate::resolve) made of the same response.
pub fn page_statements(
    headers: &[(String, String)],
    directives: &Directives,
    tdm_file: Option<&Reservation>,
    at: Timestamp,
) -> Vec<Statement> {
    let mut statements = Vec::new();
    let mut add = |signal, claim, source: Source| {
        let statement = Statement { signal, claim, source, at };
        let is_same = |other: &&Statement| (other.signal, other.claim) == (signal, claim);
        if statements.iter().filter(is_same).count() < PLACES {
            statements.push(statement);
        }
    };

    // One dictionary may be spread over several lines (RFC 9651 section 4.2).
    let mut usage = String::new();
    for (number, (name, value)) in (0..).zip(headers) {
        if name.eq_ignore_ascii_case("content-usage") {
            usage.push_str(if usage.is_empty() { "" } else { ", " });
            usage.push_str(value);
        } else if name.eq_ignore_ascii_case("content-signal") {
            add_claims(Signal::ContentSignal, number, name, value, &mut add);
        }
    }
    add_claims(Signal::ContentUsage, 0, "Content-Usage", &usage, &mut add);

    for because in &directives.because {
        let purposes: &[Purpose] = match because.directive.as_str() {
            "noai" | "noml" => &[Purpose::AiTrain, Purpose::AiTrainImages],
            "noimageai" => &[Purpose::AiTrainImages],
            _ => &[],
        };
        for purpose in purposes {
            add(Signal::NoAi, Claim::Purpose(*purpose, Consent::Deny), because.source.clone());
        }
    }

    if let Some(bit) = effective(tdm_file, directives).reservation {
        let consent = if bit == 1 { Consent::Deny } else { Consent::Allow };
        let said = directives.because.iter().find(|because| because.key() == "tdm-reservation");
        let in_file = || {
            Source::new(SourceKind::File, 0, "/.well-known/tdmrep.json", &format!("tdm-reservation: {bit}"))
        };
        let source = said.map_or_else(in_file, |because| because.source.clone());
        add(Signal::TdmRep, Claim::Purpose(Purpose::Tdm, consent), source);
    }
    statements
}

/// Adds what a header line says; of a malformed value only the denials, marked as such in their source.
fn add_claims(
    signal: Signal,
    number: u32,
    name: &str,
    value: &str,
    add: &mut dyn FnMut(Signal, Claim, Source),
) {
    let Read { clean, malformed } = malformed::read(signal, value);
    for claim in clean {
        add(signal, claim, Source::new(SourceKind::Header, number, name, value));
    }
    for claim in malformed {
        let name = format!("{name} (malformed)");
        add(signal, claim, Source::new(SourceKind::Header, number, &name, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::statement::tests_support::words;
    use crate::{Agent, Dialect, MetaTag, Sources, resolve};

    /// Writes what headers, tags and file say as `purpose:verdict`.
    fn said(headers: &[(&str, &str)], metas: &[(&str, &str)], file: Option<u8>) -> String {
        let headers: Vec<_> = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let tag = |(name, content): &(&str, &str)| MetaTag {
            name: Some((*name).to_owned()),
            content: Some((*content).to_owned()),
            ..MetaTag::default()
        };
        let metas: Vec<_> = metas.iter().map(tag).collect();
        let sources = Sources { headers: &headers, metas: &metas };
        let now = Timestamp::UNIX_EPOCH;
        let directives = resolve(&sources, &Agent::new("examplebot"), Dialect::Strict, now);
        let file = Reservation { reservation: file, policy: None };
        let statements = page_statements(&headers, &directives, Some(&file), now);
        words(&statements.iter().map(|s| s.claim).collect::<Vec<_>>())
    }

    #[test]
    fn headers_of_one_dictionary_are_one_value() {
        assert_eq!(
            said(&[("Content-Usage", "train-ai=y"), ("content-usage", "train-ai=n")], &[], None),
            "ai-train:deny"
        );
        assert_eq!(said(&[("Content-Usage", "train-ai=y"), ("content-usage", "!")], &[], None), "");
        assert_eq!(
            said(&[("Content-Usage", "train-ai=n"), ("content-usage", "!")], &[], None),
            "ai-train:deny"
        );
        assert_eq!(
            said(&[("CONTENT-SIGNAL", "search=yes"), ("Content-Usage", "search=n")], &[], None),
            "search:allow search:deny"
        );
    }

    #[test]
    fn terms_of_tags_deny_training() {
        assert_eq!(said(&[], &[("robots", "noai")], None), "ai-train:deny ai-train-images:deny");
        assert_eq!(said(&[("X-Robots-Tag", "noimageai")], &[], None), "ai-train-images:deny");
        assert_eq!(said(&[("X-Robots-Tag", "otherbot: noai")], &[], None), "");
    }

    #[test]
    fn the_later_place_of_a_reservation_replaces() {
        let name = "tdm-reservation";
        assert_eq!(said(&[(name, "0")], &[(name, "1")], Some(1)), "tdm:deny");
        assert_eq!(said(&[("TDM-Reservation", "0")], &[], Some(1)), "tdm:allow");
        assert_eq!(said(&[(name, "yes")], &[], None), "");
        assert_eq!(said(&[(name, "yes")], &[(name, "2")], Some(1)), "tdm:deny");
        assert_eq!(said(&[], &[], Some(0)), "tdm:allow");
    }

    #[test]
    fn a_denial_malformed_says_so_in_its_place() {
        let headers = [("content-signal".to_owned(), "search=yes, ai-train: no".to_owned())];
        let now = Timestamp::UNIX_EPOCH;
        let statements = page_statements(&headers, &Directives::default(), None, now);
        let places: Vec<String> = statements.iter().map(|s| s.source.to_string()).collect();
        assert_eq!(
            places,
            [
                "header content-signal: search=yes, ai-train: no",
                "header content-signal (malformed): search=yes, ai-train: no"
            ]
        );
    }
}
