//! What is under way when a crawl, or a partition of it, goes from one process to another.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crawler::engine::{End, Stop};
use crawler::store::MemoryStore;
use whole_program::request_log::RequestKind;
use whole_program::rules::Rules;
use whole_program::simweb::SimWeb;

use crate::crawl::Crawl;
use crate::hours::{site, web};

/// How long each site takes to answer: longer than requests in flight have where a user asks a crawl to stop, which is 8 s, and shorter than they have at a
/// hand-over, 30 s.
const LATENCY: Duration = Duration::from_secs(20);

#[expect(clippy::disallowed_methods, reason = "the web's clock goes on")]
async fn pass(time: Duration) {
    tokio::time::sleep(time).await;
}

/// How often each robots.txt is asked for where the first process is asked to end while it waits for them.
async fn requests_for_robots(how: Stop) -> Vec<usize> {
    let hosts = ["a.test", "b.test", "c.test"];
    let one = |host| (host, site(host, (3, 2), Rules::default(), LATENCY, |_| Vec::new()));
    let sim = SimWeb::new(web(hosts.into_iter().map(one).collect::<BTreeMap<_, _>>()));
    let crawl = Crawl::new(&sim, Arc::new(MemoryStore::default()));
    let ask = async {
        pass(Duration::from_secs(1)).await;
        crawl.stop.send_replace(how);
    };
    let (first, ()) = tokio::join!(crawl.run(None), ask);
    assert_eq!(first.expect("the crawl ends well").end, End::Interrupted);
    crawl.stop.send_replace(Stop::No);
    assert_eq!(crawl.run(None).await.expect("the crawl ends well").end, End::Complete);
    let log = sim.log();
    let of_host = |host: &str| {
        let robots =
            log.iter().filter(|request| request.purpose == RequestKind::Robots && request.host == host);
        robots.count()
    };
    hosts.into_iter().map(of_host).collect()
}

#[tokio::test(start_paused = true)]
async fn a_process_that_hands_over_waits_for_what_is_under_way() {
    assert_eq!(requests_for_robots(Stop::HandOver).await, [1, 1, 1]);
    assert_eq!(requests_for_robots(Stop::Drain).await, [2, 2, 2], "it has no time for them");
}
