//! One crawl in several partitions, each with an engine and a store of its own, as workers of a cluster crawl it; also where owners are lost.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crawler::audit::audit_cluster;
use crawler::cluster::{Joined, join};
use crawler::commit::CommitError;
use crawler::config::{self, Record};
use crawler::engine::{End, Post, Standing, Stored};
use crawler::post::{MAIL, Place, partition};
use crawler::record::EndRecord;
use crawler::store::{AnyStore, CrashStore, MemoryStore, Store as _, StoreError, Tree, Write};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use whole_program::oracle::{Promise, judge};
use whole_program::request_log::{Request, RequestKind};
use whole_program::simweb::{RobotsForm, SimWeb, Size, Truth, Web, generate, truth};

use crate::crawl::{Crawl, DELAY, LIMITS};
use crate::politeness::seeds;
use crate::statements::{Subject, stated};

/// How often letters are carried.
const TOUR: Duration = Duration::from_secs(5);

/// How long a partition has no owner after the loss of one.
const VACANCY: Duration = Duration::from_secs(13);

/// So many owners of a partition are lost, where any are.
const LOST: u64 = 3;

/// URLs that are explained of a crawl; of webs with lower numbers than the second all of them.
const EXPLAINED: usize = 40;
const EXPLAINED_WHOLE: u64 = 6;

/// How far an owner is with a partition, and where letters are handed in.
struct Owner {
    standing: Arc<Standing>,
    letters: UnboundedSender<Vec<Stored>>,
}

/// A partition: its store, and its owner while there is one.
struct Part {
    place: Place,
    store: Arc<MemoryStore>,
    owner: Mutex<Option<Owner>>,
    /// The crawl is over: no more letters come.
    is_over: AtomicBool,
    /// What was answered from the last commit of an owner to its end isn't known to the next one.
    forgotten: Mutex<Vec<(Duration, Duration)>>,
}

impl Part {
    fn owner(&self) -> MutexGuard<'_, Option<Owner>> {
        self.owner.lock().expect("nobody panicked")
    }

    /// Nothing remains to be done, as far as its owner knows.
    fn is_idle(&self) -> bool {
        self.owner().as_ref().is_some_and(|owner| owner.standing.idle_since().is_some())
    }
}

/// Letters that the store of a partition holds: its own ones, or those that it wrote.
fn letters(part: &Part, to: impl Fn(u32) -> bool) -> Vec<Stored> {
    let addressee = |key: &[u8]| {
        let number = key.strip_prefix(MAIL).and_then(|rest| rest.first_chunk::<4>().copied());
        u32::from_be_bytes(number.expect("the key of a letter"))
    };
    let all = part.store.scan(Tree::Meta, MAIL).map(|pair| pair.expect("the store works"));
    all.filter(|(key, _)| to(addressee(key))).collect()
}

/// Carries letters until nothing remains to be done anywhere.
#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn carry(parts: &[Arc<Part>]) {
    let mut brought = 0_u32;
    loop {
        tokio::time::sleep(TOUR).await;
        let mut is_over = parts.iter().all(|part| part.is_idle());
        for part in parts {
            for (key, text) in letters(part, |to| to != part.place.part) {
                is_over = false;
                let to = u32::from_be_bytes(key[MAIL.len()..][..4].try_into().expect("4 bytes"));
                // Kept before it is removed: a letter may come twice, and never goes missing.
                let reader = &parts[to as usize].store;
                reader.commit(vec![Write::put(Tree::Meta, key.clone(), text)]).expect("the store works");
                // As where the writer's database is away then: it is brought again, also when its reader has dealt with it.
                brought += 1;
                if !brought.is_multiple_of(3) {
                    part.store.commit(vec![Write::remove(Tree::Meta, key)]).expect("the store works");
                }
            }
        }
        for part in parts {
            let own = letters(part, |to| to == part.place.part);
            is_over &= own.is_empty();
            let owner = part.owner();
            let Some(Owner { standing, letters }) = &*owner else { continue };
            if standing.takes_letters() && (own.is_empty() || letters.send(own).is_err()) {
                standing.had_no_letters();
            }
        }
        if is_over {
            for part in parts {
                part.is_over.store(true, Ordering::Release);
                *part.owner() = None;
            }
            return;
        }
    }
}

/// Has owners crawl a partition, one after the other, until one comes to the end. Gives how many were lost.
#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn own(
    part: Arc<Part>,
    crawl: Arc<Crawl<MemoryStore>>,
    sim: SimWeb,
    seed: Option<u64>,
) -> Result<u64, String> {
    let mut lost = 0;
    loop {
        let (letters, received) = unbounded_channel();
        let standing = Arc::new(Standing::default());
        let post = Post::new(part.place, lost + 1, received, Arc::clone(&standing));
        // One that is lost with its last commit has another after it.
        let owner = Owner { standing, letters };
        *part.owner() = (!part.is_over.load(Ordering::Acquire)).then_some(owner);
        // An owner that crashes does so at one of its first commits, so that there are some where little is to be done.
        let of_owner = u64::from(part.place.part) * 3 + lost * 5;
        let (at, lands) = match seed {
            Some(seed) if lost < LOST => {
                (2 + (seed * 7 + of_owner) % 11, (seed + of_owner).is_multiple_of(2))
            }
            _ => (u64::MAX, false),
        };
        let taken = crawl.on(Arc::new(CrashStore::new(Arc::clone(&part.store), at, lands)));
        *taken.post.lock().expect("nobody panicked") = Some(post);
        match taken.run(None).await {
            Ok(summary) if summary.end == End::Complete => return Ok(lost),
            Err(CommitError::Store(StoreError::Crash(_) | StoreError::Stopped)) => {
                lost += 1;
                *part.owner() = None;
                if !lands {
                    let known = (crawl.last_commit(), sim.now());
                    part.forgotten.lock().expect("nobody panicked").push(known);
                }
                tokio::time::sleep(VACANCY).await;
            }
            other => return Err(format!("{other:?}")),
        }
    }
}

/// The log without what an owner learnt and could not keep: such a request counts for the ordinary gap.
fn remembered(mut log: Vec<Request>, parts: &[Arc<Part>]) -> Vec<Request> {
    for request in &mut log {
        let part = &parts[partition(&request.host, parts[0].place.of) as usize];
        let forgotten = part.forgotten.lock().expect("nobody panicked");
        if forgotten.iter().any(|(commit, end)| (*commit..=*end).contains(&request.end)) {
            request.retry_after = None;
            if let Some(rules) = request.lesson.as_mut().and_then(|lesson| lesson.rules.as_mut()) {
                rules.crawl_delay = None;
            }
        }
    }
    log
}

/// How many sites have their robots.txt in another partition.
fn moved_elsewhere(web: &Web, of: u32) -> usize {
    let elsewhere = web.sites.iter().filter(|(host, site)| match &site.robots.form {
        RobotsForm::Moved(to) => {
            let target = url::Url::parse(to).expect("a URL of the model");
            partition(target.host_str().expect("a host"), of) != partition(host, of)
        }
        _ => false,
    });
    elsewhere.count()
}

/// What came of a crawl.
#[derive(Default)]
struct Found {
    wrong: Vec<String>,
    /// Owners that were lost, and sites with a robots.txt in another partition.
    lost: u64,
    moved: usize,
    /// Statements of explanations of URLs, of the partitions and of a copy in one store.
    statements: [u64; 2],
}

/// Crawls the web of a seed in so many partitions, whose owners are lost where `crashes`.
async fn crawl(seed: u64, of: u32, crashes: bool) -> Found {
    let web = generate(seed, Size::default());
    let truth = truth(&web, LIMITS);
    let mut found = Found { moved: moved_elsewhere(&web, of), ..Found::default() };
    let sim = SimWeb::new(web);
    let (mut parts, mut crawls) = (Vec::new(), Vec::new());
    for part in 0..of {
        let place = Place { part, of };
        let store = Arc::new(MemoryStore::default());
        crawls.push(Arc::new(Crawl::partition(&sim, Arc::clone(&store), place)));
        parts.push(Arc::new(Part {
            place,
            store,
            owner: Mutex::default(),
            is_over: AtomicBool::default(),
            forgotten: Mutex::default(),
        }));
    }
    let of_crawl = format!("seed {seed}, {of} partitions{}", if crashes { ", owners are lost" } else { "" });
    let owners: Vec<_> = parts
        .iter()
        .zip(&crawls)
        .map(|(part, crawl)| {
            let seed = crashes.then_some(seed);
            tokio::spawn(own(Arc::clone(part), Arc::clone(crawl), sim.clone(), seed))
        })
        .collect();
    carry(&parts).await;
    for (part, owner) in owners.into_iter().enumerate() {
        match owner.await.expect("the engine doesn't panic") {
            Ok(lost) => found.lost += lost,
            Err(other) => found.wrong.push(format!("{of_crawl}: partition {part} ended with {other}")),
        }
    }
    let log = sim.log();
    for violation in judge(&remembered(log.clone(), &parts), Promise::delay(DELAY)) {
        found.wrong.push(format!("{of_crawl}: {violation}"));
    }
    let asked: BTreeSet<String> = sim.page_counts().into_keys().collect();
    for url in truth.requested.symmetric_difference(&asked) {
        let is = if asked.contains(url) { "should not have been" } else { "wasn't" };
        found.wrong.push(format!("{of_crawl}: {url} {is} asked for"));
    }
    for request in log.iter().filter(|r| r.host.starts_with("outside") && r.purpose == RequestKind::Page) {
        found.wrong.push(format!("{of_crawl}: outside the scope: {request}"));
    }
    let stores: Vec<AnyStore> = parts.iter().map(|part| Arc::clone(&part.store) as AnyStore).collect();
    let report = audit_cluster(&stores, &[], &crawls[0].audit_rules(), &mut |_| {});
    for check in report.expect("the records can be read").checks {
        let what = check.first.iter().map(|what| format!("{} {:?} {}", what.subject, what.at, what.what));
        found.wrong.extend(what.map(|what| format!("{of_crawl}: audit, {}: {what}", check.name)));
    }
    if found.wrong.is_empty() && of > 1 {
        let stores: Vec<_> = parts.iter().map(|part| Arc::clone(&part.store)).collect();
        let explained = if seed < EXPLAINED_WHOLE { usize::MAX } else { EXPLAINED };
        judge_statements(&mut found, &of_crawl, &stores, (&crawls[0], &truth, explained));
    }
    found
}

/// Judges what is said about the crawl, and about a copy in one store, as `crawl cluster export --copy` makes it.
fn judge_statements(
    found: &mut Found,
    what: &str,
    stores: &[Arc<MemoryStore>],
    (crawl, truth, explained): (&Crawl<MemoryStore>, &Truth, usize),
) {
    let subject =
        Subject { stores, crawl, is_same_web: true, is_archived: false, truth: Some(truth), explained };
    let of_parts = stated(what, &subject);
    let now = crawl.clock.lock().expect("nobody panicked").now().wall;
    let record = Record { seeds: crawl.sim.web().seeds.clone(), ..Record::default() };
    let settings = config::to_toml(&crawl.base, &record).expect("the settings can be written");
    let end = EndRecord { end: "complete".to_owned(), limit: None, at: now };
    let parts: Vec<AnyStore> = stores.iter().map(|store| Arc::clone(store) as AnyStore).collect();
    let copy = Arc::new(MemoryStore::default());
    let about = Joined { settings: &settings, started: now, runs: 1, end };
    join(&parts, Arc::clone(&copy) as AnyStore, &about).expect("it can be copied");
    let of_copy = stated(&format!("{what}, its copy"), &Subject { stores: &[copy], ..subject });
    found.statements = [of_parts.count(), of_copy.count()];
    found.wrong.extend(of_parts.wrong.into_iter().chain(of_copy.wrong));
}

/// Every fifth web, since a crawl of several engines takes as long as several crawls; all where a number of them is set.
fn some_seeds() -> impl Iterator<Item = u64> {
    seeds().step_by(if std::env::var_os("WHOLE_PROGRAM_SEEDS").is_some() { 1 } else { 5 })
}

#[tokio::test(start_paused = true)]
async fn a_crawl_in_partitions_fetches_exactly_the_truth() {
    let (mut wrong, mut moved, mut statements) = (Vec::new(), 0, [0; 2]);
    for seed in some_seeds() {
        for of in [1, 2, 5] {
            let found = crawl(seed, of, false).await;
            wrong.extend(found.wrong);
            moved += found.moved;
            statements = [0, 1].map(|of| statements[of] + found.statements[of]);
        }
    }
    println!("statements about URLs: {} of partitions, {} of their copies", statements[0], statements[1]);
    assert!(wrong.is_empty(), "{} things are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(statements.iter().all(|count| *count > 0), "nothing is said");
    assert!(moved > 0 || seeds().count() < 40, "no robots.txt lies in another partition");
}

#[tokio::test(start_paused = true)]
async fn a_crawl_in_partitions_whose_owners_are_lost_fetches_exactly_the_truth() {
    let (mut wrong, mut lost, mut statements) = (Vec::new(), 0, [0; 2]);
    for seed in some_seeds() {
        for of in [1, 2, 5] {
            let found = crawl(seed, of, true).await;
            wrong.extend(found.wrong);
            lost += found.lost;
            statements = [0, 1].map(|of| statements[of] + found.statements[of]);
        }
    }
    println!("statements about URLs: {} of partitions, {} of their copies", statements[0], statements[1]);
    assert!(wrong.is_empty(), "{} things are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(statements.iter().all(|count| *count > 0), "nothing is said");
    assert!(lost > 0, "no owner was lost");
}
