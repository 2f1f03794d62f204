//! The text of documents that aren't pages: text files, and feeds (RSS, RDF, Atom).

use quick_xml::Reader;
use quick_xml::events::Event;

use super::{Document, ExtractInput, MainText, decode, extract, mime_type};

/// Elements of a feed within each other.
const DEPTH: usize = 64;

/// Returns whether a document that is no page has a text that [`other_main_text`] reads.
pub fn has_other_text(computed_type: &str) -> bool {
    is_plain(computed_type) || may_be_feed(computed_type)
}

/// XML that is no picture.
fn may_be_feed(computed_type: &str) -> bool {
    mime_type::is_xml(computed_type) && !computed_type.starts_with("image/")
}

fn is_plain(computed_type: &str) -> bool {
    matches!(computed_type, "text/plain" | "text/markdown" | "text/x-markdown")
}

/// Reads the text of a document that is no page: a text file, or a feed. None where it is neither. The second value says whether
/// [`ExtractLimits::text_bytes`](super::ExtractLimits::text_bytes) cut it.
pub fn other_main_text(input: &ExtractInput<'_>, document: &Document) -> Option<(MainText, bool)> {
    let most = input.limits.text_bytes;
    if is_plain(&document.computed) {
        let decoded = decode(input.body, input.content_type, input.url);
        return Some(lines(&decoded.text, most));
    }
    if !may_be_feed(&document.computed) {
        return None;
    }
    let decoded = decode(input.body, input.content_type, input.url);
    let (html, is_cut) = feed(&decoded.text, most)?;
    // Entries hold HTML, as a rule escaped: it is read as that of a page.
    let page = ExtractInput {
        body: html.as_bytes(),
        content_type: Some("text/html; charset=utf-8"),
        link_headers: &[],
        want_text: true,
        want_styles: false,
        ..*input
    };
    let page = extract(&page);
    let is_cut = is_cut || page.limits_hit.contains(&super::LimitHit::Text);
    Some((MainText { title: page.title, ..page.main.unwrap_or_default() }, is_cut))
}

/// The lines of a text, each with its white space folded, up to so many bytes.
pub fn lines(text: &str, most: usize) -> (MainText, bool) {
    let mut out = String::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace().peekable();
        if words.peek().is_some() && !out.is_empty() {
            out.push('\n');
        }
        for (at, word) in words.enumerate() {
            if at > 0 {
                out.push(' ');
            }
            out.push_str(word);
        }
        if out.len() > most {
            out.truncate(out.floor_char_boundary(most));
            return (MainText { text: out, ..MainText::default() }, true);
        }
    }
    (MainText { text: out, ..MainText::default() }, false)
}

/// The texts of a feed as a page, and whether the limit cut it. None where the document is no feed.
fn feed(xml: &str, most: usize) -> Option<(String, bool)> {
    let mut reader = Reader::from_str(xml);
    reader.config_mut().check_end_names = false;
    let mut html = String::new();
    let mut open: Vec<Part> = Vec::new();
    let mut is_feed = false;
    let mut has_title = false;
    loop {
        // Up to its first fault.
        let event = match reader.read_event() {
            Ok(Event::Eof) | Err(_) => break,
            Ok(event) => event,
        };
        match event {
            Event::Start(start) => {
                let name = start.local_name();
                let name = name.into_inner();
                if !is_feed {
                    if !matches!(name, "rss" | "RDF" | "feed") {
                        return None;
                    }
                    is_feed = true;
                }
                let is_entry = open.contains(&Part::Entry);
                let part = match (open.last(), name) {
                    // Markup within a text is a part of it.
                    (Some(Part::Title | Part::Heading | Part::Text | Part::Within), _) => Part::Within,
                    (_, "item" | "entry") => Part::Entry,
                    (_, "title") if is_entry => Part::Heading,
                    (_, "title") if !has_title => Part::Title,
                    (_, "description" | "summary" | "content" | "encoded" | "subtitle" | "tagline") => {
                        Part::Text
                    }
                    _ => Part::Other,
                };
                if open.len() >= DEPTH {
                    return Some((html, true));
                }
                has_title |= part == Part::Title;
                html.push_str(part.begin());
                open.push(part);
            }
            Event::End(_) => {
                if let Some(part) = open.pop() {
                    html.push_str(part.end());
                }
            }
            Event::Text(text) => take(&mut html, &text, &open),
            Event::CData(text) => take(&mut html, &text, &open),
            Event::GeneralRef(name) => match &*name {
                "amp" => take(&mut html, "&", &open),
                "lt" => take(&mut html, "<", &open),
                "gt" => take(&mut html, ">", &open),
                "quot" => take(&mut html, "\"", &open),
                "apos" => take(&mut html, "'", &open),
                name => take(&mut html, &format!("&{name};"), &open),
            },
            _ => {}
        }
        // The markup within entries takes bytes as well: the text itself is cut where it is read.
        if html.len() > most.saturating_mul(4) {
            return Some((html, true));
        }
    }
    is_feed.then_some((html, false))
}

/// What an element of a feed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Title,
    Entry,
    Heading,
    Text,
    Within,
    Other,
}

impl Part {
    fn begin(self) -> &'static str {
        match self {
            Self::Title => "<title>",
            Self::Entry => "<article>",
            Self::Heading => "<h2>",
            Self::Text => "<div>",
            Self::Within => " ",
            Self::Other => "",
        }
    }

    fn end(self) -> &'static str {
        match self {
            Self::Title => "</title>",
            Self::Entry => "</article>",
            Self::Heading => "</h2>",
            Self::Text => "</div>",
            Self::Within => " ",
            Self::Other => "",
        }
    }
}

fn take(html: &mut String, text: &str, open: &[Part]) {
    if matches!(open.last(), Some(Part::Title | Part::Heading | Part::Text | Part::Within)) {
        html.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::ExtractLimits;

    fn text_of(body: &str, content_type: &str, most: usize) -> Option<(MainText, bool)> {
        let limits = ExtractLimits { text_bytes: most, ..ExtractLimits::default() };
        let url = url::Url::parse("http://a.test/").unwrap();
        let lines = [("content-type", content_type.as_bytes())];
        let document = Document::of(lines.into_iter(), body.as_bytes());
        let input = ExtractInput {
            body: body.as_bytes(),
            content_type: Some(content_type),
            url: &url,
            link_headers: &[],
            limits: &limits,
            want_text: true,
            want_styles: false,
        };
        other_main_text(&input, &document)
    }

    #[test]
    fn a_text_file_is_its_lines() {
        let (text, is_cut) = text_of("one  two\r\n\r\n\tthree", "text/plain", 99).unwrap();
        assert_eq!((text.text.as_str(), is_cut), ("one two\nthree", false));
        let (text, is_cut) = text_of("äö ü", "text/plain; charset=utf-8", 3).unwrap();
        assert_eq!((text.text.as_str(), is_cut), ("ä", true));
        assert!(text_of("body { color: red }", "text/css", 99).is_none());
    }

    #[test]
    fn a_feed_is_the_texts_of_its_entries() {
        let rss = "<?xml version='1.0'?><rss version='2.0'><channel><title>The channel</title><link>http://a.test/</link>\
            <item><title>First &amp; best</title><link>http://a.test/1</link>\
            <description>&lt;p&gt;Escaped &lt;b&gt;words&lt;/b&gt; of the first entry are here.&lt;/p&gt;</description></item>\
            <item><title>Second</title><description><![CDATA[<p>Words in a section of characters.</p>]]></description>\
            <pubDate>Mon, 05 Jan 2026 10:00:00 GMT</pubDate></item></channel></rss>";
        let (text, is_cut) = text_of(rss, "application/rss+xml", 9_999).unwrap();
        assert_eq!(text.title.as_deref(), Some("The channel"));
        assert_eq!(text.headings, "First & best\nSecond");
        assert!(text.text.contains("Escaped words of the first entry"), "{}", text.text);
        assert!(text.text.contains("Words in a section"), "{}", text.text);
        assert!(!text.text.contains("2026"), "{}", text.text);
        assert!(!is_cut);
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>Atom</title><entry><title>E</title>\
            <content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>Inner text</p></div></content></entry></feed>";
        let (text, _) = text_of(atom, "application/atom+xml", 9_999).unwrap();
        assert_eq!(text.text, "E\nInner text");
        assert!(
            text_of("<urlset><url><loc>http://a.test/</loc></url></urlset>", "application/xml", 99).is_none()
        );
    }
}
