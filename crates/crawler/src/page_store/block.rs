//! The values of trees `pages` and `links`.

use crate::causes::Cause;
use crate::frontier::HostId;
use crate::packed::{pack_onto, unpack};
use page::url::Fingerprint;

/// Format of a value of whole runs: the links are in tree `links`.
const APART: u8 = 1;

/// Format of a value of one commit: the links follow the records.
const TOGETHER: u8 = 2;

/// Bytes of a page in the head of a value: host, fingerprint, whether it has links.
const HEAD: usize = 4 + 8 + 1;

/// Bytes that the length of a record or of links takes at most, and a number of pages.
const NUMBER: usize = 5;

/// A page's record and links, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) host: HostId,
    pub(crate) page: Fingerprint,
    /// The record, JSON.
    pub(crate) record: Vec<u8>,
    /// The links, as [`crate::record::encode_links`] gives them; empty where there are none.
    pub(crate) links: Links,
}

/// Where a page's links are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Links {
    /// Here, unless empty.
    Here(Vec<u8>),
    /// In tree `links`.
    Apart,
}

impl Links {
    pub(crate) fn is_any(&self) -> bool {
        !matches!(self, Self::Here(bytes) if bytes.is_empty())
    }
}

/// A page in the head of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageKey {
    pub(super) host: HostId,
    pub(super) page: Fingerprint,
    pub(super) has_links: bool,
}

/// A value can't be read.
#[derive(Debug, thiserror::Error)]
#[error("a block of records is damaged")]
pub(super) struct Bad(#[source] Cause);

fn bad(cause: impl Into<Cause>) -> Bad {
    Bad(cause.into())
}

/// Packs records; their links, where they have any, go into tree `links`.
pub(super) fn write_apart(entries: &[Entry]) -> Vec<u8> {
    write(APART, entries)
}

/// Packs records with their links.
pub(super) fn write_together(entries: &[Entry]) -> Vec<u8> {
    write(TOGETHER, entries)
}

fn write(form: u8, entries: &[Entry]) -> Vec<u8> {
    let links = |entry: &Entry| match &entry.links {
        Links::Here(bytes) if form == TOGETHER => bytes.len() + NUMBER,
        _ => 0,
    };
    let sizes = entries.iter().map(|entry| entry.record.len() + NUMBER + links(entry));
    let mut plain = Vec::with_capacity(sizes.sum());
    let mut out = Vec::with_capacity(1 + NUMBER + entries.len() * HEAD);
    out.push(form);
    number(&mut out, entries.len() as u64);
    for entry in entries {
        out.extend(entry.host.key());
        out.extend(entry.page.0.to_be_bytes());
        out.push(u8::from(entry.links.is_any()));
        push(&mut plain, &entry.record);
    }
    for entry in entries {
        if let (TOGETHER, Links::Here(bytes)) = (form, &entry.links) {
            push(&mut plain, bytes);
        }
    }
    pack_onto(&mut out, &plain);
    out
}

/// The pages of a value, without unpacking it.
pub(super) fn heads(value: &[u8]) -> Result<Vec<PageKey>, Bad> {
    Ok(open(value)?.1)
}

fn open(value: &[u8]) -> Result<(u8, Vec<PageKey>, &[u8]), Bad> {
    let (form, mut rest) = value.split_first().ok_or_else(|| bad("it is empty"))?;
    if !matches!(*form, APART | TOGETHER) {
        return Err(bad(format!("unsupported format version {form}")));
    }
    let count = usize::try_from(take_number(&mut rest)?).map_err(bad)?;
    let bytes = count.checked_mul(HEAD).ok_or_else(|| bad("its count"))?;
    let (heads, packed) = rest.split_at_checked(bytes).ok_or_else(|| bad("it is cut"))?;
    let head = |bytes: &[u8]| PageKey {
        host: HostId(big_endian(&bytes[..4]) as u32),
        page: Fingerprint(big_endian(&bytes[4..12])),
        has_links: bytes[12] != 0,
    };
    Ok((*form, heads.chunks_exact(HEAD).map(head).collect(), packed))
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The number of pages of a value, without unpacking it.
pub(super) fn count(value: &[u8]) -> Result<usize, Bad> {
    Ok(open(value)?.1.len())
}

/// The records of a value.
pub(super) fn read(value: &[u8]) -> Result<Vec<Entry>, Bad> {
    let mut entries = Vec::new();
    let links = each_record(value, |PageKey { host, page, has_links }, record| {
        let links = if has_links { Links::Apart } else { Links::Here(Vec::new()) };
        entries.push(Entry { host, page, record: record.to_vec(), links });
    })?;
    for (entry, links) in entries.iter_mut().zip(links) {
        entry.links = Links::Here(links);
    }
    Ok(entries)
}

/// Gives each record of a value to a function, with its page; returns their links, if they are in this value.
pub(super) fn each_record(value: &[u8], mut give: impl FnMut(PageKey, &[u8])) -> Result<Vec<Vec<u8>>, Bad> {
    let (form, heads, packed) = open(value)?;
    let plain = unpack(packed).map_err(bad)?;
    let mut rest = plain.as_slice();
    for head in &heads {
        give(*head, take(&mut rest)?);
    }
    let mut links = Vec::new();
    if form == TOGETHER {
        for _ in heads {
            links.push(take(&mut rest)?.to_vec());
        }
    }
    if rest.is_empty() { Ok(links) } else { Err(bad("it is too long")) }
}

/// Packs the links of pages, each with its number.
pub(super) fn write_links<'a>(
    first: u64,
    pages: impl ExactSizeIterator<Item = (u64, &'a [u8])> + Clone,
) -> Vec<u8> {
    let sizes = pages.clone().map(|(_, links)| links.len() + NUMBER);
    let mut plain = Vec::with_capacity(sizes.sum());
    let mut out = Vec::with_capacity(1 + NUMBER + 2 * pages.len());
    out.push(APART);
    number(&mut out, pages.len() as u64);
    for (page, links) in pages {
        number(&mut out, page - first);
        push(&mut plain, links);
    }
    pack_onto(&mut out, &plain);
    out
}

/// The links in a value whose key is `first`, each with the number of its page.
pub(super) fn read_links(first: u64, value: &[u8]) -> Result<Vec<(u64, Vec<u8>)>, Bad> {
    let (form, mut rest) = value.split_first().ok_or_else(|| bad("it is empty"))?;
    if *form != APART {
        return Err(bad(format!("unsupported format version {form}")));
    }
    let count = take_number(&mut rest)?;
    let mut pages = Vec::new();
    for _ in 0..count {
        let page = first.checked_add(take_number(&mut rest)?).ok_or_else(|| bad("a number"))?;
        pages.push((page, Vec::new()));
    }
    let plain = unpack(rest).map_err(bad)?;
    let mut rest = plain.as_slice();
    for (_, links) in &mut pages {
        *links = take(&mut rest)?.to_vec();
    }
    if rest.is_empty() { Ok(pages) } else { Err(bad("it is too long")) }
}

fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn take<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], Bad> {
    let length = usize::try_from(take_number(rest)?).map_err(bad)?;
    let (bytes, behind) = rest.split_at_checked(length).ok_or_else(|| bad("it is cut"))?;
    *rest = behind;
    Ok(bytes)
}

/// Seven bits a byte, the lowest first; the last byte has its high bit clear.
fn number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(rest: &mut &[u8]) -> Result<u64, Bad> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first().ok_or_else(|| bad("it is cut"))?;
        *rest = behind;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(bad("a number"))
}
