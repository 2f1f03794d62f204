//! The floor: the least work that a crawl of this kind needs, without any of the promises of a crawler.
//!
//! `floor SEEDS OUT.jsonl [BODIES.gz]`: reqwest over kept connections, one request at a time per host; lol_html for links, title and
//! description; `Url::join`; the links seen as 64-bit hashes in memory; a blake3 digest of each body; one JSON line a page; with a third argument
//! each body as a gzip member of level 1. No robots.txt, no delay, no redirects, no queue on disk, no character sets.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lol_html::html_content::TextChunk;
use lol_html::{HtmlRewriter, Settings, element, text};
use tokio::sync::{Notify, mpsc};
use url::Url;

struct Shared {
    client: reqwest::Client,
    seen: Mutex<HashSet<u64>>,
    hosts: HashMap<String, mpsc::UnboundedSender<Url>>,
    pending: AtomicUsize,
    done: Notify,
    out: Mutex<BufWriter<File>>,
    bodies: Option<Mutex<BufWriter<File>>>,
}

#[derive(Default)]
struct Page {
    title: String,
    description: String,
    links: Vec<String>,
}

fn key(url: &Url) -> u64 {
    let hash = blake3::hash(url.as_str().as_bytes());
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("eight bytes"))
}

fn read(body: &[u8]) -> Page {
    let page = Rc::new(RefCell::new(Page::default()));
    let [links, title, description] = [Rc::clone(&page), Rc::clone(&page), Rc::clone(&page)];
    let settings = Settings::new()
        .append_element_content_handler(element!("a[href]", move |element| {
            links.borrow_mut().links.extend(element.get_attribute("href"));
            Ok(())
        }))
        .append_element_content_handler(text!("title", move |chunk: &mut TextChunk<'_>| {
            title.borrow_mut().title.push_str(chunk.as_str());
            Ok(())
        }))
        .append_element_content_handler(element!("meta[name=description]", move |element| {
            description.borrow_mut().description = element.get_attribute("content").unwrap_or_default();
            Ok(())
        }));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    drop(rewriter.write(body));
    drop(rewriter.end());
    page.take()
}

impl Shared {
    fn admit(&self, url: Url) {
        if !self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(key(&url)) {
            return;
        }
        let Some(host) = self.hosts.get(url.host_str().unwrap_or_default()) else { return };
        self.pending.fetch_add(1, Ordering::Relaxed);
        drop(host.send(url));
    }

    async fn visit(&self, url: Url) -> Option<()> {
        let response = self.client.get(url.clone()).send().await.ok()?;
        let status = response.status().as_u16();
        let body = response.bytes().await.ok()?;
        let page = read(&body);
        let mut targets = Vec::with_capacity(page.links.len());
        for link in &page.links {
            if let Ok(mut target) = url.join(link) {
                target.set_fragment(None);
                targets.push(target);
            }
        }
        let row = serde_json::json!({
            "url": url.as_str(), "status": status, "title": page.title, "description": page.description,
            "digest": blake3::hash(&body).to_hex().as_str(),
            "links": targets.iter().map(Url::as_str).collect::<Vec<_>>(),
        });
        let mut line = serde_json::to_vec(&row).ok()?;
        line.push(b'\n');
        self.out.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line).ok()?;
        if let Some(bodies) = &self.bodies {
            let mut member = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(1));
            member.write_all(&body).ok()?;
            let member = member.finish().ok()?;
            bodies.lock().unwrap_or_else(PoisonError::into_inner).write_all(&member).ok()?;
        }
        // What a robots.txt would keep out costs nothing here either.
        targets.into_iter().filter(|target| !target.path().starts_with("/private/")).for_each(|target| self.admit(target));
        Some(())
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (seeds, out) = (arguments.get(1).expect("SEEDS"), arguments.get(2).expect("OUT"));
    let seeds = std::fs::read_to_string(seeds).expect("the file of seeds");
    let seeds: Vec<Url> = seeds.lines().map(|line| line.parse().expect("a URL")).collect();
    let create = |name: &String| Mutex::new(BufWriter::new(File::create(name).expect("a new file")));
    let (mut hosts, mut queues) = (HashMap::new(), Vec::new());
    for seed in &seeds {
        let (sender, receiver) = mpsc::unbounded_channel();
        hosts.insert(seed.host_str().expect("a host").to_owned(), sender);
        queues.push(receiver);
    }
    let client = reqwest::Client::builder().pool_max_idle_per_host(1).no_proxy().build().expect("a client");
    let shared = Arc::new(Shared {
        client,
        seen: Mutex::default(),
        hosts,
        pending: AtomicUsize::new(1),
        done: Notify::new(),
        out: create(out),
        bodies: arguments.get(3).map(create),
    });
    for mut queue in queues {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Some(url) = queue.recv().await {
                shared.visit(url).await;
                if shared.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                    shared.done.notify_one();
                }
            }
        });
    }
    seeds.into_iter().for_each(|seed| shared.admit(seed));
    if shared.pending.fetch_sub(1, Ordering::AcqRel) != 1 {
        shared.done.notified().await;
    }
    for file in [Some(&shared.out), shared.bodies.as_ref()].into_iter().flatten() {
        file.lock().unwrap_or_else(PoisonError::into_inner).flush().expect("the last bytes are written");
    }
}
