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
        "  User-Agent: Suzy-Spider",
        "Try next:",
    ]) {
        assert!(text.contains(word), "{word}: {output}");
    }
    assert!(!text.contains("all URLs it found"), "details are for -v: {output}");
    // Table 9-4: Nosy-Bot obeys the group of "*".
    let row = |path: &str| {
        text.lines().find(|line| line.trim_start().starts_with(&format!("{path} "))).unwrap_or_default()
    };
    assert!(row("/private/suzy-stuff/taxes.txt").contains("fetched (line"), "{output}");
    assert_eq!(row("/private/payroll.xls").matches("skipped (line").count(), 3, "{output}");
}

#[test]
fn the_demo_needs_no_directory() {
    let directory = tempfile::tempdir().unwrap();
    let output = Crawl::new(["demo", "-v"]).directory(directory.path()).start().wait(Duration::from_mins(1));
    let text = &output.expect(0).stdout;
    assert_eq!(text.matches(": all URLs it found\n").count(), 6, "{output}");
}
