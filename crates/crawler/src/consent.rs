//! The statements of a site about uses of its pages, known before a page is requested: lines of robots.txt, and the two
//! files that are fetched if a declared purpose makes them matter: `/.well-known/tdmrep.json` (tdm) and `/ai.txt`
//! (ai-train).
//!
//! Fetching a file is an ordinary request: robots.txt is checked first, the host's delay applies. A file is valid for a day. One that can't
//! be fetched in as many attempts as a page has denies what it could deny; one that robots.txt denies, or that doesn't exist, has no statement.

mod asking;
mod kept;

pub use self::kept::RobotsStatements;
pub(crate) use self::kept::denials;

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use meta::consent::tdm::{FILE_LIMIT, Reservation, TdmFile};
use meta::consent::{AI_AGENTS, AiTxt, Claim, Consent, Policy, Purpose, Signal, Statement, ai_block_hint};
use meta::{Source, SourceKind};
use robots::memory::block;
use robots::{Options, Robots, StatusClass};

use self::asking::{Asking, Turn};
use crate::fetch::{FetchError, Response};
use crate::origin_cache::{Kind, OriginCache};
use crate::record::{RobotsAccess, RobotsConsent, SiteFile, SiteFileRecord, Uncommitted};
use crate::robots_cache::Entry;
use crate::store::{Store, StoreError, Tree};
use page::url::{CrawlUrl, Origin};

/// Redirects that are followed, within the origin.
const HOPS: u8 = 5;

/// How long a file holds.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// What the operator declared.
#[derive(Debug, Clone, Default)]
pub struct ConsentRules {
    /// The purposes of the crawl, and what silence means for each.
    pub policy: Policy,
    /// A robots.txt that closes three AI crawlers or more out counts as a denial of AI training.
    pub ai_block_hint: bool,
}

impl ConsentRules {
    /// The files that can deny one of the declared purposes.
    fn files(&self) -> Vec<SiteFile> {
        let declared = |purpose| self.policy.purposes().contains(&purpose);
        let mut files = Vec::new();
        if declared(Purpose::Tdm) {
            files.push(SiteFile::TdmRep);
        }
        if declared(Purpose::AiTrain) || declared(Purpose::AiTrainImages) {
            files.push(SiteFile::AiTxt);
        }
        files
    }
}

/// What is known before a page is asked for.
#[derive(Debug)]
pub enum Before {
    /// A file has to be asked for first.
    Ask(SiteFile, CrawlUrl),
    /// This was said.
    SiteStatements(SiteStatements),
}

/// The statements about one page that don't come from the page itself.
#[derive(Debug, Clone, Default)]
pub struct SiteStatements {
    /// The lines of robots.txt: each claim once, by the first line that makes it. A thousand lines may make the same few, and
    /// this is held while the page is waited for.
    pub robots: Vec<Statement>,
    /// Where these lines are stored; none where they said nothing.
    pub robots_from: Option<RobotsConsent>,
    /// Lines that could speak of the page weren't read: every use of it is denied.
    pub is_unread: bool,
    /// The files, and what robots.txt says without words; the word of `tdmrep.json` is apart.
    pub statements: Vec<Statement>,
    /// What `tdmrep.json` says; header and page may replace it.
    pub tdm: Option<Reservation>,
    /// The statements of `tdmrep.json`, unless something replaces them.
    tdm_statement: Option<Statement>,
}

impl SiteStatements {
    /// All statements as they are before the page is asked for.
    pub fn before(&self) -> impl Iterator<Item = &Statement> {
        self.robots.iter().chain(&self.statements).chain(&self.tdm_statement)
    }
}

/// What one request for a file came to.
#[derive(Debug)]
pub enum SiteFileStep {
    /// It is known now; the version is to be stored.
    Known(Arc<SiteFileRecord>),
    /// It has to be asked for again: another URL, or another try.
    Again,
}

#[derive(Debug)]
struct CachedFile {
    said: Content,
    fetched_at: Timestamp,
    expires: Timestamp,
}

#[derive(Debug)]
enum Content {
    Tdm(TdmFile),
    Ai(AiTxt),
    Silent,
    Unreachable(String),
}

impl CachedFile {
    fn memory(&self) -> usize {
        let said = match &self.said {
            Content::Tdm(file) => file.memory(),
            Content::Ai(file) => file.memory(),
            Content::Silent => 0,
            Content::Unreachable(why) => block(why.capacity()),
        };
        size_of::<Self>() + said
    }
}

/// What [`Kind`] the files are of.
fn kind(file: SiteFile) -> Kind {
    match file {
        SiteFile::TdmRep => Kind::TdmRep,
        SiteFile::AiTxt => Kind::AiTxt,
    }
}

/// The name by which a file is known until it is committed.
fn file_name(origin: &str, file: SiteFile) -> String {
    [origin, file.path()].concat()
}

/// The files of every origin: those used lately in memory, all in the store.
#[derive(Debug)]
pub struct ConsentCache<S> {
    store: Arc<S>,
    rules: ConsentRules,
    agent: meta::Agent,
    files: Vec<SiteFile>,
    held: Arc<OriginCache>,
    /// Versions that may not be in the store yet: a file may leave memory before its commit is through.
    uncommitted: Uncommitted<SiteFileRecord>,
    asking: Asking,
}

impl<S: Store> ConsentCache<S> {
    /// A cache over a store, in this budget.
    pub fn new(store: Arc<S>, rules: ConsentRules, agent: meta::Agent, held: Arc<OriginCache>) -> Self {
        let files = rules.files();
        let (uncommitted, asking) = Default::default();
        Self { store, rules, agent, files, held, uncommitted, asking }
    }

    /// The purposes of the crawl.
    pub fn policy(&self) -> &Policy {
        &self.rules.policy
    }

    /// What is said of a page that robots.txt allows, or the file that has to be asked for first.
    pub fn before(&self, robots: &Entry, url: &CrawlUrl, now: Timestamp) -> Result<Before, StoreError> {
        let path = url.path_and_query();
        let mut said = self.robots_said(robots, path);
        if !self.rules.policy.may_fetch(said.before()) {
            return Ok(Before::SiteStatements(said));
        }
        let origin = url.origin();
        for file in &self.files {
            if let Some(turn) = self.asking.next(&origin, *file, now) {
                return Ok(Before::Ask(*file, turn.url));
            }
            let Some(held) = self.lookup(&origin, *file, now)? else {
                match first_url(robots, &origin, *file) {
                    Some(url) => return Ok(Before::Ask(*file, url)),
                    // robots.txt closes it: nobody's word.
                    None => continue,
                }
            };
            match &held.said {
                Content::Tdm(tdm) => {
                    said.tdm = tdm.lookup(path).cloned();
                    said.tdm_statement =
                        said.tdm.as_ref().and_then(|tdm| tdm_statement(tdm, held.fetched_at));
                }
                Content::Ai(ai) => said.statements.extend(ai.statement(path, held.fetched_at)),
                Content::Silent => {}
                Content::Unreachable(why) => {
                    said.statements.extend(unreachable(*file, why, held.fetched_at));
                }
            }
        }
        Ok(Before::SiteStatements(said))
    }

    fn robots_said(&self, robots: &Entry, path: &str) -> SiteStatements {
        /// Deciding lines that a page record names.
        const NAMED: usize = 16;
        let at = robots.record.fetched_at;
        let lines = robots.signals.statements(path, at);
        let mut said = SiteStatements {
            is_unread: robots.signals.unread_about(path).is_some(),
            ..SiteStatements::default()
        };
        if robots.record.consent_lines.is_some() && !lines.is_empty() {
            let deciding = robots.signals.deciding_lines(path).into_iter().take(NAMED).collect();
            said.robots_from = Some(RobotsConsent { digest: robots.digest.clone(), at, lines: deciding });
            said.robots = each_claim_once(lines);
        } else {
            // The stored version is from before its lines were kept with it.
            said.statements = kept::first_places(lines).0;
        }
        if self.rules.ai_block_hint {
            said.statements.extend(self.hint(robots));
        }
        said
    }

    /// Whether the robots.txt closes AI crawlers out; once for each version.
    fn hint(&self, robots: &Entry) -> Option<Statement> {
        let digest = robots.digest.clone().filter(|_| robots.record.access == RobotsAccess::Rules)?;
        if let Some(hint) = self.held.get::<Option<Statement>>(Kind::AiBlockHint, &digest) {
            return Option::clone(&hint);
        }
        let bytes = robots.body();
        let options = Options::from(robots.robots.dialect());
        let closed = AI_AGENTS.into_iter().filter(|agent| {
            let agent = robots::Agent::new(agent);
            !Robots::parse(&bytes, &agent, &options, None).verdict("/").allowed
        });
        let hint = Arc::new(ai_block_hint(closed, robots.record.fetched_at));
        // The names of all these agents at most.
        let bytes = size_of::<Option<Statement>>() + block(256);
        self.held.keep(Kind::AiBlockHint, &digest, Arc::clone(&hint), bytes);
        Option::clone(&hint)
    }

    fn lookup(
        &self,
        origin: &Origin,
        file: SiteFile,
        now: Timestamp,
    ) -> Result<Option<Arc<CachedFile>>, StoreError> {
        let origin = origin.name();
        let held = match self.held.get::<CachedFile>(kind(file), &origin) {
            Some(held) => Some(held),
            None => self.stored(&origin, file)?.map(|held| self.keep(&origin, file, held)),
        };
        Ok(held.filter(|held| now < held.expires && held.fetched_at <= now))
    }

    /// Bytes that have to be read before it is known what the files of an origin say: none where they are in memory, or aren't known.
    pub fn unread(&self, origin: &Origin) -> Result<usize, StoreError> {
        let origin = origin.name();
        let mut bytes = 0;
        for file in &self.files {
            if self.held.get::<CachedFile>(kind(*file), &origin).is_none() {
                let last = self.store.last(Tree::SiteFiles, &SiteFileRecord::prefix(&origin, *file))?;
                bytes += last.map_or(0, |(_, value)| crate::packed::unpacked_len(&value));
            }
        }
        Ok(bytes)
    }

    fn stored(&self, origin: &str, file: SiteFile) -> Result<Option<CachedFile>, StoreError> {
        if let Some(record) = self.uncommitted.get(&file_name(origin, file)) {
            return Ok(Some(self.read(&record)));
        }
        let prefix = SiteFileRecord::prefix(origin, file);
        let Some((_, value)) = self.store.last(Tree::SiteFiles, &prefix)? else { return Ok(None) };
        let record = SiteFileRecord::read(&value)
            .map_err(|error| StoreError::Unreadable { tree: Tree::SiteFiles.name(), source: error.into() })?;
        Ok(Some(self.read(&record)))
    }

    fn read(&self, record: &SiteFileRecord) -> CachedFile {
        let said = match (&record.body, record.file) {
            _ if record.unreachable => Content::Unreachable(record.reason.clone()),
            (Some(body), SiteFile::TdmRep) => Content::Tdm(TdmFile::parse(body.as_bytes())),
            (Some(body), SiteFile::AiTxt) => Content::Ai(AiTxt::parse(body.as_bytes(), &self.agent)),
            (None, _) => Content::Silent,
        };
        CachedFile { said, fetched_at: record.fetched_at, expires: record.expires }
    }

    /// Reads a version as look-ups will, and keeps nothing of it.
    pub fn try_reading(&self, record: &SiteFileRecord) {
        drop(self.read(record));
    }

    fn keep(&self, origin: &str, file: SiteFile, held: CachedFile) -> Arc<CachedFile> {
        let held = Arc::new(held);
        self.held.keep(kind(file), origin, Arc::clone(&held), held.memory());
        held
    }

    /// Takes in the answer to a request for a file, which is repeated up to `retries` times. `may_ask` is asked where that is a redirect within the origin: whether
    /// robots.txt lets the target be asked for.
    pub fn answered(
        &self,
        file: SiteFile,
        url: &CrawlUrl,
        answer: &Result<Response, FetchError>,
        retries: u32,
        now: Timestamp,
        may_ask: impl FnOnce(&CrawlUrl) -> Result<bool, StoreError>,
    ) -> Result<SiteFileStep, StoreError> {
        let origin = url.origin();
        let before = self.asking.take(&origin, file);
        let (hops, tries) = before.map_or((0, 0), |turn| (turn.hops, turn.tries));
        let expires = now.saturating_add(LIFETIME).unwrap_or(now);
        let mut again = None;
        let mut record = SiteFileRecord {
            v: 1,
            origin: origin.to_string(),
            file,
            url: url.to_string(),
            fetched_at: now,
            expires,
            status: answer.as_ref().ok().map(|response| response.status),
            reason: String::new(),
            unreachable: false,
            body: None,
        };
        match answer {
            Ok(response) => match StatusClass::of(response.status) {
                StatusClass::Success if response.body.len() <= FILE_LIMIT && response.truncated.is_none() => {
                    "read".clone_into(&mut record.reason);
                    record.body = Some(String::from_utf8_lossy(&response.body).into_owned());
                }
                StatusClass::Success => {
                    // What it says isn't known: it denies what it could deny.
                    record.unreachable = true;
                    "larger than 512 KiB: not read".clone_into(&mut record.reason);
                }
                StatusClass::Redirect => {
                    let target =
                        response.reference("location").and_then(|to| CrawlUrl::join(&url.to_url(), &to).ok());
                    match target {
                        Some(to) if to.origin() != origin => {
                            "redirects to another origin: not followed".clone_into(&mut record.reason);
                        }
                        Some(to) if hops < HOPS && to != *url => {
                            if may_ask(&to)? {
                                again = Some(Turn { url: to, hops: hops + 1, tries });
                            } else {
                                "redirects to a place that may not be requested"
                                    .clone_into(&mut record.reason);
                            }
                        }
                        // It is the site's own file, and what it says isn't known.
                        _ => {
                            record.unreachable = true;
                            "unreachable: a redirect that leads nowhere".clone_into(&mut record.reason);
                        }
                    }
                }
                class if class.may_pass() && u32::from(tries) < retries => {
                    again = Some(Turn { url: url.clone(), hops, tries: tries + 1 });
                }
                class if class.says_nothing() || class == StatusClass::NotModified => {
                    record.unreachable = true;
                    record.reason = format!("unreachable: status {}", response.status);
                }
                _ => record.reason = format!("status {}: no statement", response.status),
            },
            Err(_) if u32::from(tries) < retries => {
                again = Some(Turn { url: url.clone(), hops, tries: tries + 1 });
            }
            Err(error) => {
                record.unreachable = true;
                record.reason = format!("unreachable: {}", error.kind.as_str());
            }
        }
        if let Some(turn) = again {
            if self.asking.note(&origin, file, turn, now) {
                return Ok(SiteFileStep::Again);
            }
            record.unreachable = true;
            "unreachable: the files of too many sites have to be fetched again"
                .clone_into(&mut record.reason);
        }
        let record = Arc::new(record);
        let name = origin.name();
        self.uncommitted.note(&file_name(&name, file), &record);
        self.keep(&name, file, self.read(&record));
        Ok(SiteFileStep::Known(record))
    }
}

/// Keeps the first statement of each claim: how claims are weighed doesn't depend on how often one is made.
fn each_claim_once(statements: Vec<Statement>) -> Vec<Statement> {
    let mut first: Vec<Statement> = Vec::new();
    for statement in statements {
        let is_known = |known: &Statement| (known.signal, known.claim) == (statement.signal, statement.claim);
        if !first.iter().any(is_known) {
            first.push(statement);
        }
    }
    first
}

/// Where a file is asked for, if robots.txt lets it be.
fn first_url(robots: &Entry, origin: &Origin, file: SiteFile) -> Option<CrawlUrl> {
    let is_open = robots.robots.verdict(file.path()).allowed;
    is_open.then(|| CrawlUrl::parse(&format!("{origin}{}", file.path())).ok()).flatten()
}

fn tdm_statement(tdm: &Reservation, at: Timestamp) -> Option<Statement> {
    let bit = tdm.reservation?;
    let consent = if bit == 1 { Consent::Deny } else { Consent::Allow };
    let source =
        Source::new(SourceKind::File, 0, SiteFile::TdmRep.path(), &format!("tdm-reservation: {bit}"));
    Some(Statement { signal: Signal::TdmRep, claim: Claim::Purpose(Purpose::Tdm, consent), source, at })
}

/// An unreachable file denies what it could deny.
fn unreachable(file: SiteFile, why: &str, at: Timestamp) -> Vec<Statement> {
    let (signal, purposes): (_, &[Purpose]) = match file {
        SiteFile::TdmRep => (Signal::TdmRep, &[Purpose::Tdm]),
        SiteFile::AiTxt => (Signal::AiTxt, &[Purpose::AiTrain]),
    };
    let source = Source::new(SourceKind::File, 0, file.path(), why);
    let statement = |purpose: &Purpose| Statement {
        signal,
        claim: Claim::Purpose(*purpose, Consent::Deny),
        source: source.clone(),
        at,
    };
    purposes.iter().map(statement).collect()
}

#[cfg(test)]
pub(crate) mod tests;
