//! The frontier's verbs and the URL's normal form, per call.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use crawler::frontier::{Admitted, Frontier, FrontierLimits, Priority, QueuedUrl, Settlement};
use crawler::pace::{Delay, DelayReason};
use crawler::store::{MemoryStore, Store};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use jiff::Timestamp;
use page::clock::Now;
use page::url::{CrawlUrl, Fingerprint, FingerprintKey};

const KEY: FingerprintKey = FingerprintKey::new([9; 16]);
const HOSTS: usize = 100;
const URLS: usize = 10_000;
const NOW: Now = Now { mono: Duration::from_secs(1), wall: Timestamp::UNIX_EPOCH };
const NO_GAP: Delay = Delay { length: Duration::ZERO, why: DelayReason::Configured };

type Offer = (String, Fingerprint, QueuedUrl);

fn offers() -> Vec<Offer> {
    (0..URLS)
        .map(|n| {
            let text =
                format!("http://site-{:03}.example/section-{}/a-page-of-the-site-{n}.html", n % HOSTS, n % 7);
            let url = CrawlUrl::parse(&text).expect("a URL");
            (url.host().to_owned(), url.fingerprint(&KEY), QueuedUrl::link(&url, 1, None))
        })
        .collect()
}

fn empty() -> Frontier<MemoryStore> {
    Frontier::open(&Arc::default(), FrontierLimits::default(), NO_GAP, KEY, NOW).expect("an empty frontier")
}

fn admit(frontier: &mut Frontier<MemoryStore>, offers: &[Offer]) {
    for (host, fingerprint, item) in offers {
        let id = frontier.host_id(host).expect("a host");
        frontier.admit(id, *fingerprint, item.clone(), Priority::Link, true).expect("admitted");
    }
}

fn commit(frontier: &mut Frontier<MemoryStore>) {
    let (generation, writes) = frontier.cut(NOW).expect("cut");
    frontier.store().commit(writes).expect("committed");
    frontier.committed(generation);
}

fn frontier(criterion: &mut Criterion) {
    let offers = offers();
    let mut group = criterion.benchmark_group("frontier");
    group.throughput(Throughput::Elements(URLS as u64));
    group.bench_function("admit a new URL", |bencher| {
        bencher.iter_batched_ref(empty, |frontier| admit(frontier, &offers), BatchSize::LargeInput);
    });
    let mut known = empty();
    admit(&mut known, &offers);
    group.bench_function("offer a URL seen before", |bencher| bencher.iter(|| admit(&mut known, &offers)));
    let filled = || {
        let mut frontier = empty();
        admit(&mut frontier, &offers);
        commit(&mut frontier);
        frontier
    };
    group.bench_function("lease and settle", |bencher| {
        bencher.iter_batched_ref(
            filled,
            |frontier| {
                while let Some(permit) = frontier.lease(NOW).expect("lease") {
                    let not_before = Duration::ZERO;
                    frontier.settle(permit, Settlement::finished(not_before, NO_GAP));
                }
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// The links of a page of a large site, all known, with and without reading ahead. Its set has 24 MB, which the caches of few processors hold.
fn known_links(criterion: &mut Criterion) {
    const KNOWN: u64 = 2_000_000;
    const LINKS: u64 = 62;
    let mut frontier = empty();
    let host = frontier.host_id("large.example").expect("a host");
    let url = CrawlUrl::parse("http://large.example/").expect("a URL");
    let item = QueuedUrl::link(&url, 1, None);
    // Uniform, as fingerprints are, and none twice: an odd factor.
    let fingerprint = |number: u64| Fingerprint(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    for number in 1..=KNOWN {
        frontier.admit(host, fingerprint(number), item.clone(), Priority::Link, true).expect("admitted");
        if number % 50_000 == 0 {
            commit(&mut frontier);
        }
    }
    let mut group = criterion.benchmark_group("62 known links of a host with 2,000,000 URLs");
    let mut next = 0;
    for reads_ahead in [false, true] {
        let name = if reads_ahead { "read ahead" } else { "one after the other" };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let links: Vec<_> =
                    (0..LINKS).map(|link| fingerprint(1 + (next + link * 32_003) % KNOWN)).collect();
                next = (next + 7_919) % KNOWN;
                if reads_ahead {
                    frontier.read_ahead(host, &links);
                }
                for link in links {
                    let admitted = frontier.admit_with(host, link, Priority::Link, true, || item.clone());
                    assert_eq!(admitted.expect("admitted"), Admitted::Seen);
                }
            });
        });
    }
    group.finish();
}

fn url(criterion: &mut Criterion) {
    let base = url::Url::parse("http://site-001.example/section-1/a-page.html").expect("a URL");
    let plain =
        CrawlUrl::parse("http://site-001.example/section-2/another-page-of-the-site.html").expect("a URL");
    let escaped = CrawlUrl::parse("http://site-001.example/%7efred/a%2fb%20c.html?q=%c3%a4").expect("a URL");
    let mut group = criterion.benchmark_group("url");
    group.bench_function("join", |bencher| {
        bencher.iter(|| CrawlUrl::join(black_box(&base), black_box("../section-2/another-page.html#top")));
    });
    group.bench_function("fingerprint", |bencher| bencher.iter(|| black_box(&plain).fingerprint(&KEY)));
    group.bench_function("fingerprint with escapes", |bencher| {
        bencher.iter(|| black_box(&escaped).fingerprint(&KEY));
    });
    group.finish();
}

criterion_group!(benches, frontier, known_links, url);
criterion_main!(benches);
