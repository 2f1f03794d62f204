//! What each part of the archive costs for one page, beside gzip alone of the same body.
//!
//! `cargo bench -p crawler --bench archive`. The page is prose of 42 KB. A body that came compressed is stored without the compressor, so its row
//! is the cost of the digests and of the record itself; the row of the plain body is that plus the compressor.

#![expect(clippy::unwrap_used, clippy::format_push_string, reason = "a benchmark may stop where a test may")]

use std::hint::black_box;
use std::io::Write as _;
use std::path::Path;

use crawler::cdxj;
use crawler::warc::{Encoded, Exchange, Metadata, WarcInfo, WarcWriter, encode};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Pages of a file for the parts that take a whole file.
const PAGES: usize = 200;

/// A page of 42 KB: words of a vocabulary of 2,000, so that gzip has about what it has in prose.
fn page(number: usize) -> Vec<u8> {
    let mut html = format!("<!DOCTYPE html>\n<html lang=\"en\"><title>Page {number}</title>\n<body>\n");
    let mut state = number as u64 + 1;
    while html.len() < 42_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Rare words come rarely.
        let rank = ((state >> 33) % 2_000) * ((state >> 45) % 2_000) / 2_000;
        html += &format!("w{rank:x}or{} ", rank % 7);
        if rank % 90 == 1 {
            html += &format!("</p>\n<p><a href=\"/page{rank}.html\">page {rank}</a> ");
        }
    }
    html.into_bytes()
}

fn headers(coding: Option<&str>) -> Vec<(String, Vec<u8>)> {
    let mut headers = vec![
        ("Server".to_owned(), b"nginx".to_vec()),
        ("Content-Type".to_owned(), b"text/html; charset=utf-8".to_vec()),
        ("Last-Modified".to_owned(), b"Mon, 02 Mar 2026 00:00:00 GMT".to_vec()),
        ("ETag".to_owned(), b"\"65e2\"".to_vec()),
    ];
    headers.extend(coding.map(|coding| ("Content-Encoding".to_owned(), coding.as_bytes().to_vec())));
    headers
}

fn exchange<'a>(url: &'a str, headers: &'a [(String, Vec<u8>)], body: &'a [u8]) -> Exchange<'a> {
    Exchange {
        url,
        request_head: b"GET /page.html HTTP/1.1\r\nHost: site.example\r\nUser-Agent: SuperRobot/1.0\r\nAccept: */*\r\n\r\n",
        response_head: None,
        tls: None,
        purpose: None,
        status: 200,
        version: "HTTP/1.1",
        headers,
        wire_body: body,
        truncated: None,
        ip: Some("192.0.2.1".parse().unwrap()),
        fetched_at: "2026-03-02T00:00:00Z".parse().unwrap(),
    }
}

/// What is said of a page as a rule.
fn metadata(url: &str) -> Metadata {
    let mut metadata = Metadata::new(url, "2026-03-02T00:00:00Z".parse().unwrap());
    for (name, value) in [
        ("via", "http://site.example/index.html"),
        ("hopsFromSeed", "LL"),
        ("fetchTimeMs", "120"),
        ("robots", "allowed: Allow: / (line 12, group *)"),
        ("directives", "index follow archive"),
    ] {
        metadata.say(name, value);
    }
    metadata
}

fn info() -> WarcInfo {
    WarcInfo {
        software: "crawl/0.1.0".to_owned(),
        operator: None,
        robots: "obeyed (hardened)".to_owned(),
        user_agent: "SuperRobot/1.0".to_owned(),
        from: None,
        settings: None,
        is_part_of: "bench".to_owned(),
        started_at: "2026-03-02T00:00:00Z".parse().unwrap(),
    }
}

fn writer(dir: &Path) -> WarcWriter {
    WarcWriter::open(dir, &info(), 1 << 30).unwrap()
}

/// A file with these pages.
fn append(dir: &Path, pages: &mut [Encoded]) -> WarcWriter {
    let mut writer = writer(dir);
    for page in pages {
        writer.append(page).unwrap();
    }
    writer
}

fn encoded(bodies: &[Vec<u8>]) -> Vec<Encoded> {
    let headers = headers(None);
    let each = |(n, body): (usize, &Vec<u8>)| {
        let url = format!("http://site.example/page{n}.html");
        encode(&exchange(&url, &headers, body)).with_metadata(&metadata(&url))
    };
    bodies.iter().enumerate().map(each).collect()
}

fn parts(c: &mut Criterion) {
    let url = "http://site.example/page.html";
    let body = page(0);
    let (plain, dense) = (headers(None), headers(Some("gzip")));
    let mut group = c.benchmark_group("archive");
    group.throughput(Throughput::Bytes(body.len() as u64));

    for level in [1, 6] {
        group.bench_function(format!("gzip alone, level {level}"), |b| {
            b.iter(|| {
                let mut gzip = GzEncoder::new(Vec::with_capacity(body.len() / 3), Compression::new(level));
                gzip.write_all(black_box(&body)).unwrap();
                gzip.finish().unwrap()
            });
        });
    }
    group.bench_function("response and request", |b| {
        b.iter(|| encode(black_box(&exchange(url, &plain, &body))));
    });
    group.bench_function("response as it came compressed, and request", |b| {
        b.iter(|| encode(black_box(&exchange(url, &dense, &body))));
    });
    let one = encode(&exchange(url, &plain, &body));
    let metadata = metadata(url);
    // The copy is taken outside of the time.
    group.bench_function("metadata record", |b| {
        b.iter_batched(|| one.clone(), |one| one.with_metadata(&metadata), BatchSize::SmallInput);
    });
    let place = {
        let dir = tempfile::tempdir().unwrap();
        writer(dir.path()).append(&mut one.clone()).unwrap()
    };
    let original = one.original(&place).unwrap();
    group.bench_function("revisit record instead of the response", |b| {
        b.iter_batched(|| one.clone(), |one| one.into_revisit(&original), BatchSize::SmallInput);
    });
    group.finish();
}

fn files(c: &mut Criterion) {
    let bodies: Vec<_> = (0..PAGES).map(page).collect();
    let pages = encoded(&bodies);
    let mut group = c.benchmark_group("archive file");
    group.throughput(Throughput::Elements(PAGES as u64)).sample_size(20);
    group.bench_function("append", |b| {
        b.iter_batched(
            || (tempfile::tempdir().unwrap(), pages.clone()),
            |(dir, mut pages)| {
                let writer = append(dir.path(), &mut pages);
                (dir, writer)
            },
            BatchSize::PerIteration,
        );
    });
    // By a reading of the whole file, and from what the writer remembers of it.
    for (name, remembers) in [("CDXJ index, file read", false), ("CDXJ index, writer's memory", true)] {
        group.bench_function(name, |b| {
            b.iter_batched(
                || {
                    let dir = tempfile::tempdir().unwrap();
                    let written = append(dir.path(), &mut pages.clone()).finish();
                    (dir, if remembers { written } else { Vec::new() })
                },
                |(dir, written)| {
                    cdxj::update(dir.path(), &written, None).unwrap();
                    dir
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, parts, files);
criterion_main!(benches);
