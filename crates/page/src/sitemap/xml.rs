//! Sitemaps and feeds in XML, by its events.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::BufRead;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::parts::Parts;
use super::stream::Text;
use super::{Fault, Sitemap, SitemapFormat, date};

/// Reads a document up to its end, a fault that nothing can be read behind, or a limit.
pub(super) fn read<R: BufRead>(text: &mut Text<R>, parts: &mut Parts<'_, '_>) -> Sitemap {
    text.escape_stray_markup();
    let mut reader = Reader::from_reader(text);
    // Names are compared here: an end tag of another name closes nothing.
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    let mut reading = Reading::new(parts);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        reader.get_mut().next_token();
        let fault = match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) if reading.open.is_empty() => return reading.end(),
            Ok(Event::Eof) => Some(Fault::Broken("it ends unexpectedly".to_owned())),
            Ok(event) => reading.event(&event).err(),
            Err(error) => Some(Fault::Broken(crate::clean::clean_to(&error.to_string(), 200))),
        };
        if let Some(fault) = fault {
            let mut sitemap = reading.end();
            sitemap.fault.get_or_insert(fault);
            return sitemap;
        }
    }
}

struct Reading<'p, 'a, 'g> {
    parts: &'p mut Parts<'a, 'g>,
    form: SitemapFormat,
    has_root: bool,
    /// The names of the open elements, hashed, the outermost first.
    open: Vec<u64>,
    /// Depth of the entry that is open: `url`, `sitemap`, `item`, `entry`.
    entry: Option<usize>,
    /// The field of the entry that is open.
    field: Option<Field>,
    value: String,
    loc: Option<String>,
    lastmod: String,
    priority: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Loc,
    LastMod,
    Priority,
}

impl<'p, 'a, 'g> Reading<'p, 'a, 'g> {
    fn new(parts: &'p mut Parts<'a, 'g>) -> Self {
        Self {
            parts,
            form: SitemapFormat::Other,
            has_root: false,
            open: Vec::new(),
            entry: None,
            field: None,
            value: String::new(),
            loc: None,
            lastmod: String::new(),
            priority: String::new(),
        }
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Fault> {
        match event {
            Event::DocType(_) => return Err(Fault::DocType),
            Event::Start(start) => {
                if self.open.len() >= self.parts.limits.elements {
                    return Err(Fault::Elements);
                }
                self.open(start)?;
            }
            Event::Empty(start) => {
                self.open(start)?;
                self.close()?;
            }
            Event::End(end) => self.close_all(hash(end.name().into_inner()))?,
            Event::Text(text) => self.take(text),
            Event::CData(text) => self.take(text),
            Event::GeneralRef(name) => {
                let known = match &**name {
                    "amp" => Some('&'),
                    "lt" => Some('<'),
                    "gt" => Some('>'),
                    "quot" => Some('"'),
                    "apos" => Some('\''),
                    _ => name.resolve_char_ref().ok().flatten(),
                };
                match known {
                    Some(c) => self.take(c.encode_utf8(&mut [0; 4])),
                    // No entity is defined: it stays as it was written.
                    None => self.take(&format!("&{};", &**name)),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, start: &BytesStart<'_>) -> Result<(), Fault> {
        let name = start.local_name().into_inner();
        let full_name = hash(start.name().into_inner());
        // No field has elements: its end tag is missing.
        if self.field.is_some() && self.entry.is_some_and(|entry| self.open.len() == entry + 1) {
            self.close()?;
        }
        // The end tag of the entry before is missing.
        if self.entry == Some(self.open.len()) && self.open.last() == Some(&full_name) {
            self.close()?;
        }
        self.open.push(full_name);
        let depth = self.open.len();
        if !self.has_root {
            self.has_root = true;
            self.form = match name {
                "urlset" => SitemapFormat::UrlSet,
                "sitemapindex" => SitemapFormat::Index,
                "rss" | "RDF" => SitemapFormat::Rss,
                "feed" => SitemapFormat::Atom,
                _ => return Err(Fault::NotOne),
            };
            return Ok(());
        }
        match self.entry {
            None => {
                let is_entry = match self.form {
                    SitemapFormat::UrlSet => name == "url",
                    SitemapFormat::Index => name == "sitemap",
                    SitemapFormat::Rss => name == "item",
                    SitemapFormat::Atom => name == "entry",
                    SitemapFormat::Text | SitemapFormat::Other => false,
                };
                self.entry = is_entry.then_some(depth);
            }
            // Fields are directly below their entry: `image:loc` is further down.
            Some(entry) if depth == entry + 1 && !is_of_extension(start) => {
                self.field = match (self.form, name) {
                    (SitemapFormat::UrlSet | SitemapFormat::Index, "loc") | (SitemapFormat::Rss, "link") => {
                        Some(Field::Loc)
                    }
                    (SitemapFormat::UrlSet | SitemapFormat::Index, "lastmod")
                    | (SitemapFormat::Rss, "pubDate" | "date")
                    | (SitemapFormat::Atom, "updated") => Some(Field::LastMod),
                    (SitemapFormat::UrlSet, "priority") => Some(Field::Priority),
                    _ => None,
                };
                if self.form == SitemapFormat::Atom && name == "link" {
                    self.atom_link(start);
                }
                self.value.clear();
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// `link` without `rel`, or with `rel="alternate"` (RFC 4287 section 4.2.7.2).
    fn atom_link(&mut self, start: &BytesStart<'_>) {
        let value = |name: &str| {
            let attribute = start.try_get_attribute(name).ok()??;
            attribute.normalized_value(XmlVersion::Implicit1_0).ok().map(std::borrow::Cow::into_owned)
        };
        if self.loc.is_none() && value("rel").is_none_or(|rel| rel == "alternate") {
            self.loc = value("href").map(|href| {
                // One byte too many is enough to see that it is too long.
                let end = href.floor_char_boundary(self.parts.limits.value_bytes + 1);
                href[..end].to_owned()
            });
        }
    }

    fn take(&mut self, text: &str) {
        if self.field.is_some() {
            // One byte too many is enough to see that it is too long.
            let room = (self.parts.limits.value_bytes + 1).saturating_sub(self.value.len());
            let end = text.floor_char_boundary(room);
            self.value.push_str(&text[..end]);
        }
    }

    /// Closes the innermost element of this name, and all within it.
    fn close_all(&mut self, name: u64) -> Result<(), Fault> {
        if let Some(place) = self.open.iter().rposition(|open| *open == name) {
            while self.open.len() > place {
                self.close()?;
            }
        }
        Ok(())
    }

    /// Closes the innermost element.
    fn close(&mut self) -> Result<(), Fault> {
        let (entry, depth) = (self.entry, self.open.len());
        self.open.pop();
        if entry.is_some_and(|entry| depth == entry + 1) {
            let value = std::mem::take(&mut self.value);
            match self.field.take() {
                Some(Field::Loc) if self.loc.is_none() => self.loc = Some(value),
                Some(Field::LastMod) => self.lastmod = value,
                Some(Field::Priority) => self.priority = value,
                _ => {}
            }
        } else if entry == Some(depth) {
            self.entry = None;
            self.push()?;
        }
        Ok(())
    }

    fn push(&mut self) -> Result<(), Fault> {
        let (lastmod, priority) = (std::mem::take(&mut self.lastmod), std::mem::take(&mut self.priority));
        let loc = self.loc.take().unwrap_or_default();
        let priority = priority.trim().parse::<f32>().ok().filter(|priority| (0.0..=1.0).contains(priority));
        self.parts.take(self.form, &loc, date::read(&lastmod), priority.unwrap_or(0.5))
    }

    fn end(self) -> Sitemap {
        match self.form {
            SitemapFormat::Other => Sitemap::faulty(Fault::NotOne),
            form => Sitemap::of(form),
        }
    }
}

fn hash(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// True for elements of the extensions for images, videos and languages, which have a `loc` or `link` of their own.
fn is_of_extension(start: &BytesStart<'_>) -> bool {
    ["image:", "video:", "news:", "xhtml:", "atom:", "media:"]
        .iter()
        .any(|prefix| start.name().into_inner().starts_with(prefix))
}
