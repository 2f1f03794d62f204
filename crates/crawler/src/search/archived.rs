//! Reads the text of a page from its response in the archive.

use std::path::Path;

use bytes::Bytes;

use super::document::{Document, Kind};
use super::pdf::{self, NotRead};
use super::sites::Sites;
use crate::config;
use crate::fetch::{FieldLines, decode_body, field_lines_of};
use crate::record::{PageRecord, UnreadText};
use crate::suspects;
use crate::visit::{Crashed, Rereading};
use crate::warc::{Directories, Location, Record};
use page::extract::{self, Document as Response, ExtractInput, ExtractLimits, MainText};
use page::url::CrawlUrl;

/// Reads texts from an archive.
#[derive(Debug)]
pub(super) struct Archive {
    dirs: Directories,
    limits: ExtractLimits,
    agent: meta::Agent,
    /// The program that reads PDF files; none where this isn't it.
    pdf: Option<pdf::Reader>,
    /// PDF files are read by somebody else.
    leaves_pdf: bool,
    sites: Sites,
    rereading: Rereading,
    pub(super) count: Count,
}

/// Pages whose text isn't available: they are found only by title, description and URL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Their body isn't in the archive: noarchive, or an archive that is off.
    pub(super) unarchived: u64,
    /// Their body can't be read there, or no text in it.
    pub(super) unread: u64,
    /// Of these, PDF files that took too long or too much memory, or that weren't begun because others of their site did.
    pub(super) slow: u64,
    /// Of these, pages whose body ended a process that read it.
    pub(super) crashed: u64,
}

/// What became of a page's text.
#[derive(Debug)]
pub(super) enum Text {
    /// The text that was read of the body.
    Read(Box<MainText>),
    /// It isn't there, or can't be read; with the reason of a PDF file.
    None(Option<UnreadText>),
    /// Somebody else reads it, or reading was stopped.
    Left,
}

impl Text {
    /// Makes the document of a record with this text.
    pub(super) fn into_document(self, record: &PageRecord) -> Document {
        let text = match self {
            Self::Read(text) => *text,
            Self::None(_) | Self::Left => MainText::default(),
        };
        Document::new(record, text)
    }
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
        let (sites, count) = Default::default();
        let settings = || {
            let settings = config::read_own(&root.join("crawl.toml"), root).ok()?;
            config::settings_in_force(&settings).ok()
        };
        let rereading = Rereading::new(Some(root), settings);
        Self { dirs, limits, agent, pdf, leaves_pdf: false, sites, rereading, count }
    }

    /// Has it read no PDF files: [`leaves`](Self::leaves) says which somebody else has to read.
    pub(super) fn leaving_pdf(self) -> Self {
        Self { leaves_pdf: true, ..self }
    }

    /// Whether a page is a PDF file that could be read, and somebody else reads.
    pub(super) fn leaves(&self, record: &PageRecord, kind: Kind) -> bool {
        self.leaves_pdf && self.reads_pdf(record, kind)
    }

    /// Whether a page is a PDF file that can be read.
    fn reads_pdf(&self, record: &PageRecord, kind: Kind) -> bool {
        kind == Kind::Pdf && self.pdf.is_some() && record.warc.is_some()
    }

    /// Who stops the reading of a PDF file; none where none is read.
    pub(super) fn running_pdf(&self) -> Option<&std::sync::Arc<pdf::Running>> {
        self.pdf.as_ref().map(pdf::Reader::running)
    }

    /// Whether the file of a page's body is within reach, or none has it.
    pub(super) fn has(&self, record: &PageRecord) -> bool {
        record.warc.as_ref().is_none_or(|place| self.dirs.of(&place.file).is_some())
    }

    /// Makes the document of a record, with its text as far as that is archived.
    pub(super) fn document(&mut self, record: &PageRecord, kind: Kind) -> Document {
        self.text(record, kind).into_document(record)
    }

    /// Reads the text of a record.
    pub(super) fn text(&mut self, record: &PageRecord, kind: Kind) -> Text {
        let Some(place) = &record.warc else {
            self.count.unarchived += 1;
            return Text::None(None);
        };
        let place = Location { file: place.file.clone(), offset: place.offset, length: place.length };
        if kind == Kind::Pdf {
            return self.pdf_text(record, &place);
        }
        match self.page_text(record, &place) {
            Ok(Some(text)) => return Text::Read(Box::new(text)),
            Ok(None) => {}
            Err(Crashed) => self.count.crashed += 1,
        }
        self.count.unread += 1;
        Text::None(None)
    }

    fn pdf_text(&mut self, record: &PageRecord, place: &Location) -> Text {
        if self.leaves(record, Kind::Pdf) {
            return Text::Left;
        }
        let Some(pdf) = &self.pdf else {
            self.count.unread += 1;
            return Text::None(None);
        };
        let site = Sites::site_of(&record.url);
        if !self.sites.may_read(&site) {
            (self.count.unread, self.count.slow) = (self.count.unread + 1, self.count.slow + 1);
            return Text::None(Some(UnreadText::Slow));
        }
        // Neither response nor body is held while the process runs.
        let file = self.response(place).and_then(|stored| Some(pdf.file(&decoded(&stored)?.1)));
        let read = match file {
            Some(Ok(file)) => pdf.read(file),
            Some(Err(_)) => Err(NotRead::Stopped),
            None => Err(NotRead::Unread(UnreadText::Damaged)),
        };
        match read {
            Ok(text) => {
                self.sites.succeeded(&site);
                Text::Read(Box::new(text))
            }
            Err(NotRead::Stopped) => Text::Left,
            Err(NotRead::Unread(unread)) => {
                self.count.unread += 1;
                if unread.limit().is_some() {
                    self.count.slow += 1;
                    self.sites.failed(site);
                }
                Text::None(Some(unread))
            }
        }
    }

    fn response(&self, place: &Location) -> Option<Record> {
        self.dirs.read_response(place)?.ok()
    }

    /// None where there is no text.
    fn page_text(&self, record: &PageRecord, place: &Location) -> Result<Option<MainText>, Crashed> {
        let Some(stored) = self.response(place) else { return Ok(None) };
        let _noted = self.rereading.begin(&place.file, &stored)?;
        Ok(self.text_of(record, &stored))
    }

    fn text_of(&self, record: &PageRecord, stored: &Record) -> Option<MainText> {
        let (fields, body) = decoded(stored)?;
        suspects::abort_on_mark(&body);
        let mut document =
            Response::of(fields.iter().map(|(name, value)| (name.as_str(), value.as_slice())), &body);
        document.is_cut = record.is_cut();
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

/// The fields of a response, and its body without its codings.
fn decoded(stored: &Record) -> Option<(FieldLines, Bytes)> {
    let (head, wire) = stored.http()?;
    let fields = field_lines_of(head);
    let codings: Vec<String> = fields
        .iter()
        .filter(|(name, _)| name == "content-encoding")
        .map(|(_, value)| String::from_utf8_lossy(value).into_owned())
        .collect();
    let body = decode_body((!codings.is_empty()).then(|| codings.join(",")).as_deref(), wire);
    Some((fields, body))
}
