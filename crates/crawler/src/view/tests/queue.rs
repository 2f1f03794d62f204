use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

/// What happens to one host's queue between two looks at it.
#[derive(Debug, Clone)]
enum Step {
    Push(usize),
    Take(usize),
    Commit,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1..150_usize).prop_map(Step::Push),
        3 => (1..140_usize).prop_map(Step::Take),
        3 => Just(Step::Commit),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..24)
}

fn queued(crawl: &Crawl) -> Vec<String> {
    let view = View::over(Arc::clone(&crawl.store)).unwrap();
    rows(view.queue()).into_iter().map(|row| row.url).collect()
}

fn play(steps: &[Step], journal_bytes: usize) {
    let mut crawl = Crawl::with(FrontierLimits { journal_bytes, ..FrontierLimits::default() });
    let mut expected: VecDeque<String> = VecDeque::new();
    let mut committed = expected.clone();
    let mut number = 0;
    for step in steps {
        match step {
            Step::Push(count) => {
                for _ in 0..*count {
                    let text = format!("http://a.test/{number}?q");
                    number += 1;
                    crawl.queue(&text, Priority::Link, None);
                    expected.push_back(text);
                }
            }
            Step::Take(count) => {
                for _ in 0..*count {
                    assert_eq!(crawl.take(), expected.pop_front());
                }
            }
            Step::Commit => {
                crawl.commit();
                committed.clone_from(&expected);
            }
            Step::Reopen => {
                crawl.reopen();
                expected.clone_from(&committed);
            }
        }
        assert_eq!(queued(&crawl), Vec::from(committed.clone()));
        let view = View::over(Arc::clone(&crawl.store)).unwrap();
        let count: u64 = view.hosts().map(|host| host.unwrap().queued).sum();
        assert_eq!(count, committed.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_queue_is_read_as_the_frontier_would_hand_it_out(steps in steps(), journal in prop_oneof![Just(0), Just(3000_usize), Just(8 << 20)]) {
        play(&steps, journal);
    }
}

#[test]
fn the_borders_of_chunks_and_journal_hold() {
    use Step::{Commit, Push, Reopen, Take};
    for journal in [0, 3000, 8 << 20] {
        for first in [1, 63, 64, 65, 127, 128, 129] {
            for taken in [0, 1, 63, 64, 65] {
                let steps = [
                    Push(first),
                    Commit,
                    Take(taken.min(first)),
                    Push(3),
                    Commit,
                    Reopen,
                    Push(70),
                    Take(5),
                    Commit,
                ];
                play(&steps, journal);
            }
        }
    }
}

#[test]
fn rows_come_by_host_and_priority_and_say_where_they_were_found() {
    let mut crawl = Crawl::new();
    crawl.store_page(page("http://a.test/", Some(200)), Vec::new());
    crawl.queue("http://a.test/1", Priority::Link, Some("http://a.test/"));
    crawl.queue("http://b.test:8080/2", Priority::Link, Some("http://a.test/"));
    crawl.queue("http://a.test/3", Priority::First, None);
    let rows = rows(crawl.view().queue());
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.url.as_str(), row.priority, row.via.as_deref(), row.host.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("http://a.test/3", "first", None, "a.test"),
            ("http://a.test/1", "link", Some("http://a.test/"), "a.test"),
            ("http://b.test:8080/2", "link", Some("http://a.test/"), "b.test"),
        ]
    );
}

#[test]
fn a_link_to_a_sleeping_host_waits_untested() {
    let mut crawl = Crawl::with(FrontierLimits { seen_loaded_for_links: 0, ..FrontierLimits::default() });
    crawl.queue("http://a.test/1", Priority::Link, None);
    crawl.commit();
    crawl.reopen();
    let (host, target) = (crawl.host("http://a.test/"), url("http://a.test/2"));
    let item = QueuedUrl::link(&target, 4, None);
    crawl.frontier.admit(host, target.fingerprint(&KEY), item, Priority::Link, false).unwrap();
    let rows = rows(crawl.view().queue());
    let found: Vec<_> = rows.iter().map(|row| (row.url.as_str(), row.priority, row.depth)).collect();
    assert_eq!(found, [("http://a.test/1", "link", 1), ("http://a.test/2", "untested", 4)]);
}

#[test]
fn a_lost_chunk_is_an_error_and_not_a_shorter_queue() {
    let mut crawl = Crawl::new();
    for number in 0..200 {
        crawl.queue(&format!("http://a.test/{number}"), Priority::Link, None);
    }
    let view = crawl.view();
    let (key, _) = crawl.store.scan(Tree::Queue, &[]).nth(1).unwrap().unwrap();
    crawl.store.commit(vec![Write::remove(Tree::Queue, key)]).unwrap();
    let found: Vec<_> = view.queue().collect();
    let errors: Vec<_> = found.iter().filter_map(|row| row.as_ref().err()).collect();
    assert!(errors.len() == 1 && errors[0].to_string().contains("`queue`"), "{errors:?}");
}
