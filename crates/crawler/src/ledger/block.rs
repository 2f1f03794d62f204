//! A stored value of tree `ledger`: a run of entries in columns, between the chain's heads before and after them.

use std::borrow::Cow;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;

use super::columns::{Column, Reader, Texts, Writer, pull, push};
use super::{Head, LedgerError};
use crate::packed::pack_onto;
use crate::record::{
    Decision, DirectiveEvidence, EffectsTaken, Evidence, Layer, LimitReached, PauseSet, RequestMade,
    RobotsEvidence, RunSettings, Seal, Stored, StoredKind, Versions,
};
use page::clock::Boot;

/// Form of the value.
const FORM: u8 = 3;

/// The form before it: the same without the columns for clocks, which nothing in it asks for.
const OLDER: u8 = 2;

/// Bytes before the packed columns: form and two heads.
const HEADER: usize = 1 + 2 * 32;

/// A run of entries as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The chain's head before the first entry.
    pub before: Head,
    /// The chain's head after the last entry.
    pub after: Head,
    /// The entries.
    pub decisions: Vec<Decision>,
}

/// Packs a run of entries.
pub(super) fn write(before: Head, after: Head, decisions: &[Decision]) -> Vec<u8> {
    let mut state = State::default();
    let mut writer = Writer::new();
    let mut robots = Vec::new();
    for decision in decisions {
        put(&mut writer, &mut state, &mut robots, decision);
    }
    let mut plain = Vec::with_capacity(writer.most() + size_of::<u64>());
    push(&mut plain, decisions.len() as u64);
    writer.finish(&mut plain);
    let mut out = [&[FORM][..], &before.0, &after.0].concat();
    pack_onto(&mut out, &plain);
    out
}

/// The length of a value's columns, unpacked.
pub(super) fn plain_len(value: &[u8]) -> usize {
    crate::packed::unpacked_len(value.get(HEADER..).unwrap_or_default())
}

/// Reads a stored value.
pub fn read(value: &[u8]) -> Result<Block, LedgerError> {
    let (before, after, plain) = open(value)?;
    let mut plain = plain.as_slice();
    let count = pull(&mut plain)?;
    let decisions = entries(Reader::open(plain)?, count)?;
    Ok(Block { before, after, decisions })
}

/// The entries of a stored value in which one may hold any of these words, as decisions and reasons say them; none of other values, which
/// cost the unpacking alone.
pub fn read_saying(value: &[u8], words: &[&str]) -> Result<Vec<Decision>, LedgerError> {
    let (_, _, plain) = open(value)?;
    let mut plain = plain.as_slice();
    let count = pull(&mut plain)?;
    let reader = Reader::open(plain)?;
    if words.iter().any(|word| reader.may_hold(Texts::Words, word)) {
        entries(reader, count)
    } else {
        Ok(Vec::new())
    }
}

fn entries(mut reader: Reader<'_>, count: u64) -> Result<Vec<Decision>, LedgerError> {
    let mut state = State::default();
    let mut robots = Vec::new();
    let mut decisions = Vec::new();
    for _ in 0..count {
        decisions.push(get(&mut reader, &mut state, &mut robots)?);
    }
    if !reader.is_at_end() {
        return Err(LedgerError::Form);
    }
    Ok(decisions)
}

/// True if an entry of the value may be about `url`, or was found on it, or leads there; false is certain. Costs the
/// unpacking, but no entry is put together.
pub fn may_mention(value: &[u8], url: &str) -> Result<bool, LedgerError> {
    let (_, _, plain) = open(value)?;
    let mut plain = plain.as_slice();
    pull(&mut plain)?;
    let reader = Reader::open(plain)?;
    let (origin, path) = split(url);
    Ok(reader.may_hold(Texts::Paths, path) && reader.may_hold(Texts::Origins, origin))
}

fn open(value: &[u8]) -> Result<(Head, Head, Vec<u8>), LedgerError> {
    let (header, packed) = value.split_at_checked(HEADER).ok_or(LedgerError::Form)?;
    let (form, heads) = header.split_first().ok_or(LedgerError::Form)?;
    if !matches!(*form, FORM | OLDER) {
        return Err(LedgerError::Form);
    }
    let head = |bytes: &[u8]| <[u8; 32]>::try_from(bytes).map(Head).map_err(|_| LedgerError::Form);
    let plain = crate::packed::unpack(packed)?;
    Ok((head(&heads[..32])?, head(&heads[32..])?, plain))
}

/// The base of relative numbers.
#[derive(Debug, Default)]
struct State {
    at: i64,
    /// Of the last request: wall clock less the clock that never jumps.
    offset: i64,
}

/// Parts of an entry that are there; the bits are part of the stored form.
mod part {
    pub(super) const HOST: u64 = 1;
    pub(super) const VIA: u64 = 1 << 1;
    pub(super) const WORDS: u64 = 1 << 2;
    pub(super) const REQUEST: u64 = 1 << 3;
    pub(super) const ROBOTS: u64 = 1 << 4;
    pub(super) const EFFECTS: u64 = 1 << 5;
    pub(super) const DIRECTIVE: u64 = 1 << 6;
    pub(super) const LIMIT: u64 = 1 << 7;
    pub(super) const PAUSE: u64 = 1 << 8;
    pub(super) const VERSIONS: u64 = 1 << 9;
    pub(super) const TO: u64 = 1 << 10;
    pub(super) const CLOCK: u64 = 1 << 11;
    pub(super) const BOOT: u64 = 1 << 12;
    /// Of the request.
    pub(super) const ADDRESS: u64 = 1 << 13;
    pub(super) const RUN: u64 = 1 << 14;
    pub(super) const STORED: u64 = 1 << 15;
}

fn put(to: &mut Writer, state: &mut State, known: &mut Vec<RobotsEvidence>, decision: &Decision) {
    let Decision { at, url, host, decision, layer, reason, evidence, via } = decision;
    let Evidence { words, request, robots, effects, directive, limit, pause, versions, .. } = evidence;
    let Evidence { to: target, clock, boot, run, stored, .. } = evidence;
    let bit = |there: bool, part: u64| if there { part } else { 0 };
    to.number(
        Column::Parts,
        bit(host != host_of(url), part::HOST)
            | bit(via.is_some(), part::VIA)
            | bit(words.is_some(), part::WORDS)
            | bit(request.is_some(), part::REQUEST)
            | bit(robots.is_some(), part::ROBOTS)
            | bit(effects.is_some(), part::EFFECTS)
            | bit(directive.is_some(), part::DIRECTIVE)
            | bit(limit.is_some(), part::LIMIT)
            | bit(pause.is_some(), part::PAUSE)
            | bit(versions.is_some(), part::VERSIONS)
            | bit(target.is_some(), part::TO)
            | bit(clock.is_some(), part::CLOCK)
            | bit(boot.is_some(), part::BOOT)
            | bit(request.as_ref().is_some_and(|request| request.address.is_some()), part::ADDRESS)
            | bit(run.is_some(), part::RUN)
            | bit(stored.is_some(), part::STORED),
    );
    let at = at.as_microsecond();
    to.signed(Column::At, at - state.at);
    state.at = at;
    put_url(to, Column::UrlOrigin, Column::UrlPath, url);
    if host != host_of(url) {
        to.text(Column::Host, Texts::Origins, host);
    }
    to.text(Column::Decision, Texts::Words, decision.as_str());
    to.number(Column::Layer, Layer::ALL.iter().position(|known| known == layer).unwrap_or_default() as u64);
    to.text(Column::Reason, Texts::Words, &reason.as_str());
    if let Some(via) = via {
        put_url(to, Column::ViaOrigin, Column::ViaPath, via);
    }
    if let Some(words) = words {
        to.text(Column::Words, Texts::Words, words);
    }
    if let Some(request) = request {
        put_request(to, state, request);
    }
    if let Some(robots) = robots {
        put_robots(to, known, robots);
    }
    if let Some(EffectsTaken { indexed, archived, followed }) = effects {
        to.number(
            Column::Effects,
            u64::from(*indexed) | u64::from(*archived) << 1 | u64::from(*followed) << 2,
        );
    }
    if let Some(DirectiveEvidence { directive, source }) = directive {
        to.text(Column::Directive, Texts::Words, directive);
        to.text(Column::DirectiveSource, Texts::Words, source);
    }
    if let Some(LimitReached { name, value }) = limit {
        to.text(Column::LimitName, Texts::Words, name);
        to.text(Column::LimitValue, Texts::Words, value);
    }
    if let Some(PauseSet { length, reason }) = pause {
        to.number(Column::PauseLength, micros(*length));
        to.text(Column::PauseReason, Texts::Words, reason);
    }
    if let Some(Versions { before, after }) = versions {
        to.text(Column::VersionBefore, Texts::Words, before.as_deref().unwrap_or_default());
        to.text(Column::VersionAfter, Texts::Words, after.as_deref().unwrap_or_default());
    }
    if let Some(target) = target {
        put_url(to, Column::ToOrigin, Column::ToPath, target);
    }
    if let Some(clock) = clock {
        // As that of a request: the offset between the clocks hardly ever changes.
        let offset = at.wrapping_sub(i64::try_from(micros(*clock)).unwrap_or(i64::MAX));
        to.signed(Column::Clock, offset.wrapping_sub(state.offset));
        state.offset = offset;
    }
    if let Some(Boot { id, ms }) = boot.as_deref() {
        to.number(Column::BootId, u64::from(*id));
        to.number(Column::BootMs, *ms);
    }
    if let Some(RunSettings { settings, seeds }) = run.as_deref() {
        to.text(Column::RunSettings, Texts::Words, settings);
        to.text(Column::RunSeeds, Texts::Words, seeds);
    }
    if let Some(stored) = stored.as_deref() {
        put_stored(to, stored);
    }
}

fn put_stored(to: &mut Writer, stored: &Stored) {
    let Stored { kind, record, links, archive } = stored;
    let place = StoredKind::ALL.iter().position(|known| known == kind).unwrap_or_default() as u64;
    to.number(
        Column::StoredKind,
        u64::from(links.is_some()) | u64::from(archive.is_some()) << 1 | place << 2,
    );
    for seal in [Some(record), links.as_ref(), archive.as_ref()].into_iter().flatten() {
        let bits = u128::from_be_bytes(seal.0);
        to.number(Column::SealHigh, (bits >> 64) as u64);
        to.number(Column::SealLow, bits as u64);
    }
}

fn get_stored(from: &mut Reader<'_>) -> Result<Stored, LedgerError> {
    let parts = from.number(Column::StoredKind)?;
    let place = usize::try_from(parts >> 2).map_err(|_| LedgerError::Form)?;
    let kind = *StoredKind::ALL.get(place).ok_or(LedgerError::Form)?;
    let mut seal = || -> Result<Seal, LedgerError> {
        let high = u128::from(from.number(Column::SealHigh)?);
        Ok(Seal((high << 64 | u128::from(from.number(Column::SealLow)?)).to_be_bytes()))
    };
    let record = seal()?;
    let links = if parts & 1 == 0 { None } else { Some(seal()?) };
    let archive = if parts & 2 == 0 { None } else { Some(seal()?) };
    Ok(Stored { kind, record, links, archive })
}

fn put_request(to: &mut Writer, state: &mut State, request: &RequestMade) {
    let RequestMade { started, took, clock, status, bytes, gap, gap_reason, address } = request;
    let started = started.as_microsecond();
    to.signed(Column::RequestStarted, state.at - started);
    to.number(Column::RequestTook, micros(*took));
    let offset = started.wrapping_sub(i64::try_from(micros(*clock)).unwrap_or(i64::MAX));
    to.signed(Column::RequestClock, offset.wrapping_sub(state.offset));
    state.offset = offset;
    to.number(Column::RequestStatus, status.map_or(0, u64::from));
    to.number(Column::RequestBytes, *bytes);
    to.number(Column::RequestGap, micros(*gap));
    to.text(Column::RequestGapReason, Texts::Words, gap_reason);
    if let Some(address) = address {
        to.text(Column::RequestAddress, Texts::Words, &address.to_string());
    }
}

fn put_robots(to: &mut Writer, known: &mut Vec<RobotsEvidence>, robots: &RobotsEvidence) {
    if let Some(place) = known.iter().rposition(|known| known == robots) {
        to.number(Column::Robots, place as u64 + 1);
        return;
    }
    to.number(Column::Robots, 0);
    known.push(robots.clone());
    let RobotsEvidence { line, rule, group, dialect, reason, digest } = robots;
    to.number(Column::RobotsLine, line.map_or(0, u64::from));
    put_optional(to, Column::RobotsRule, rule.as_deref());
    put_optional(to, Column::RobotsGroup, group.as_deref());
    to.text(Column::RobotsDialect, Texts::Words, &dialect.to_string());
    to.text(Column::RobotsReason, Texts::Words, reason);
    put_optional(to, Column::RobotsDigest, digest.as_deref());
}

fn put_optional(to: &mut Writer, column: Column, text: Option<&str>) {
    to.number(column, u64::from(text.is_some()));
    if let Some(text) = text {
        to.text(column, Texts::Words, text);
    }
}

fn put_url(to: &mut Writer, origin: Column, path: Column, url: &str) {
    let (start, rest) = split(url);
    to.text(origin, Texts::Origins, start);
    to.text(path, Texts::Paths, rest);
}

fn get(
    from: &mut Reader<'_>,
    state: &mut State,
    known: &mut Vec<RobotsEvidence>,
) -> Result<Decision, LedgerError> {
    let parts = from.number(Column::Parts)?;
    let has = |part: u64| parts & part != 0;
    state.at = state.at.checked_add(from.signed(Column::At)?).ok_or(LedgerError::Form)?;
    let at = Timestamp::from_microsecond(state.at).map_err(|_| LedgerError::Form)?;
    let url = get_url(from, Column::UrlOrigin, Column::UrlPath)?;
    let host =
        if has(part::HOST) { from.text(Column::Host, Texts::Origins)? } else { host_of(&url) }.to_owned();
    let decision = from.text(Column::Decision, Texts::Words)?.into();
    let layer =
        usize::try_from(from.number(Column::Layer)?).ok().and_then(|place| Layer::ALL.get(place).copied());
    let layer = layer.ok_or(LedgerError::Form)?;
    let reason = from.text(Column::Reason, Texts::Words)?.into();
    let via = if has(part::VIA) { Some(get_url(from, Column::ViaOrigin, Column::ViaPath)?) } else { None };
    let mut evidence = Evidence::default();
    if has(part::WORDS) {
        evidence.words = Some(from.text(Column::Words, Texts::Words)?.to_owned());
    }
    if has(part::REQUEST) {
        evidence.request = Some(get_request(from, state, has(part::ADDRESS))?);
    }
    if has(part::ROBOTS) {
        evidence.robots = Some(get_robots(from, known)?);
    }
    if has(part::EFFECTS) {
        let flags = from.number(Column::Effects)?;
        let (indexed, archived, followed) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
        evidence.effects = Some(EffectsTaken { indexed, archived, followed });
    }
    if has(part::DIRECTIVE) {
        let directive = from.text(Column::Directive, Texts::Words)?.to_owned();
        let source = from.text(Column::DirectiveSource, Texts::Words)?.to_owned();
        evidence.directive = Some(DirectiveEvidence { directive, source });
    }
    if has(part::LIMIT) {
        let name = from.text(Column::LimitName, Texts::Words)?.to_owned();
        let value = from.text(Column::LimitValue, Texts::Words)?.to_owned();
        evidence.limit = Some(LimitReached { name, value });
    }
    if has(part::PAUSE) {
        let length = Duration::from_micros(from.number(Column::PauseLength)?);
        let reason = Cow::Owned(from.text(Column::PauseReason, Texts::Words)?.to_owned());
        evidence.pause = Some(PauseSet { length, reason });
    }
    if has(part::VERSIONS) {
        let digest = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let before = digest(from.text(Column::VersionBefore, Texts::Words)?);
        let after = digest(from.text(Column::VersionAfter, Texts::Words)?);
        evidence.versions = Some(Versions { before, after });
    }
    if has(part::TO) {
        evidence.to = Some(get_url(from, Column::ToOrigin, Column::ToPath)?);
    }
    if has(part::CLOCK) {
        state.offset = state.offset.wrapping_add(from.signed(Column::Clock)?);
        let clock = u64::try_from(state.at.wrapping_sub(state.offset)).map_err(|_| LedgerError::Form)?;
        evidence.clock = Some(Duration::from_micros(clock));
    }
    if has(part::BOOT) {
        let id = u32::try_from(from.number(Column::BootId)?).map_err(|_| LedgerError::Form)?;
        evidence.boot = Some(Box::new(Boot { id, ms: from.number(Column::BootMs)? }));
    }
    if has(part::RUN) {
        let settings = from.text(Column::RunSettings, Texts::Words)?.to_owned();
        let seeds = from.text(Column::RunSeeds, Texts::Words)?.to_owned();
        evidence.run = Some(Box::new(RunSettings { settings, seeds }));
    }
    if has(part::STORED) {
        evidence.stored = Some(Box::new(get_stored(from)?));
    }
    Ok(Decision { at, url, host, decision, layer, reason, evidence, via })
}

fn get_request(
    from: &mut Reader<'_>,
    state: &mut State,
    has_address: bool,
) -> Result<RequestMade, LedgerError> {
    let started = state.at.checked_sub(from.signed(Column::RequestStarted)?).ok_or(LedgerError::Form)?;
    let took = Duration::from_micros(from.number(Column::RequestTook)?);
    state.offset = state.offset.wrapping_add(from.signed(Column::RequestClock)?);
    let clock = u64::try_from(started.wrapping_sub(state.offset)).map_err(|_| LedgerError::Form)?;
    let status = u16::try_from(from.number(Column::RequestStatus)?).map_err(|_| LedgerError::Form)?;
    Ok(RequestMade {
        started: Timestamp::from_microsecond(started).map_err(|_| LedgerError::Form)?,
        took,
        clock: Duration::from_micros(clock),
        status: (status > 0).then_some(status),
        bytes: from.number(Column::RequestBytes)?,
        gap: Duration::from_micros(from.number(Column::RequestGap)?),
        gap_reason: Cow::Owned(from.text(Column::RequestGapReason, Texts::Words)?.to_owned()),
        address: if has_address {
            let text = from.text(Column::RequestAddress, Texts::Words)?;
            Some(text.parse().map_err(|_| LedgerError::Form)?)
        } else {
            None
        },
    })
}

fn get_robots(from: &mut Reader<'_>, known: &mut Vec<RobotsEvidence>) -> Result<RobotsEvidence, LedgerError> {
    let place = usize::try_from(from.number(Column::Robots)?).map_err(|_| LedgerError::Form)?;
    if place > 0 {
        return known.get(place - 1).cloned().ok_or(LedgerError::Form);
    }
    let line = u32::try_from(from.number(Column::RobotsLine)?).map_err(|_| LedgerError::Form)?;
    let robots = RobotsEvidence {
        line: (line > 0).then_some(line),
        rule: get_optional(from, Column::RobotsRule)?,
        group: get_optional(from, Column::RobotsGroup)?,
        dialect: robots::Dialect::from_str(from.text(Column::RobotsDialect, Texts::Words)?)
            .map_err(|_| LedgerError::Form)?,
        reason: from.text(Column::RobotsReason, Texts::Words)?.to_owned(),
        digest: get_optional(from, Column::RobotsDigest)?,
    };
    known.push(robots.clone());
    Ok(robots)
}

fn get_optional(from: &mut Reader<'_>, column: Column) -> Result<Option<String>, LedgerError> {
    let there = from.number(column)? != 0;
    there.then(|| from.text(column, Texts::Words).map(str::to_owned)).transpose()
}

fn get_url(from: &mut Reader<'_>, origin: Column, path: Column) -> Result<String, LedgerError> {
    let start = from.text(origin, Texts::Origins)?;
    Ok(format!("{start}{}", from.text(path, Texts::Paths)?))
}

/// Scheme, host and port, and the rest.
fn split(url: &str) -> (&str, &str) {
    let after_scheme = url.find("://").map_or(0, |place| place + 3);
    let path = url[after_scheme..].find('/').map_or(url.len(), |place| after_scheme + place);
    if after_scheme == 0 { ("", url) } else { url.split_at(path) }
}

/// The host in a URL's text; empty where there is none.
fn host_of(url: &str) -> &str {
    let (origin, _) = split(url);
    let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
    if authority.ends_with(']') {
        return authority;
    }
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

fn micros(length: Duration) -> u64 {
    u64::try_from(length.as_micros()).unwrap_or(u64::MAX)
}
