//! Reads a response in every way that its [`Document`] calls for, and adds up what the readings forbid.

use jiff::Timestamp;
use meta::{Agent, Dialect, Directives, MetaTag, Sources};

use super::{Document, ExtractInput, Extracted, extract};

/// One more reading of a body: its `<meta>` elements restrict, and say nothing else.
#[derive(Debug, Clone)]
pub struct Reading {
    /// What it was read as: `HTML`, `XML` ...
    pub name: &'static str,
    /// The `<meta>` elements.
    pub metas: Vec<MetaTag>,
}

/// Holds what was read of a response.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    /// The page, where a browser would show one.
    pub page: Option<Extracted>,
    /// The other readings.
    pub others: Vec<Reading>,
}

/// Reads a body as HTML and XML, as the document says.
pub fn read(input: &ExtractInput<'_>, document: &Document) -> Readings {
    let mut readings = Readings::default();
    if document.html {
        let html = extract(input);
        if document.is_page {
            readings.page = Some(html);
        } else {
            readings.others.push(Reading { name: "HTML", metas: html.metas });
        }
    }
    readings
}

impl Readings {
    /// Decides by header lines and all readings: the page's own words count in full, those of the others as far as they
    /// restrict.
    pub fn resolve(
        &self,
        headers: &[(String, String)],
        agent: &Agent,
        dialect: Dialect,
        at: Timestamp,
    ) -> Directives {
        let metas = self.page.as_ref().map_or(&[][..], |page| &page.metas);
        let stated = meta::resolve(&Sources { headers, metas }, agent, dialect, at);
        self.others.iter().fold(stated, |stated, reading| {
            let sources = Sources { headers: &[], metas: &reading.metas };
            stated.restricted_by(meta::resolve(&sources, agent, dialect, at))
        })
    }
}
