//! A file that is kept as it was sent, and read again for each verdict.

use std::borrow::Cow;
use std::cell::Cell;

use crate::choice::Case;
use crate::encoding::{Body, Form};
use crate::repair::repair;
use crate::separators::separate;
use crate::{Agent, Options, memory};

/// A body within the limit, and for whom it is read.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    bytes: Box<[u8]>,
    /// How many of them are whole lines.
    lines: usize,
    is_truncated: bool,
    agent: Agent,
    options: Options,
    site: Option<Box<str>>,
}

impl Source {
    pub(crate) fn new(body: &Body<'_>, case: &Case<'_>) -> Self {
        let (bytes, lines, is_truncated) = body.parts();
        Self {
            bytes: bytes.into(),
            lines,
            is_truncated,
            agent: case.agent.clone(),
            options: case.options.clone(),
            site: case.site.map(Into::into),
        }
    }

    /// The bytes that this takes on the heap.
    pub(crate) fn memory(&self) -> usize {
        let site = self.site.as_ref().map_or(0, |site| memory::block(site.len()));
        memory::block(self.bytes.len()) + self.agent.memory() + site
    }

    /// Returns the file up to the end of its last whole line.
    pub(crate) fn lines(&self) -> &[u8] {
        &self.bytes[..self.lines]
    }

    /// The bytes of the file.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Begins to read it again.
    pub(crate) fn open(&self) -> Opened<'_> {
        let body = Body::from_parts((&self.bytes, self.lines, self.is_truncated));
        Opened { source: self, body, room: Cell::new(0), text: None, decoded: None, repaired: None }
    }
}

/// A file that is being read again: the form that was asked for last is at hand.
pub(crate) struct Opened<'a> {
    source: &'a Source,
    body: Body<'a>,
    room: Cell<usize>,
    /// Decoded, and separated where the form says so.
    text: Option<(Form, Cow<'a, [u8]>)>,
    /// The text as it was decoded, where it is separated.
    decoded: Option<Cow<'a, [u8]>>,
    repaired: Option<Vec<u8>>,
}

impl Opened<'_> {
    /// Gives a form of the text, and the form that its lines are quoted from where that is another one, with the agent that it is read
    /// for.
    pub(crate) fn text(&mut self, form: Form) -> (&[u8], Option<&[u8]>, Case<'_>) {
        let is_at_hand =
            |have: &Form| (have.decoding, have.is_separated) == (form.decoding, form.is_separated);
        if self.text.as_ref().is_none_or(|(have, _)| !is_at_hand(have)) {
            let text = self.body.decoding(form.decoding);
            self.repaired = None;
            (self.text, self.decoded) = match if form.is_separated { separate(&text) } else { None } {
                Some(separated) => (Some((form, separated.into())), Some(text)),
                None => (Some((form, text)), None),
            };
        }
        let text: &[u8] = self.text.as_ref().map(|(_, text)| &**text).unwrap_or_default();
        if form.is_repaired && self.repaired.is_none() {
            self.repaired = repair(text, form.is_separated).map(|repaired| repaired.bytes);
        }
        let Source { agent, options, site, .. } = self.source;
        let case = Case { agent, options, site: site.as_deref(), room: &self.room };
        match &self.repaired {
            Some(repaired) if form.is_repaired => {
                (repaired, Some(self.decoded.as_deref().unwrap_or(text)), case)
            }
            _ => (text, None, case),
        }
    }
}
