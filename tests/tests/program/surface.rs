//! Help, completions, manual page, settings: what every command line program owes its users.

use whole_program::program::Crawl;

#[test]
fn help_and_version_go_to_standard_output() {
    for words in [&["--help"][..], &["-h"], &["run", "--help"], &["show", "--help"]] {
        let output = Crawl::new(words).run();
        assert!(output.expect(0).stdout.contains("Usage"), "{words:?}: {output}");
        assert!(output.stderr.is_empty(), "{words:?}: {output}");
    }
    let version = Crawl::new(["--version"]).run();
    assert!(version.expect(0).stdout.starts_with("crawl "), "{version}");
}

#[test]
fn help_names_every_option_of_the_contract() {
    let help = Crawl::new(["run", "--help"]).run().expect(0).stdout.clone();
    for option in [
        "--seed",
        "--agent",
        "--out",
        "--contact",
        "--delay",
        "--max-delay",
        "--adaptive",
        "--concurrency",
        "--scope",
        "--include",
        "--exclude",
        "--max-pages",
        "--max-pages-per-host",
        "--max-depth",
        "--max-time",
        "--max-bytes",
        "--max-body",
        "--timeout",
        "--retries",
        "--dialect",
        "--max-crawl-delay",
        "--warc",
        "--no-warc",
        "--resolve",
        "--resolve-file",
        "--allow-net",
        "--groups",
        "--per-ip",
        "--max-rate",
        "--max-bandwidth",
        "--config",
        "--resources",
    ] {
        assert!(help.contains(option), "{option}");
    }
}

#[test]
fn completions_are_written_for_each_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let output = Crawl::new(["completions", shell]).run();
        assert!(output.expect(0).stdout.contains("max-pages-per-host"), "{shell}");
    }
    Crawl::new(["completions", "no-such-shell"]).run().expect(2);
}

#[test]
fn the_manual_page_is_roff() {
    let output = Crawl::new(["man"]).run();
    let text = &output.expect(0).stdout;
    assert!(text.contains(".TH") && text.contains("max\\-pages"), "{text}");
}

#[test]
fn config_show_names_the_origin_of_each_key() {
    let output = Crawl::new(["config", "show"]).env("CRAWL_DELAY", "4s").run();
    let text = &output.expect(0).stdout;
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with("delay ="))
        .unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("4s") && line.to_lowercase().contains("env"), "{line}");
    assert!(text.to_lowercase().contains("default"), "{text}");
}
