//! Every statement about a simulated crawl is true: those of `explain` about each URL, the counts wherever they are given, the coverage of each host, and
//! what would change an answer, which is done in a copy of the crawl. Each kind of statement occurs. docs/statements.md lists the kinds.

mod advised;
mod counted;
mod explained;
mod falsified;
mod scenes;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crawler::store::{MemoryStore, Store, Tree, Write};
use crawler::view::{Advice, Explanation, HostStatement, Statement, Status, View, explain_among};
use page::url::CrawlUrl;
use serde_json::Value;
use whole_program::simweb::Truth;

use self::explained::Known;
use self::falsified::Falsified;
use self::scenes::Scene;
use self::tables::Tables;
pub(crate) use self::tables::rows;
use crate::accounts::{agreed, agreed_in_parts};
use crate::crawl::Crawl;

/// URLs that are explained of a crawl of another test.
const EXPLAINED: usize = 40;

/// Webs that are crawled where nothing says how many.
const WEBS: usize = 2;

/// Of the advice of many crawls, one of so many pieces is carried out, which is another crawl each.
const ONE_OF: u64 = 8;

/// What no simulated crawl leads to: a page adds that much only if it is sent compressed, and no page of the web links to what costs much in the
/// words of a rule. `growth.rs` and `costly.rs` in `tests/tests/program` have crawls that do.
const NOT_STATED: [Statement; 2] = [Statement::Growth, Statement::Costly];

/// The same of advice, and what is only said of a host that an earlier version skipped.
const NOT_ADVISED: [Advice; 3] = [Advice::OtherLink, Advice::HostAgain, Advice::KeepCostly];

/// What the keys of files begin with that couldn't be read for the index.
const UNREAD: &str = "index-unread/";

/// Failures that a message shows.
const SHOWN: usize = 20;

/// A crawl as it is stored, and what it is compared with.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// Its store, or those of its partitions in the order of their numbers.
    pub(crate) stores: &'a [Arc<MemoryStore>],
    /// Has its settings, and the web.
    pub(crate) crawl: &'a Crawl<MemoryStore>,
    /// Nothing of the web has changed since the first request.
    pub(crate) is_same_web: bool,
    /// Responses are archived.
    pub(crate) is_archived: bool,
    /// What a whole crawl of the web requests, where it came to its end.
    pub(crate) truth: Option<&'a Truth>,
    /// So many URLs are explained, about; all of them where it is the greatest number, and then false explanations are tried, too.
    pub(crate) explained: usize,
}

/// An advice with the crawl as it was when it was given.
struct Given {
    what: String,
    advice: Advice,
    story: Explanation,
    words: String,
    about: String,
    scene: Scene,
}

/// What was judged over all crawls.
#[derive(Default)]
pub(crate) struct Heard {
    statements: BTreeMap<Statement, u64>,
    advice: BTreeMap<Advice, u64>,
    followed: BTreeMap<Advice, u64>,
    /// How often each was or will be carried out.
    planned: BTreeMap<Advice, u64>,
    /// What is to be carried out.
    given: Vec<Given>,
    coverage: BTreeMap<Status, u64>,
    hosts: BTreeMap<HostStatement, u64>,
    /// How often each is carried out at most.
    most: u64,
    /// Of the explanations of several crawls that give the same kind of advice, one of so many has it carried out; the first one always.
    one_of: u64,
    figures: u64,
    falsified: Falsified,
    pub(crate) wrong: Vec<String>,
}

impl Heard {
    /// How many statements of explanations were judged.
    pub(crate) fn count(&self) -> u64 {
        self.statements.values().sum()
    }

    /// Judges everything that is said about a crawl as it is stored now. `truth`: what a whole crawl of its web requests, where it came to its end.
    pub(crate) fn judge(&mut self, what: &str, scene: &Scene, is_same_web: bool, truth: Option<&Truth>) {
        let (tables, picked) = self.judge_subject(
            what,
            &Subject {
                stores: std::slice::from_ref(&scene.crawl.store),
                crawl: &scene.crawl,
                is_same_web,
                is_archived: scene.crawl.base.warc.enabled,
                truth,
                explained: usize::MAX,
            },
        );
        for (advice, (story, words)) in picked {
            let times = self.planned.get(&advice).copied().unwrap_or_default();
            let is_drawn = draw(&[what, &words]).is_multiple_of(self.one_of.max(1));
            if times >= self.most || times > 0 && !is_drawn || advised::done_elsewhere(advice).is_some() {
                continue;
            }
            *self.planned.entry(advice).or_default() += 1;
            let about = tables.about(&story.url);
            let scene = scene.copied(scene.crawl.sim.web());
            self.given.push(Given { what: what.to_owned(), advice, story, words, about, scene });
        }
    }

    /// Does what was advised since the last time, once no crawl that was judged is still to be continued: all share one virtual clock.
    pub(crate) async fn follow_up(&mut self) {
        for Given { what, advice, story, words, about, scene } in std::mem::take(&mut self.given) {
            match Box::pin(advised::follow(advice, &words, &story, &scene)).await {
                Ok(true) => *self.followed.entry(advice).or_default() += 1,
                Ok(false) => {}
                Err(wrong) => self.wrong.push(format!(
                    "{what}: {}: {} advises \"{words}\", which was done: {wrong}{about}",
                    story.url, story.answer
                )),
            }
        }
    }

    /// As [`Heard::judge`], without doing what is advised: gives the tables, and of each kind of advice an explanation with its words.
    fn judge_subject(
        &mut self,
        what: &str,
        subject: &Subject<'_>,
    ) -> (Tables, BTreeMap<Advice, (Explanation, String)>) {
        let Subject { stores, crawl, is_same_web, is_archived, truth, explained } = *subject;
        let view = |store| View::over(Arc::clone(store)).expect("the store can be read").with_noindex(true);
        let parts: Vec<(String, View)> =
            stores.iter().enumerate().map(|(part, store)| (part.to_string(), view(store))).collect();
        let tables = Tables::read(&parts);
        self.falsified.begin();
        let mut picked: BTreeMap<Advice, (u64, Explanation, String)> = BTreeMap::new();
        let settings = crawl.settings();
        let web = crawl.sim.web();
        let unread = stores.iter().flat_map(|store| store.scan(Tree::Meta, UNREAD.as_bytes())).map(|pair| {
            let (key, _) = pair.expect("the store works");
            String::from_utf8_lossy(&key[UNREAD.len()..]).into_owned()
        });
        let unread: BTreeSet<String> = unread.collect();
        let known =
            Known { tables: &tables, web, settings: &settings, is_archived, unread: &unread, is_same_web };
        let mut urls: BTreeSet<String> = tables.urls().into_iter().map(str::to_owned).collect();
        let paths = web
            .sites
            .iter()
            .flat_map(|(host, site)| site.resources.keys().map(move |path| format!("http://{host}{path}")));
        urls.extend(paths);
        let seed = &web.seeds[0];
        urls.extend([format!("{seed}nobody-links-to-this"), "http://unknown.test/".to_owned()]);
        urls.insert(format!("{seed}?PHPSESSID=0123456789abcdef0123456789abcdef"));
        // Each explanation reads the whole ledger.
        let step = urls.len() / explained + 1;
        for url in urls
            .iter()
            .step_by(step)
            .filter_map(|url| CrawlUrl::parse(url).ok().filter(|parsed| parsed.as_str() == url))
        {
            if url.path_and_query() == "/robots.txt" || !url.as_str().starts_with("http:") {
                continue;
            }
            let story = explain_among(&parts, &url).expect("it can be explained");
            for statement in &story.statements {
                *self.statements.entry(*statement).or_default() += 1;
            }
            for (advice, words) in story.advice.iter().zip(&story.change) {
                *self.advice.entry(*advice).or_default() += 1;
                // Any of them, and always the same one.
                let place = draw(&[what, url.as_str()]);
                if picked.get(advice).is_none_or(|(other, ..)| place < *other) {
                    picked.insert(*advice, (place, story.clone(), words.clone()));
                }
            }
            if explained == usize::MAX {
                self.falsified.judge(&story, &known);
            }
            for wrong in explained::judge(&story, &known) {
                let about = tables.about(url.as_str());
                self.wrong.push(format!("{what}: {url}: {wrong}\n  says: {}{about}", story.answer));
            }
        }
        let summary = match stores {
            [store] => agreed(store, what),
            _ => agreed_in_parts(stores, &parts, what),
        };
        let files = tempfile::tempdir().expect("a directory");
        let (wrong, compared) = counted::judge(&parts, &summary, files.path());
        self.figures += compared;
        self.wrong.extend(wrong.into_iter().map(|wrong| format!("{what}: {wrong}")));
        let asked: BTreeSet<String> = crawl.sim.page_counts().into_keys().collect();
        let (wrong, judged) = counted::coverage(&summary, &tables, truth, &asked);
        self.figures += judged;
        self.wrong.extend(wrong.into_iter().map(|wrong| format!("{what}: {wrong}")));
        for host in &summary.hosts {
            *self.coverage.entry(host.coverage).or_default() += 1;
            *self.hosts.entry(host.statement).or_default() += 1;
        }
        let picked = picked.into_iter().map(|(advice, (_, story, words))| (advice, (story, words)));
        (tables, picked.collect())
    }

    /// Compares what the web server says with what the commands say.
    pub(crate) fn served(&mut self, path: &str, said: &Value, expected: &Value) {
        let of = |whole: &Value| {
            if path.contains("summary") {
                [whole["totals"].clone(), whole["queued"].clone(), whole["status"].clone()]
            } else {
                ["answer", "change", "decisions"].map(|name| whole[name].clone())
            }
        };
        let said = said.get("value").or_else(|| said.get("explanation")).unwrap_or(said);
        self.figures += 3;
        if of(said) != of(expected) {
            self.wrong.push(format!("{path}: {said}, not {expected}"));
        }
    }

    /// Panics with the first statements that are false.
    #[track_caller]
    pub(crate) fn assert_true(&self) {
        let first: Vec<&str> = self.wrong.iter().take(SHOWN).map(String::as_str).collect();
        assert!(self.wrong.is_empty(), "{} statements are false:\n{}", self.wrong.len(), first.join("\n"));
    }
}

/// What is false of what is said about a crawl of the web as it is; what is advised isn't done.
pub(crate) fn false_ones(what: &str, crawl: &Crawl<MemoryStore>, is_archived: bool) -> Vec<String> {
    let stores = std::slice::from_ref(&crawl.store);
    let truth = None;
    let subject = Subject { stores, crawl, is_same_web: true, is_archived, truth, explained: EXPLAINED };
    stated(what, &subject).wrong
}

/// Judges what is said about a crawl; what is advised isn't done.
pub(crate) fn stated(what: &str, subject: &Subject<'_>) -> Heard {
    let mut heard = Heard::default();
    heard.judge_subject(what, subject);
    assert!(!heard.statements.is_empty(), "{what}: nothing is said");
    heard
}

/// A number that these texts always have: FNV-1a.
fn draw(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A copy of what is stored.
pub(crate) fn copy(store: &MemoryStore) -> Arc<MemoryStore> {
    let copy = MemoryStore::default();
    copy_to(store, &copy);
    Arc::new(copy)
}

pub(crate) fn copy_to(store: &impl Store, copy: &impl Store) {
    for tree in Tree::ALL {
        let pairs = store.scan(tree, &[]).map(|pair| pair.expect("the store works"));
        let writes = pairs.map(|(key, value)| Write::put(tree, key, value)).collect();
        copy.commit(writes).expect("the store works");
    }
}

#[tokio::test(start_paused = true)]
async fn every_statement_about_a_simulated_crawl_is_true_and_each_kind_occurs() {
    let is_set =
        ["WHOLE_PROGRAM_SEED", "WHOLE_PROGRAM_SEEDS"].iter().any(|name| std::env::var_os(name).is_some());
    let most = if is_set { u64::MAX } else { 1 };
    let mut heard = Heard { most, one_of: ONE_OF, ..Heard::default() };
    scenes::made(&mut heard).await;
    scenes::generated(&mut heard, if is_set { usize::MAX } else { WEBS }).await;
    let statements = heard.count();
    println!(
        "{statements} statements of explain, {} figures, {} pieces of advice carried out",
        heard.figures,
        heard.followed.values().sum::<u64>()
    );
    println!(
        "{:#?}\n{:#?}\n{:#?}\n{:?}\n{:?}",
        heard.statements, heard.advice, heard.followed, heard.coverage, heard.hosts
    );
    println!("{} false explanations tried", heard.falsified.tried());
    heard.assert_true();
    heard.falsified.assert_noticed(&NOT_STATED);
    let silent = Statement::ALL.into_iter().filter(|kind| !NOT_STATED.contains(kind));
    let silent: Vec<_> = silent.filter(|kind| !heard.statements.contains_key(kind)).collect();
    assert!(silent.is_empty(), "statements that no crawl led to: {silent:?}");
    let silent = Advice::ALL.into_iter().filter(|kind| !NOT_ADVISED.contains(kind));
    let silent: Vec<_> = silent.filter(|kind| !heard.advice.contains_key(kind)).collect();
    assert!(silent.is_empty(), "advice that no crawl led to: {silent:?}");
    let not_done = Advice::ALL.into_iter().filter(|kind| advised::done_elsewhere(*kind).is_none());
    let not_done: Vec<_> = not_done.filter(|kind| !heard.followed.contains_key(kind)).collect();
    assert!(not_done.is_empty(), "advice that was never carried out: {not_done:?}");
    let silent = HostStatement::ALL.into_iter().filter(|kind| *kind != HostStatement::Remaining);
    let silent: Vec<_> = silent.filter(|kind| !heard.hosts.contains_key(kind)).collect();
    assert!(silent.is_empty(), "statements about hosts that no crawl led to: {silent:?}");
    let missing = [Status::Complete, Status::CompleteWithinLimits, Status::Incomplete];
    assert!(missing.iter().all(|status| heard.coverage.contains_key(status)), "{:?}", heard.coverage);
}

#[test]
fn the_document_names_every_kind() {
    let text = include_str!("../../../../docs/statements.md");
    let kinds = Statement::ALL.iter().map(|kind| format!("`{kind:?}`"));
    let kinds = kinds.chain(Advice::ALL.iter().map(|kind| format!("`{kind:?}`")));
    let kinds = kinds.chain(HostStatement::ALL.iter().map(|kind| format!("`{kind:?}`")));
    let unnamed: Vec<String> = kinds.filter(|kind| !text.contains(kind)).collect();
    assert!(unnamed.is_empty(), "docs/statements.md doesn't name {unnamed:?}");
}
