//! kill -9 at random points, any number of times.

use std::time::Duration;

use whole_program::output_dir::archived_responses;
use whole_program::program::{PATIENCE, Running};
use whole_program::random::Random;
use whole_program::site::Sites;

use crate::scene::{Scene, sorted};
use crate::support::{pages, pause, refetched, tree, wait_for};

const HOSTS: [&str; 3] = ["a.test", "b.test", "c.test"];

#[test]
fn killed_at_random_moments_it_resumes_without_loss() {
    let number = |name: &str, or: u64| std::env::var(name).map_or(or, |text| text.parse().expect("a number"));
    let kills = number("WHOLE_PROGRAM_KILLS", 10) as usize;
    let seed = number("WHOLE_PROGRAM_SEED", 1);
    let mut random = Random::new(seed);
    // Large enough that the last kill still finds work.
    let size = 60 + 8 * kills;
    let scene = Scene::new(
        HOSTS.iter().fold(Sites::new(), |sites, host| sites.tree(host, size, Duration::from_millis(10))),
    );
    let all: Vec<String> = sorted(HOSTS.iter().flat_map(|host| tree(host, size)).collect());
    let mut running: Running = scene.crawl().start();
    let (mut in_flight, mut hit) = (0, 0);
    for kill in 0..kills {
        // In the first moments nothing is there to be resumed; after that any moment will do.
        if kill == 0 {
            wait_for(&scene, 3);
        }
        pause(Duration::from_millis(random.between(0, 400)));
        let output = running.kill();
        in_flight += HOSTS.len();
        assert!(matches!(output.code, None | Some(0)), "kill {kill} of seed {seed}: {output}");
        hit += usize::from(output.code.is_none());
        running = scene.resume().start();
    }
    running.wait(PATIENCE).expect(0);
    scene.resume().run().expect(0);
    let requests = scene.server.count();
    scene.resume().run().expect(0);
    assert_eq!(scene.server.count(), requests, "what is complete stays complete");
    let found = pages(&scene.out());
    let again = refetched(&scene);
    let lost = all.iter().filter(|url| !found.contains(url)).count();
    let doubled = found.windows(2).filter(|pair| pair[0] == pair[1]).count();
    eprintln!(
        "| kill -9 x {kills} at random points ({hit} while it ran) | | {} pages: {lost} lost, {doubled} doubled, {again} fetched again, {in_flight} in flight |",
        all.len()
    );
    assert_eq!(found, all, "the pages of a crawl that was killed {kills} times (seed {seed})");
    assert_eq!(sorted(archived_responses(&scene.out().join("warc"))), all, "each is in the archive once");
    assert!(hit * 10 >= kills * 7, "only {hit} of {kills} kills found the program at work");
    // What a kill costs: one request a host, under way or answered and not on record yet. No host is asked again before it is.
    assert!(again <= in_flight, "{again} pages were fetched again, {in_flight} were in flight (seed {seed})");
    scene.assert_polite();
}
