//! Writes the crawl of `whole_program::stored_crawl` with the program that `WHOLE_PROGRAM_BINARY` names, as `crawl-data` in a new directory:
//!
//!     WHOLE_PROGRAM_BINARY=/usr/bin/crawl cargo run -p whole-program --example write_stored_crawl -- new
//!     tar -C new --owner 0 --group 0 -czf tests/data/crawl-format-5.tar.gz crawl-data
//!
//! The crawl is killed, resumed to a limit, revisited, has URLs removed, and is killed again while URLs are queued.

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use whole_program::program::Crawl;
use whole_program::site::Server;
use whole_program::stored_crawl::{FORGOTTEN, HOSTS, sites};

fn main() {
    let directory = PathBuf::from(std::env::args_os().nth(1).expect("the directory to write"));
    std::fs::create_dir(&directory).expect("a new directory");
    let server = Server::start(sites());
    let lines = HOSTS.map(|host| format!("http://{host}/\n")).concat();
    std::fs::write(directory.join("seeds.txt"), lines).expect("the seed file can be written");

    // Relative paths: the names of directories of this machine are kept nowhere.
    let first = Crawl::new([
        "run",
        "--seed",
        "seeds.txt",
        "--agent",
        "SuperRobot/1.0",
        "--contact",
        "owner@example.org",
    ])
    .args(["--out", "crawl-data", "--delay", "20ms", "--adaptive", "0"])
    .args(server.resolve())
    .directory(&directory)
    .start();
    wait_for(&server, 90);
    first.kill();
    let on = |command: &str| Crawl::new([command, "crawl-data"]).directory(&directory);
    println!("{}", on("resume").args(["--max-pages", "240"]).run().expect(10));
    println!("{}", on("recrawl").args(["--older-than", "0s", "--max-pages", "280"]).run().expect(10));
    println!("{}", on("forget").args([FORGOTTEN, "--reason", "asked for by the author"]).run().expect(0));
    println!("{}", on("forget").args(["--regex", "^http://archive[.]test/3[01]$"]).run().expect(0));
    let count = server.count();
    let last = on("resume").args(["--max-pages", "1000"]).start();
    wait_for(&server, count + 25);
    last.kill();
    println!("{} requests", server.count());
}

fn wait_for(server: &Server, requests: usize) {
    let (_keep, receiver) = channel::<()>();
    for _ in 0..6_000 {
        if server.count() >= requests {
            return;
        }
        assert!(receiver.recv_timeout(Duration::from_millis(10)).is_err());
    }
    panic!("only {} requests came", server.count());
}
