//! One crawl in several partitions, each with an engine and a store of its own, as workers of a cluster crawl it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crawler::engine::{End, Post, Standing, Stored};
use crawler::post::{MAIL, Place};
use crawler::store::{MemoryStore, Store as _, Tree, Write};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use whole_program::oracle::{Promise, judge};
use whole_program::request_log::RequestKind;
use whole_program::simweb::{SimWeb, Size, generate, truth};

use crate::crawl::{Crawl, DELAY, LIMITS};
use crate::politeness::seeds;

/// How often letters are carried.
const TOUR: Duration = Duration::from_secs(5);

/// A partition: its store, how far it is, and where its letters are handed in.
struct Part {
    place: Place,
    store: Arc<MemoryStore>,
    standing: Arc<Standing>,
    letters: UnboundedSender<Vec<Stored>>,
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
async fn carry(parts: Vec<Part>) {
    loop {
        tokio::time::sleep(TOUR).await;
        let mut is_over = parts.iter().all(|part| part.standing.idle_since().is_some());
        for part in &parts {
            for (key, text) in letters(part, |to| to != part.place.part) {
                is_over = false;
                let to = u32::from_be_bytes(key[MAIL.len()..][..4].try_into().expect("4 bytes"));
                // Kept before it is removed: a letter may come twice, and never goes missing.
                let reader = &parts[to as usize].store;
                reader.commit(vec![Write::put(Tree::Meta, key.clone(), text)]).expect("the store works");
                part.store.commit(vec![Write::remove(Tree::Meta, key)]).expect("the store works");
            }
        }
        for part in &parts {
            let own = letters(part, |to| to == part.place.part);
            is_over &= own.is_empty();
            if part.standing.takes_letters() {
                if own.is_empty() {
                    part.standing.had_no_letters();
                } else {
                    part.letters.send(own).expect("its engine runs");
                }
            }
        }
        if is_over {
            return;
        }
    }
}

/// Crawls the web of a seed in so many partitions and gives what is wrong with the crawl.
async fn crawl(seed: u64, of: u32) -> Vec<String> {
    let web = generate(seed, Size::default());
    let truth = truth(&web, LIMITS);
    let sim = SimWeb::new(web);
    let (mut parts, mut engines) = (Vec::new(), Vec::new());
    for part in 0..of {
        let place = Place { part, of };
        let store = Arc::new(MemoryStore::default());
        let crawl = Crawl::partition(&sim, Arc::clone(&store), place);
        let (letters, received) = unbounded_channel();
        let standing = Arc::new(Standing::default());
        *crawl.post.lock().expect("nobody panicked") =
            Some(Post::new(place, 1, received, Arc::clone(&standing)));
        parts.push(Part { place, store, standing, letters });
        engines.push(crawl);
    }
    let mut wrong = Vec::new();
    let running: Vec<_> =
        engines.into_iter().map(|crawl| tokio::spawn(async move { crawl.run(None).await })).collect();
    carry(parts).await;
    for (part, engine) in running.into_iter().enumerate() {
        match engine.await.expect("the engine doesn't panic") {
            Ok(summary) if summary.end == End::Complete => {}
            other => wrong.push(format!("seed {seed}, partition {part} of {of}: ended with {other:?}")),
        }
    }
    let log = sim.log();
    for violation in judge(&log, Promise::delay(DELAY)) {
        wrong.push(format!("seed {seed}, {of} partitions: {violation}"));
    }
    let asked: BTreeSet<String> = sim.page_counts().into_keys().collect();
    for url in truth.requested.symmetric_difference(&asked) {
        let is = if asked.contains(url) { "should not have been" } else { "wasn't" };
        wrong.push(format!("seed {seed}, {of} partitions: {url} {is} asked for"));
    }
    for request in log.iter().filter(|r| r.host.starts_with("outside") && r.purpose == RequestKind::Page) {
        wrong.push(format!("seed {seed}, {of} partitions: outside the scope: {request}"));
    }
    wrong
}

#[tokio::test(start_paused = true)]
async fn a_crawl_in_partitions_fetches_exactly_the_truth() {
    let mut wrong = Vec::new();
    // A crawl of several engines takes as long as several crawls.
    for seed in seeds().step_by(5) {
        for of in [2, 5] {
            wrong.extend(crawl(seed, of).await);
        }
    }
    assert!(wrong.is_empty(), "{} things are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
