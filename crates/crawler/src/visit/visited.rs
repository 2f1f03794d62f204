//! A response, read.

use meta::Effects;
use walls::Verdict;

use super::found::FoundLink;
use super::growth::Growth;
use crate::costly::Shown;
use crate::encoded::{Size, json, packed_size};
use crate::packed::pack;
use crate::record::{Archived, PageRecord};
use crate::warc::Encoded;
use page::extract::MainText;
use page::url::Fingerprint;

/// Bytes that a link takes until it is committed, beside its texts: as found, as its record, and as the entry of one that isn't
/// queued, with its evidence and the unused capacity of a growing list of entries.
const LINK: usize = 2_000;

/// A response, read.
#[derive(Debug)]
pub struct Visited {
    /// The fingerprint of its URL.
    pub page: Fingerprint,
    /// The record, without its place in the archive.
    pub record: PageRecord,
    /// The links, a redirect's target among them.
    pub links: Vec<FoundLink>,
    /// What goes to the archive.
    pub warc: Option<Encoded>,
    /// The text for the full-text index, of what may be indexed.
    pub text: Option<Box<MainText>>,
    /// The status of the response; the record's own where there was none.
    pub status: Option<u16>,
    /// The record's links are those of an earlier visit, which stay.
    pub keeps_links: bool,
    /// Captures of earlier visits that have to leave the archive.
    pub withdrawn: Vec<Archived>,
    /// The mark of what an HTML page says, for the trap guard. Never stored.
    pub mark: Option<u32>,
    /// The kinds of site that it shows.
    pub kinds: Vec<Shown>,
    /// What may be done with the page, and what forbids the rest.
    pub effects: Effects,
    /// What the response is; none of one that says nothing new, or where walls are treated as pages. Never stored.
    pub verdict: Option<Verdict>,
    /// What is denied by lines of robots.txt and statements of the page, in words. Never stored with it.
    pub denials: Option<String>,
    /// Bytes of record and links as they are stored, about, once they were counted.
    pub encoded: Option<usize>,
    /// What the page may add to the database.
    pub growth: Growth,
}

impl Visited {
    /// About how many bytes this takes in memory, until it is committed. Notes how many of them are stored.
    ///
    /// What the record and each link take is measured by encoding them: a field that is added counts by itself. The record
    /// counts twice, since the entries of the ledger about a page repeat parts of it.
    pub(super) fn measure(&mut self) -> usize {
        let record = Size::of(&self.record);
        let links: usize = self.links.iter().map(packed_size).sum();
        self.encoded = Some(record.encoded + links);
        self.lighten(record.encoded);
        self.growth.estimate(record.encoded + links);
        size_of::<Self>()
            + record.memory
            + record.until_committed()
            + self.links.len() * (LINK + self.record.url.len())
            + 3 * links
            + self.withdrawn.iter().map(packed_size).sum::<usize>()
            + self.denials.as_ref().map_or(0, String::len)
            + self.text.as_ref().map_or(0, |text| 2 * (text.text.len() + text.headings.len()))
            + self.warc.as_ref().map_or(0, |encoded| encoded.bytes.len())
    }
}

impl Visited {
    /// Makes it the wall that it was likely to be: nothing of it is used, and what is archived of it stays as evidence.
    pub fn become_wall(&mut self) {
        self.record.become_wall();
        self.record.links_out = 0;
        self.links.clear();
        self.text = None;
        self.mark = None;
    }

    /// Takes the largest texts out of a record that takes more than half of what the page may add. `encoded`: its bytes before it is
    /// compressed.
    fn lighten(&mut self, encoded: usize) {
        let most = self.growth.most() / 2;
        if encoded <= most {
            return;
        }
        for take_out in [drop_fields, drop_json_ld] {
            if packed_record(&self.record) > most {
                take_out(&mut self.record);
            }
        }
    }

    /// Compresses record and links to see how many bytes they take in the database, where that was only estimated. `links` are those of the
    /// page. False if it was done before.
    pub fn weigh(&mut self, links: &[FoundLink]) -> bool {
        if !self.growth.is_estimate() {
            return false;
        }
        let parts: Vec<_> = links.iter().map(FoundLink::stored_part).collect();
        let links = postcard::to_stdvec(&parts).map_or(0, |bytes| pack(bytes).len());
        self.growth.correct(packed_record(&self.record) + links);
        true
    }
}

fn packed_record(record: &PageRecord) -> usize {
    json(record).map_or(0, |bytes| pack(bytes).len())
}

fn drop_fields(record: &mut PageRecord) {
    if !std::mem::take(&mut record.fields).is_empty() {
        record.hit_limit("fields");
    }
}

fn drop_json_ld(record: &mut PageRecord) {
    if !std::mem::take(&mut record.about.json_ld).is_empty() {
        record.hit_limit("json-ld");
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use meta::DirectiveSource;

    use super::*;
    use crate::record::{About, Decision, LinkRecord, RobotsEvidence};

    #[test]
    fn a_link_counts_for_what_it_takes() {
        // A list that grows has capacity for twice its entries, and for half of them again while it is moved.
        let entries = 2 * size_of::<Decision>() + size_of::<Decision>() / 2;
        let taken = size_of::<FoundLink>() + size_of::<LinkRecord>() + entries;
        assert!(LINK >= taken, "{taken}");
    }

    fn visited(record: PageRecord, links: Vec<FoundLink>) -> Visited {
        let status = record.status;
        let (withdrawn, mark, denials) = (Vec::new(), None, None);
        Visited {
            page: Fingerprint(0),
            record,
            links,
            warc: None,
            text: None,
            status,
            keeps_links: false,
            withdrawn,
            mark,
            kinds: Vec::new(),
            effects: Effects::default(),
            verdict: None,
            denials,
            encoded: None,
            growth: Growth::of(0),
        }
    }

    #[test]
    fn whatever_field_is_large_counts_until_it_is_committed() {
        const LARGE: usize = 100_000;
        // In memory, as JSON, and as JSON in the value that it is joined to.
        let held = |record| visited(record, Vec::new()).measure();
        let text = || "x".repeat(LARGE);
        let empty = held(PageRecord::default());
        let source = meta::Source { text: text(), ..meta::Source::new(meta::SourceKind::Meta, 0, "", "") };
        let statement = meta::consent::Statement {
            signal: meta::consent::Signal::NoAi,
            claim: meta::consent::Claim::Use(meta::consent::Grade::Full),
            source: source.clone(),
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        let robots = RobotsEvidence { rule: Some(text()), ..RobotsEvidence::default() };
        for record in [
            PageRecord {
                about: About { json_ld: vec![text()], ..About::default() },
                ..PageRecord::default()
            },
            PageRecord { consent: vec![statement], ..PageRecord::default() },
            PageRecord {
                directives: vec![DirectiveSource { directive: String::new(), source }],
                ..PageRecord::default()
            },
            PageRecord { keywords: Some(vec![String::new(); LARGE / 24]), ..PageRecord::default() },
            PageRecord { fields: BTreeMap::from([(text(), Vec::new())]), ..PageRecord::default() },
            PageRecord { headers: vec![(String::new(), text())], ..PageRecord::default() },
            PageRecord { robots, ..PageRecord::default() },
        ] {
            let is_texts = record.keywords.is_some();
            let held = held(record) - empty;
            assert!(held >= if is_texts { LARGE } else { 3 * LARGE }, "{held}");
        }
        let link = |hreflang: usize| FoundLink {
            normal: None,
            target: Err(String::new()),
            kind: "a",
            rel: String::new(),
            rel_words: Vec::new(),
            text: "".into(),
            position: None,
            hreflang: Some("x".repeat(hreflang)),
            is_resource: false,
            nofollow: false,
            skip: None,
        };
        let held = |hreflang| visited(PageRecord::default(), vec![link(hreflang)]).measure();
        assert!(held(LARGE) >= held(0) + 3 * LARGE);
    }
}
