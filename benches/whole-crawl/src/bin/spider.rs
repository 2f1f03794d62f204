//! The crate spider, with its own robots.txt support: `spider SEEDS OUT.jsonl`. One site at a time per host, all hosts at once.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

use spider::website::Website;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let seeds = std::fs::read_to_string(&arguments[1]).expect("the file of seeds");
    let out = Arc::new(Mutex::new(BufWriter::new(File::create(&arguments[2]).expect("a new file"))));
    let mut sites = Vec::new();
    for seed in seeds.lines().map(str::to_owned) {
        let out = Arc::clone(&out);
        sites.push(tokio::spawn(async move {
            let mut site = Website::new(&seed);
            site.with_respect_robots_txt(true)
                .with_user_agent(Some("SuperRobot/1.0"))
                .with_delay(0)
                .with_depth(0)
                .with_concurrency_limit(Some(1))
                .with_return_page_links(true)
                .with_no_control_thread(true)
                .with_ignore_sitemap(true);
            let mut pages = site.subscribe(1024);
            let writing = tokio::spawn(async move {
                while let Ok(page) = pages.recv().await {
                    let links: Vec<String> = page.page_links.iter().flat_map(|links| links.iter()).map(ToString::to_string).collect();
                    let row = serde_json::json!({"url": page.get_url(), "status": page.status_code.as_u16(), "links": links});
                    let line = row.to_string() + "\n";
                    drop(out.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes()));
                }
            });
            site.crawl().await;
            site.unsubscribe();
            drop(writing.await);
        }));
    }
    for site in sites {
        drop(site.await);
    }
    out.lock().unwrap_or_else(PoisonError::into_inner).flush().expect("the last bytes are written");
}
