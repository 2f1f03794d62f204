//! What a power cut would take: whatever the database keeps in files of its own is on disk before a commit is acknowledged.

use std::collections::BTreeSet;
use std::time::Duration;

use whole_program::failing_io::FailingIo;
use whole_program::random::Random;
use whole_program::site::{Answer, Sites};

use crate::scene::Scene;

const HOSTS: [&str; 3] = ["a.test", "b.test", "c.test"];

/// A robots.txt that allows everything and can't be made small: its leaf is stored in a file beside sled's log.
fn robots_txt(random: &mut Random) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = "User-agent: *\nDisallow: /private\n".to_owned();
    for _ in 0..1_000 {
        text.push('#');
        text.extend((0..80).map(|_| char::from(LETTERS[random.index(LETTERS.len())])));
        text.push('\n');
    }
    text
}

#[test]
fn files_beside_the_log_are_synced_before_a_commit_is_acknowledged() {
    let mut random = Random::new(7);
    let sites = HOSTS.iter().fold(Sites::new(), |sites, host| {
        let robots = Answer::content("text/plain", robots_txt(&mut random));
        sites.tree(host, 5, Duration::ZERO).page(host, "/robots.txt", robots)
    });
    let scene = Scene::new(sites);
    let io = FailingIo::new(&scene.out(), &scene.path("calls"));
    io.apply(scene.crawl(), 0).run().expect(0);
    // Files that aren't synced, and whether one was made or removed since their directory was.
    let (mut open, mut is_dir_open) = (BTreeSet::new(), false);
    let (mut made, mut acknowledged) = (0, 0);
    let database = ["/db.new/", "/db/"];
    for call in io.calls() {
        let (name, path) = call.split_once(' ').unwrap();
        let Some(within) = database.iter().find_map(|dir| Some(path.split_once(dir)?.1)) else { continue };
        match (name, within.strip_prefix("blobs/")) {
            ("open" | "open64", Some(file)) => {
                (made, is_dir_open) = (made + 1, true);
                open.insert(file.to_owned());
            }
            ("write", Some(file)) => {
                open.insert(file.to_owned());
            }
            ("fsync" | "unlink", Some(file)) => {
                open.remove(file);
            }
            ("fsync", None) if within == "blobs" => is_dir_open = false,
            // The seal is written behind each commit.
            ("pwrite64", None) if within == "sealed" => {
                acknowledged += 1;
                assert!(open.is_empty() && !is_dir_open, "not synced at commit {acknowledged}: {open:?}");
            }
            _ => {}
        }
    }
    assert!(made >= 3, "only {made} files beside the log");
    assert!(acknowledged > 3, "only {acknowledged} commits were seen");
}
