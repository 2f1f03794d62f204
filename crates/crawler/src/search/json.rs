//! Hits as JSON lines: `crawl search --json`.

use std::io::{self, Write};

use serde::Serialize;

use super::find::{FacetCount, Found, Hit};
use crate::view::{Moment, write_json_line};

/// A hit as JSON.
#[derive(Serialize)]
struct HitLine<'a> {
    v: u32,
    kind: &'static str,
    rank: usize,
    score: f32,
    url: &'a str,
    host: &'a str,
    title: Option<&'a str>,
    language: Option<&'a str>,
    fetched_at: Moment,
    status: u64,
    depth: u64,
    snippet: Option<&'a str>,
    /// The snippet in parts, and whether each was looked for.
    marked: Vec<Part<'a>>,
}

/// A part of a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Part<'a> {
    /// Its text.
    pub text: &'a str,
    /// Whether it is what was looked for.
    pub found: bool,
}

impl Found {
    /// Writes one JSON object a line: the total, the hits, the facets where they were asked for.
    pub fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        let Self { total, searchable, lacking, .. } = self;
        write_json_line(
            out,
            &serde_json::json!({ "v": 1, "kind": "total", "total": total, "searchable": searchable, "lacking": lacking }),
        )?;
        let full = |text| Some(text).filter(|text: &&str| !text.is_empty());
        for (at, hit) in self.hits.iter().enumerate() {
            let line = HitLine {
                v: 1,
                kind: "hit",
                rank: at + 1,
                score: hit.score,
                url: &hit.url,
                host: &hit.host,
                title: full(&hit.title),
                language: Some(hit.lang.as_str()).filter(|lang| *lang != "und"),
                fetched_at: Moment(hit.fetched_at),
                status: hit.status,
                depth: hit.depth,
                snippet: full(&hit.snippet),
                marked: hit.parts(),
            };
            write_json_line(out, &line)?;
        }
        let Some(facets) = &self.facets else { return Ok(()) };
        for (facet, counts) in [("host", &facets.hosts), ("language", &facets.langs)] {
            for FacetCount { value, count } in counts {
                let line = serde_json::json!({ "v": 1, "kind": "facet", "facet": facet, "value": value, "count": count });
                write_json_line(out, &line)?;
            }
        }
        Ok(())
    }
}

impl Hit {
    /// Its snippet in parts.
    pub fn parts(&self) -> Vec<Part<'_>> {
        let (mut parts, mut at) = (Vec::new(), 0);
        let mut add = |range: std::ops::Range<usize>, found| {
            if let Some(text) = self.snippet.get(range).filter(|text| !text.is_empty()) {
                parts.push(Part { text, found });
            }
        };
        for range in &self.found {
            add(at..range.start, false);
            add(range.clone(), true);
            at = range.end;
        }
        add(at..self.snippet.len(), false);
        parts
    }
}
