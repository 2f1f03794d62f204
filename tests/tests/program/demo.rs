//! `crawl demo`: the two classic sites, three robots, nothing installed, no internet.

use std::time::Duration;

use whole_program::program::Crawl;

/// The example of "HTTP: The Definitive Guide", section 9.4: Suzy-Spider, Furniture-Finder and everybody else.
const PATHS: [&str; 6] = [
    "/index.html",
    "/private/payroll.xls",
    "/private/suzy-stuff/taxes.txt",
    "/dynamic/buy-stuff?id=3546",
    "/dynamic/check-inventory?kitchen",
    "/",
];

#[test]
fn the_demo_shows_what_each_robot_could_see_and_why() {
    let directory = tempfile::tempdir().unwrap();
    let output = Crawl::new(["demo", "--out"])
        .args([directory.path().join("demo")])
        .start()
        .wait(Duration::from_mins(1));
    let text = &output.expect(0).stdout;
    for word in PATHS.iter().chain(&[
        "Suzy-Spider",
        "Furniture-Finder",
        "Nosy-Bot",
        "joes-hardware",
        "marys-antiques",
        "line",
    ]) {
        assert!(text.contains(word), "{word}: {output}");
    }
}

#[test]
fn the_demo_needs_no_directory() {
    let directory = tempfile::tempdir().unwrap();
    Crawl::new(["demo"]).directory(directory.path()).start().wait(Duration::from_mins(1)).expect(0);
}
