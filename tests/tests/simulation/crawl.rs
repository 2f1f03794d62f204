//! The crawler's engine on a simulated web, with the settings of a user who changed nothing but the delay.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crawler::audit::{AuditRules, Report, audit};
use crawler::commit::{CommitError, Committer};
use crawler::config::{self, Record, Settings};
use crawler::engine::{Engine, EngineParts, EngineSettings, PartitionParts, Post, Stop, Summary};
use crawler::event::CrawlEvent;
use crawler::forgotten::{Forgotten, forget_rules};
use crawler::frontier::FrontierLimits;
use crawler::job::{self, JobError};
use crawler::origin_cache::OriginCache;
use crawler::plan::{Plan, Planner};
use crawler::post::Place;
use crawler::record::{Decided, Decision, Layer, PlainReason, Reason, RobotsEvidence};
use crawler::store::{Store, Tree, Write};
use crawler::view::{View, ViewError};
use crawler::visit::{Revisiting, VisitContext};
use crawler::warc::WarcInfo;
use jiff::Timestamp;
use meta::consent::Purpose;
use page::clock::Clock;
use page::url::{CrawlUrl, FingerprintKey};
use tokio::sync::watch;
use whole_program::simweb::{Limits, SimWeb};

use crate::steps::Steps;

/// The configured delay of these crawls.
pub(crate) const DELAY: Duration = Duration::from_secs(1);

/// The limits in the settings of these crawls, for the truth.
pub(crate) const LIMITS: Limits = Limits { redirects: 10, tries: 3 };

/// When these crawls begin.
const MIDNIGHT: Timestamp = Timestamp::constant(1_772_323_200, 0);

/// The key of a crawl's fingerprints; that of every other one is as databases before format 4 have it.
pub(crate) fn key_of(sim: &SimWeb) -> FingerprintKey {
    let bytes = if sim.web().seed.is_multiple_of(2) { &[7; 16][..] } else { &[7; 32] };
    FingerprintKey::from_bytes(bytes).expect("a key of that length")
}

/// One crawl, which may be run several times: the web and the clock go on while the "processes" come and go.
pub(crate) struct Crawl<S> {
    pub(crate) sim: SimWeb,
    pub(crate) store: Arc<S>,
    pub(crate) clock: Arc<Mutex<Clock>>,
    /// Whether the machine is rebooted before each process.
    pub(crate) rebooted: bool,
    /// An engine that reads less in robots.txt and pages than their authors say.
    pub(crate) impolite: bool,
    /// The decisions of all runs.
    pub(crate) decisions: Arc<Mutex<Vec<Decision>>>,
    /// When the last commit was acknowledged, on the web's clock.
    pub(crate) committed: Arc<Mutex<Duration>>,
    /// The requests that were acknowledged.
    pub(crate) acknowledged: Arc<Mutex<u64>>,
    /// What hosts waited for, as the progress line said.
    pub(crate) waited: Arc<Mutex<BTreeSet<&'static str>>>,
    /// The purposes of the crawl.
    pub(crate) purposes: Vec<Purpose>,
    /// The purposes that a site's silence allows.
    pub(crate) silence: Vec<Purpose>,
    /// The settings of the next process, but for the purposes.
    pub(crate) base: Settings,
    /// Whether the next process visits pages again.
    pub(crate) revisits: bool,
    /// Changes the settings of the engine.
    pub(crate) adjust: fn(EngineSettings) -> EngineSettings,
    /// Seed of the jitter.
    pub(crate) jitter: u64,
    /// What robots.txt says to each page, where the engine only plans.
    pub(crate) judged: Arc<Mutex<Vec<Judged>>>,
    /// The post of the next process, where it crawls one of several partitions.
    pub(crate) post: Mutex<Option<Post>>,
    /// What the process is asked to do.
    pub(crate) stop: watch::Sender<Stop>,
}

/// A page, what robots.txt says to it, and whether it may be fetched.
pub(crate) type Judged = (CrawlUrl, RobotsEvidence, bool);

impl<S: Store> Crawl<S> {
    /// A new crawl with its seeds planted.
    pub(crate) fn new(sim: &SimWeb, store: Arc<S>) -> Self {
        Self::by(Clock::simulated("2026-03-01T00:00:00Z".parse().expect("a time")), sim, store)
    }

    /// As [`Crawl::new`], by another clock.
    pub(crate) fn by(clock: Clock, sim: &SimWeb, store: Arc<S>) -> Self {
        let (crawl, planted) = Self::planted(clock, sim, store, settings(), |_| true);
        assert!(planted > 0);
        crawl
    }

    /// As [`Crawl::new`], with other settings.
    pub(crate) fn with(settings: Settings, sim: &SimWeb, store: Arc<S>) -> Self {
        Self::planted(Clock::simulated(MIDNIGHT), sim, store, settings, |_| true).0
    }

    /// One partition of a new crawl, with the seeds that are in it.
    pub(crate) fn partition(sim: &SimWeb, store: Arc<S>, place: Place) -> Self {
        let clock = Clock::simulated("2026-03-01T00:00:00Z".parse().expect("a time"));
        let about = Write::put(Tree::Meta, "partition", format!("{} of {}", place.part, place.of));
        store.commit(vec![about]).expect("the store works");
        let crawl =
            Self::planted(clock, sim, store, settings(), |seed| place.elsewhere(seed.host()).is_none()).0;
        // The next owner is another machine.
        Self { rebooted: true, ..crawl }
    }

    fn planted(
        clock: Clock,
        sim: &SimWeb,
        store: Arc<S>,
        base: Settings,
        is_own: impl Fn(&CrawlUrl) -> bool,
    ) -> (Self, u64) {
        let mut scope = job::scope(&base).expect("no patterns");
        let seeds = seeds(sim);
        for seed in &seeds {
            scope.add_seed(seed);
        }
        let key = key_of(sim);
        let own: Vec<CrawlUrl> = seeds.into_iter().filter(is_own).collect();
        let planted =
            job::queue_seeds(&store, &scope, &own, &[], key, clock.now().wall).expect("the store works");
        let is_planted = |seed: &&String| CrawlUrl::parse(seed).is_ok_and(|seed| own.contains(&seed));
        let record = Record {
            seeds: sim.web().seeds.iter().filter(is_planted).cloned().collect(),
            ..Record::default()
        };
        let begun = config::to_toml(&base, &record).expect("the settings can be written");
        let about = vec![
            Write::put(Tree::Meta, "settings", begun),
            Write::put(Tree::Meta, "format", job::FORMAT.to_string()),
            Write::put(Tree::Meta, "fingerprint_key", key.bytes()),
        ];
        store.commit(about).expect("the store works");
        let (decisions, committed, waited) = (Arc::default(), Arc::default(), Arc::default());
        let crawl = Self {
            sim: sim.clone(),
            store,
            clock: Arc::new(Mutex::new(clock)),
            rebooted: false,
            impolite: false,
            decisions,
            committed,
            acknowledged: Arc::default(),
            waited,
            purposes: vec![Purpose::Search, Purpose::Archive],
            silence: vec![Purpose::Search, Purpose::Archive],
            base,
            revisits: false,
            adjust: |settings| settings,
            jitter: 7,
            judged: Arc::default(),
            post: Mutex::default(),
            stop: watch::Sender::default(),
        };
        (crawl, planted.queued)
    }

    /// The same crawl taken up by a new process, whose store may be another view of the same data.
    pub(crate) fn on<T: Store>(&self, store: Arc<T>) -> Crawl<T> {
        let (decisions, committed) = (Arc::clone(&self.decisions), Arc::clone(&self.committed));
        let acknowledged = Arc::clone(&self.acknowledged);
        let impolite = self.impolite;
        Crawl {
            sim: self.sim.clone(),
            store,
            clock: Arc::clone(&self.clock),
            rebooted: self.rebooted,
            impolite,
            decisions,
            committed,
            acknowledged,
            waited: Arc::clone(&self.waited),
            purposes: self.purposes.clone(),
            silence: self.silence.clone(),
            base: self.base.clone(),
            revisits: self.revisits,
            adjust: self.adjust,
            jitter: self.jitter,
            judged: Arc::clone(&self.judged),
            post: Mutex::default(),
            stop: watch::Sender::default(),
        }
    }

    /// Runs to the end of the crawl, or of the store.
    pub(crate) async fn run(&self, archive: Option<&Path>) -> Result<Summary, CommitError> {
        let clock = {
            let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
            *clock = clock.next_process(self.rebooted);
            *clock
        };
        let mut settings = self.settings();
        let info = info();
        let archive = archive.map(|directory| (directory, &info, 1 << 30));
        let committer = Committer::open(Arc::clone(&self.store), archive)?;
        let seeds = seeds(&self.sim);
        let begun_with = config::run_settings(&settings, &seeds).expect("the settings can be written");
        let mut scope = job::scope(&settings).expect("no patterns");
        for seed in &seeds {
            scope.add_seed(seed);
        }
        let forgotten = forget_rules(&*self.store)?;
        scope.forget(Forgotten::new(forgotten.iter().map(|(_, rule)| rule)).expect("a pattern"));
        let changed = match job::changed_since(&*self.store, &begun_with.0, &settings) {
            Ok(found) => found.changed,
            Err(JobError::Store(error)) => return Err(error.into()),
            Err(error) => panic!("{error}"),
        };
        let skipped_urls = (!changed.is_empty()).then(|| View::over(Arc::clone(&self.store)));
        let skipped_urls = match skipped_urls.transpose() {
            Ok(view) => view,
            Err(ViewError::Store(error)) => return Err(error.into()),
            Err(error) => panic!("{error}"),
        };
        let mut rules = job::page_rules(&settings, Vec::new(), key_of(&self.sim));
        if self.impolite {
            // Reads neither wildcards nor what came after 1997.
            settings.robots.dialect = robots::Dialect::Koster1994;
            rules.dialect = meta::Dialect::LycosRu;
        }
        rules.archive = archive.is_some();
        // So small that hardly anything stays in memory: every look-up of another origin reads the store.
        let caches = Arc::new(OriginCache::new(8 << 10));
        let context = Arc::new(VisitContext {
            fetch: self.sim.clone(),
            caches: Arc::clone(&caches),
            robots: job::robots_cache(&settings, Arc::clone(&self.store), &caches).with_clock(clock),
            consent: job::consent_cache(&settings, Arc::clone(&self.store), &caches),
            revisiting: Revisiting::of(Arc::clone(&self.store), self.revisits),
            pages: Arc::new(rules),
            clock,
            seed_hosts: seeds.iter().map(|seed| seed.host().into()).collect(),
            max_crawl_delay: settings.pace.max_crawl_delay,
            retries: settings.fetch.retries,
            max_wait: settings.pace.max_wait,
        });
        // Hosts that are unreachable for an hour are waited for, so that the set of pages doesn't hang on the moment of the end.
        // So few that hosts are evicted and come back all the time.
        let frontier = FrontierLimits { hosts_in_memory: 2, ..FrontierLimits::default() };
        let engine = EngineSettings {
            frontier,
            max_wait: Duration::from_hours(2),
            jitter: self.jitter,
            run: Some(begun_with),
            changed,
            ..job::engine_settings(&settings, key_of(&self.sim))
        };
        let engine = (self.adjust)(engine);
        let decisions = Arc::clone(&self.decisions);
        let (last_commit, web) = (Arc::clone(&self.committed), self.sim.clone());
        let acknowledged = Arc::clone(&self.acknowledged);
        let mut steps = Steps::new(self.sim.web(), self.sim.space());
        let post = self.post.lock().unwrap_or_else(PoisonError::into_inner).take();
        let has_post = post.is_some();
        let (waited, judged) = (Arc::clone(&self.waited), Arc::clone(&self.judged));
        let listener = move |event: CrawlEvent<'_>| match event {
            // One of several partitions also waits for letters.
            CrawlEvent::Step(step) if !has_post => steps.check(step),
            CrawlEvent::Progress(progress) => {
                let reasons = progress.waiting.iter().map(|(why, _)| why.as_str());
                waited.lock().unwrap_or_else(PoisonError::into_inner).extend(reasons);
            }
            CrawlEvent::Judged { url, evidence, allowed } => {
                let mut judged = judged.lock().unwrap_or_else(PoisonError::into_inner);
                judged.push((url, *evidence, allowed));
            }
            CrawlEvent::Decided(decision) => {
                assert!(has_known_words(decision), "words that no document lists: {decision:?}");
                decisions.lock().unwrap_or_else(PoisonError::into_inner).push(decision.clone());
            }
            CrawlEvent::Committed(totals) => {
                *acknowledged.lock().unwrap_or_else(PoisonError::into_inner) = totals.requests;
                *last_commit.lock().unwrap_or_else(PoisonError::into_inner) = web.now();
            }
            _ => {}
        };
        let stopped = self.stop.subscribe();
        let store = Arc::clone(&self.store);
        let partition = PartitionParts { post, ..PartitionParts::default() };
        let parts =
            EngineParts { partition, skipped_urls, ..EngineParts::new(committer, Box::new(listener)) };
        let mut engine = Engine::open(engine, context, &store, scope, parts)?;
        // A crawl that never ends shows here: nothing in these webs takes weeks, not even an outage that lasts.
        tokio::time::timeout(Duration::from_hours(24 * 14), Box::pin(engine.run(stopped)))
            .await
            .expect("the crawl ends by itself")
    }

    /// What each run is started with.
    pub(crate) fn settings(&self) -> Settings {
        let mut settings = self.base.clone();
        settings.consent.purpose.clone_from(&self.purposes);
        settings.consent.silence_allows.clone_from(&self.silence);
        settings
    }

    /// What the audit says of the crawl's records.
    pub(crate) fn audit(&self, archive: Option<&Path>) -> Vec<String> {
        let checks = self.audit_report(archive).checks;
        let found = checks.iter().flat_map(|check| check.first.iter().map(move |what| (check.name, what)));
        found
            .map(|(name, what)| format!("audit, {name}: {} {:?} {}", what.subject, what.at, what.what))
            .chain(self.read_again().1)
            .collect()
    }

    /// What a reading of robots.txt that shares nothing with the crawl's says of its requests: how many, and which are denied.
    pub(crate) fn read_again(&self) -> (u64, Vec<String>) {
        crate::rfc9309::judge(&*self.store, "SuperRobot")
    }

    /// The audit's own report.
    pub(crate) fn audit_report(&self, archive: Option<&Path>) -> Report {
        audit(&self.store, archive, &self.audit_rules()).expect("the records can be read")
    }

    /// What an audit has to know of the crawl.
    pub(crate) fn audit_rules(&self) -> AuditRules {
        let settings = self.settings();
        AuditRules {
            is_running: false,
            agent: robots::Agent::new(&settings.agent.product),
            options: settings.robots_options(),
            limits: settings.page.extract_limits(settings.limits.max_links_per_page),
            page_agent: meta::Agent::new(&settings.agent.product).with_aliases(&settings.agent.aliases),
            policy: job::consent_rules(&settings).policy,
            delay: DELAY,
            settings,
            seeds: self.sim.web().seeds.clone(),
            key: key_of(&self.sim),
            head: None,
            temporary: None,
        }
    }

    /// The plan of an engine that was run with `plan`, for a crawl that begins at midnight.
    pub(crate) fn plan_online(&self) -> Plan {
        let mut planner = Planner::default();
        for (url, evidence, allowed) in self.judged.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            planner.judged(url, evidence, *allowed);
        }
        job::plan_asked(&settings(), planner, &self.store, MIDNIGHT).expect("the store works")
    }

    /// The plan from what the crawl has stored, for another that begins at midnight.
    pub(crate) fn plan_offline(&self) -> Plan {
        job::plan_stored(&settings(), &seeds(&self.sim), &self.store, MIDNIGHT).expect("the store works")
    }

    /// When the last commit was acknowledged, on the web's clock.
    pub(crate) fn last_commit(&self) -> Duration {
        *self.committed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The requests that were acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        *self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decisions about one URL, for messages of failed tests.
    pub(crate) fn decisions_on(&self, url: &str) -> Vec<String> {
        let decisions = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        let about = decisions.iter().filter(|decision| decision.url == url);
        about.map(|d| format!("{} {} {} {:?}", d.at, d.decision, d.reason, d.evidence)).collect()
    }
}

/// Returns whether decision and reason are of the words that docs/outputs.md lists; robots.txt gives its reasons in sentences.
fn has_known_words(decision: &Decision) -> bool {
    let is_sentence = decision.layer == Layer::Robots && decision.decision.is_about_robots();
    !matches!(decision.decision, Decided::Other(_))
        && (is_sentence || !matches!(decision.reason, Reason::Plain(PlainReason::Other(_))))
}

pub(crate) fn settings() -> Settings {
    let mut settings = Settings::default();
    "SuperRobot/1.0".clone_into(&mut settings.agent.product);
    settings.pace.delay = DELAY;
    settings
}

pub(crate) fn seeds(sim: &SimWeb) -> Vec<CrawlUrl> {
    sim.web().seeds.iter().map(|seed| CrawlUrl::parse(seed).expect("a URL of the model")).collect()
}

fn info() -> WarcInfo {
    WarcInfo {
        software: "simulation".to_owned(),
        robots: "obeyed".to_owned(),
        user_agent: "SuperRobot/1.0".to_owned(),
        from: None,
        operator: None,
        settings: None,
        is_part_of: "simulation".to_owned(),
        started_at: "2026-03-01T00:00:00Z".parse().expect("a time"),
    }
}
