//! Reads the text of a page from its response in the archive.

use std::path::Path;

use super::document::{Document, Kind};
use super::pdf;
use crate::extract::{self, Document as Response, ExtractInput, ExtractLimits, MainText};
use crate::fetch::decode_body;
use crate::record::PageRecord;
use crate::url::CrawlUrl;
use crate::warc::{Directories, Location};

/// Reads texts from an archive.
#[derive(Debug)]
pub(super) struct Archive {
    dirs: Directories,
    limits: ExtractLimits,
    agent: meta::Agent,
    /// The program that reads PDF files; none where this isn't it.
    pdf: Option<pdf::Reader>,
    pub(super) count: Count,
}

/// Pages whose text isn't available: they are found only by title, description and URL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Their body isn't in the archive: noarchive, or an archive that is off.
    pub(super) unarchived: u64,
    /// Their body can't be read there, or no text in it.
    pub(super) unread: u64,
}

impl Archive {
    /// The archive of a crawl in a directory.
    pub(super) fn new(root: &Path, limits: ExtractLimits) -> Self {
        Self::in_directories(root, Directories::new(vec![root.join("warc")]), limits)
    }

    /// An archive in these directories; `root` is where the index is.
    pub(super) fn in_directories(root: &Path, dirs: Directories, limits: ExtractLimits) -> Self {
        let pdf = pdf::Reader::new(root, limits.text_bytes);
        // Directives aren't asked for: the record holds what they came to.
        let agent = meta::Agent::new("index");
        Self { dirs, limits, agent, pdf, count: Count::default() }
    }

    /// Whether the file of a page's body is within reach, or none has it.
    pub(super) fn has(&self, record: &PageRecord) -> bool {
        record.warc.as_ref().is_none_or(|place| self.dirs.of(&place.file).is_some())
    }

    /// Makes the document of a record, with its text as far as that is archived.
    pub(super) fn document(&mut self, record: &PageRecord, kind: Kind) -> Document {
        let text = match &record.warc {
            None => {
                self.count.unarchived += 1;
                None
            }
            Some(place) => {
                let place = Location { file: place.file.clone(), offset: place.offset, length: place.length };
                let text = self.text(record, kind, &place);
                self.count.unread += u64::from(text.is_none());
                text
            }
        };
        Document::new(record, text.unwrap_or_default())
    }

    fn text(&self, record: &PageRecord, kind: Kind, place: &Location) -> Option<MainText> {
        let stored = self.dirs.read_response(place)?.ok()?;
        let (_, wire) = stored.http()?;
        let fields = stored.http_fields();
        let codings: Vec<String> = fields
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"))
            .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
            .collect();
        let body = decode_body((!codings.is_empty()).then(|| codings.join(",")).as_deref(), wire);
        if kind == Kind::Pdf {
            return self.pdf.as_ref()?.read(&body);
        }
        let mut document = Response::of(fields.iter().map(|(name, value)| (&**name, &**value)), &body);
        document.is_cut = record.truncated.is_some();
        let url = CrawlUrl::parse(&record.url).ok()?;
        let input = ExtractInput {
            body: &body,
            content_type: document.content_type.as_deref(),
            url: &url.to_url(),
            link_headers: &[],
            limits: &self.limits,
            want_text: true,
            want_styles: false,
        };
        match extract::read(&input, &document, &self.agent).page {
            Some(page) => page.main,
            // XML that is no feed has no text to be found by.
            None => {
                Some(extract::other_main_text(&input, &document).map(|(text, _)| text).unwrap_or_default())
            }
        }
    }
}
