//! What is indexed of a page: from its record and its text.

use jiff::Timestamp;
use tantivy::{DateTime, TantivyDocument};

use super::language;
use super::schema::Fields;
use crate::record::PageRecord;
use page::extract::{MainText, has_other_text};
use page::url::CrawlUrl;

/// What kind of text a page has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A page, a text file or a feed.
    Text,
    /// A PDF file: its text is read apart, from the archive.
    Pdf,
}

/// Returns what kind of text a page has that is to be in the index; none for what may not be indexed or searched, has no text (a picture), or is a
/// duplicate of a page that is there.
pub(super) fn kind(record: &PageRecord) -> Option<Kind> {
    if !record.indexed || record.duplicate_of.is_some() || !record.is_searchable() {
        return None;
    }
    if record.charset.is_some() {
        return Some(Kind::Text);
    }
    let media_type = record.media_type()?;
    match media_type.as_str() {
        "application/pdf" => Some(Kind::Pdf),
        // Of XML feeds alone have a text: see `document`.
        media_type if has_other_text(media_type) => Some(Kind::Text),
        _ => None,
    }
}

/// What is indexed of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) url: String,
    pub(super) title: String,
    pub(super) description: String,
    pub(super) text: MainText,
    /// The language as its author declared it.
    pub(super) declared: Option<String>,
    pub(super) fetched_at: Timestamp,
    pub(super) status: u64,
    pub(super) depth: u64,
    pub(super) max_snippet: Option<u64>,
    pub(super) until: Option<Timestamp>,
}

impl Document {
    /// Makes the document of a record.
    pub(super) fn new(record: &PageRecord, text: MainText) -> Self {
        Self {
            url: record.url.clone(),
            title: record.title.clone().or_else(|| text.title.clone()).unwrap_or_default(),
            description: record.description.clone().unwrap_or_default(),
            text,
            declared: record.language.clone(),
            fetched_at: record.fetched_at,
            status: u64::from(record.status.unwrap_or_default()),
            depth: u64::from(record.depth),
            max_snippet: record.excerpt,
            until: record.unavailable_after,
        }
    }

    /// Bytes of its texts.
    pub(super) fn bytes(&self) -> usize {
        let Self { url, title, description, text, .. } = self;
        url.len() + title.len() + description.len() + text.text.len() + text.headings.len()
    }

    /// Returns it as the index takes it.
    pub(super) fn fill(&self, fields: &Fields) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        let main = &self.text.text;
        let sample = if main.is_empty() { &self.title } else { main };
        let lang = language::tell(sample, self.declared.as_deref());
        document.add_text(fields.url, &self.url);
        if let Ok(url) = CrawlUrl::parse(&self.url) {
            document.add_text(fields.host, url.host());
        }
        for (part, text) in [
            (&fields.title, &self.title),
            (&fields.description, &self.description),
            (&fields.headings, &self.text.headings),
            (&fields.text, main),
        ] {
            if !text.is_empty() {
                document.add_text(part.of(&lang), text);
            }
        }
        if self.max_snippet != Some(0) {
            let shown = self.shown();
            if !shown.is_empty() {
                document.add_text(fields.shown, shown);
            }
        }
        if let Some(most) = self.max_snippet {
            document.add_u64(fields.max_snippet, most);
        }
        document.add_text(fields.lang, lang);
        document.add_date(fields.fetched, date(self.fetched_at));
        if let Some(until) = self.until {
            document.add_date(fields.until, date(until));
        }
        document.add_u64(fields.status, self.status);
        document.add_u64(fields.depth, self.depth);
        document
    }

    /// The main text without the parts that no snippet may show: nothing of them is stored.
    pub(super) fn shown(&self) -> String {
        let mut shown = String::with_capacity(self.text.text.len());
        let mut at = 0;
        for hidden in &self.text.no_snippet {
            shown.push_str(self.text.text.get(at..hidden.start).unwrap_or_default());
            shown.push('\n');
            at = hidden.end.max(at);
        }
        shown.push_str(self.text.text.get(at..).unwrap_or_default());
        shown.trim().to_owned()
    }
}

/// A time as the index holds it: nanoseconds since 1970, from 1678 to 2261; others are the nearest of these.
pub(super) fn date(at: Timestamp) -> DateTime {
    const MOST: i64 = 9_200_000_000_000;
    DateTime::from_timestamp_millis(at.as_millisecond().clamp(-MOST, MOST))
}

#[cfg(test)]
mod tests {
    use tantivy::schema::Value as _;

    use super::*;
    use crate::search::schema::schema;

    #[test]
    fn pages_texts_and_pdf_files_are_indexed_and_what_has_no_text_is_not() {
        let record = |charset: Option<&str>, content_type: &str| PageRecord {
            indexed: true,
            charset: charset.map(str::to_owned),
            content_type: Some(content_type.to_owned()),
            ..PageRecord::default()
        };
        for (charset, content_type, expected) in [
            (Some("utf-8"), "text/html", Some(Kind::Text)),
            (None, "Text/Plain; charset=utf-8", Some(Kind::Text)),
            (None, "application/atom+xml", Some(Kind::Text)),
            (None, "application/pdf", Some(Kind::Pdf)),
            (None, "image/png", None),
            (None, "text/css", None),
        ] {
            assert_eq!(kind(&record(charset, content_type)), expected, "{content_type}");
        }
        let page = record(Some("utf-8"), "text/html");
        assert_eq!(kind(&PageRecord { indexed: false, ..page.clone() }), None);
        assert_eq!(kind(&PageRecord { searchable: Some(false), ..page.clone() }), None);
        assert_eq!(kind(&PageRecord { duplicate_of: Some("http://a.test/".to_owned()), ..page }), None);
        let sniffed =
            PageRecord { mime_type: Some("application/pdf".to_owned()), ..record(None, "text/plain") };
        assert_eq!(kind(&sniffed), Some(Kind::Pdf));
    }

    #[test]
    fn a_date_far_away_is_the_last_that_the_index_can_hold() {
        assert_eq!(date(Timestamp::UNIX_EPOCH).into_timestamp_secs(), 0);
        for far in [Timestamp::MAX, Timestamp::MIN] {
            assert_eq!(date(far).into_timestamp_secs().abs(), 9_200_000_000);
        }
    }

    #[test]
    fn nothing_that_may_not_be_shown_is_stored() {
        let (schema, fields) = schema();
        let stored = |max_snippet, no_snippet: Vec<std::ops::Range<usize>>| {
            let text = MainText { text: "one secret two".to_owned(), no_snippet, ..MainText::default() };
            let document = Document { text, max_snippet, ..Document::default() }.fill(&fields);
            let values = document.get_all(fields.shown).filter_map(|value| value.as_str().map(str::to_owned));
            values.collect::<Vec<_>>().concat()
        };
        assert!(schema.get_field_entry(fields.shown).is_stored());
        assert!(stored(None, Vec::new()).contains("one secret two"));
        let hidden = std::iter::once(4..10).collect();
        let shown = stored(None, hidden);
        assert!(shown.contains("one") && shown.contains("two") && !shown.contains("secret"), "{shown}");
        assert_eq!(stored(Some(0), Vec::new()), "");
        assert_eq!(stored(None, std::iter::once(0..14).collect()), "", "noarchive");
    }
}
