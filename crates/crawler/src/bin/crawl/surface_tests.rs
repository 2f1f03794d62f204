//! Holds help, settings and `docs/cli.md` together.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory};
use crawler::config::{CliOverrides, KEYS, load};

use crate::cli::{Cli, parse};
use crate::exit;

const DOC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");

/// Options of `run` that aren't settings: the file of settings, and the opposite of a switch.
const NO_SETTINGS: [&str; 5] = ["config", "no-warc", "no-index", "serve", "token-file"];

fn built() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// Every command that does something, by its name as typed.
fn commands() -> BTreeMap<String, Command> {
    fn walk(command: &Command, name: &str, into: &mut BTreeMap<String, Command>) {
        if command.get_subcommands().next().is_none() {
            into.insert(name.to_owned(), command.clone());
        }
        for inner in command.get_subcommands() {
            walk(inner, &format!("{name} {}", inner.get_name()), into);
        }
    }
    let mut all = BTreeMap::new();
    walk(&built(), "crawl", &mut all);
    all
}

/// Long options of a command without those that every command takes.
fn options(command: &Command) -> BTreeSet<String> {
    let of_all: BTreeSet<_> =
        built().get_arguments().filter(|arg| arg.is_global_set()).map(|arg| arg.get_id().clone()).collect();
    let own = command.get_arguments().filter(|arg| !of_all.contains(arg.get_id()));
    own.filter_map(Arg::get_long)
        .filter(|name| !["help", "version"].contains(name))
        .map(|name| format!("--{name}"))
        .collect()
}

fn option(command: &Command, long: &str) -> Arg {
    command
        .get_arguments()
        .find(|arg| arg.get_long() == Some(long))
        .cloned()
        .unwrap_or_else(|| panic!("no --{long}"))
}

/// Returns the text after `[default: `.
fn stated_default(text: &str) -> Option<&str> {
    let (_, rest) = text.rsplit_once("[default: ")?;
    rest.split_once(']').map(|(stated, _)| stated)
}

#[test]
fn the_command_line_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_setting_with_an_option_is_in_help_with_its_default() {
    let run = &commands()["crawl run"];
    let defaults = load(&CliOverrides::default(), [], None).unwrap();
    for key in KEYS {
        let Some(long) = key.option else { continue };
        let help = option(run, long).get_help().unwrap().to_string();
        let stated = stated_default(&help).unwrap_or_default();
        let value = match defaults.value(key.path).unwrap() {
            toml::Value::String(text) => text,
            toml::Value::Float(number) => number.to_string(),
            toml::Value::Array(list) => {
                list.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        assert_eq!(stated, value, "--{long}");
    }
    let of_settings = KEYS.iter().filter_map(|key| key.option).chain(NO_SETTINGS);
    assert_eq!(options(run), of_settings.map(|long| format!("--{long}")).collect());
}

#[test]
fn the_bare_form_takes_what_run_takes() {
    assert_eq!(options(&built()), options(&commands()["crawl run"]));
    let mut resume = options(&commands()["crawl resume"]);
    // There is nothing yet that a new crawl could visit again.
    assert!(resume.remove("--revisit") && resume.remove("--retry-crashed"));
    assert!(resume.is_subset(&options(&built())));
}

#[test]
fn every_option_reaches_its_setting() {
    for key in KEYS {
        let Some(long) = key.option else { continue };
        let (value, expected) = match key.path {
            "scope.resources" | "scope.sitemaps" | "scope.follow_moved_seeds" | "pace.per_ip" => {
                (None, "true")
            }
            // The default is true.
            "warc.enabled" | "index.enabled" => continue,
            "seed" | "out" | "fetch.resolve_file" => (Some("some/file"), "some/file"),
            "agent.product" => (Some("SuperRobot/1.0"), "SuperRobot/1.0"),
            "agent.contact" => (Some("ann@example.org"), "ann@example.org"),
            "robots.dialect" => (Some("strictest"), "strictest"),
            "scope.mode" => (Some("prefix"), "prefix"),
            "scope.resource_hosts" | "pace.groups" => (Some("domain"), "domain"),
            "scope.types" => (Some("text/*"), "text/*"),
            "walls.action" => (Some("keep"), "keep"),
            "ledger.level" => (Some("full"), "full"),
            "scope.include" | "scope.exclude" => (Some("^a b$"), "^a b$"),
            "fetch.resolve" => (Some("a.test:127.0.0.1:80"), "a.test:127.0.0.1:80"),
            "consent.purpose" => (Some("tdm"), "tdm"),
            "costly.action" => (Some("budget"), "budget"),
            "fetch.allow_net" => (Some("10.0.0.0/8"), "10.0.0.0/8"),
            "pace.delay"
            | "pace.max_delay"
            | "pace.max_crawl_delay"
            | "limits.max_time"
            | "fetch.timeout" => (Some("7s"), "7s"),
            "limits.max_bytes" | "limits.max_body" | "pace.max_bandwidth" => (Some("7MiB"), "7MiB"),
            _ => (Some("7"), "7"),
        };
        let option = format!("--{long}");
        let line = ["crawl", &option].into_iter().chain(value).map(OsString::from);
        let cli = parse(line).unwrap();
        let overrides = cli.run.overrides();
        let set: Vec<_> = overrides.iter().collect();
        // Two names for one thing: each sets both.
        let many = if matches!(key.path, "pace.groups" | "pace.per_ip") { 2 } else { 1 };
        assert_eq!(set.len(), many, "{option}");
        let (_, set) = set.iter().find(|(path, _)| *path == key.path).unwrap();
        assert!(set.to_string().contains(expected), "{option}: {set}");
    }
}

#[test]
fn urls_stand_in_the_place_of_a_seed_file() {
    for line in [
        "crawl https://a.test http://b.test/x --agent B/1",
        "crawl run https://a.test http://b.test/x --agent B/1",
        "crawl --agent B/1 https://a.test http://b.test/x",
    ] {
        let cli = parse(line.split(' ').map(OsString::from)).unwrap();
        let run = match &cli.command {
            Some(crate::cli::Command::Run(run)) => run,
            _ => &cli.run,
        };
        let overrides = run.overrides();
        let seed = overrides.iter().find(|(path, _)| *path == "seed").unwrap().1.to_string();
        assert!(seed.contains("https://a.test http://b.test/x"), "{line}: {seed}");
    }
}

#[test]
fn the_last_of_warc_and_no_warc_counts() {
    for (line, expected) in [
        ("crawl --warc", Some("true")),
        ("crawl --no-warc", Some("false")),
        ("crawl --no-warc --warc", Some("true")),
        ("crawl --warc --no-warc", Some("false")),
        ("crawl --json", None),
    ] {
        let overrides = parse(line.split(' ').map(OsString::from)).unwrap().run.overrides();
        let value = overrides.iter().next().map(|(_, value)| value.to_string());
        assert_eq!(value.as_deref(), expected, "{line}");
    }
}

#[test]
fn a_wrong_line_is_a_usage_error() {
    for line in [
        "crawl --delay 10",
        "crawl --max-body 10K",
        "crawl --max-body 10",
        "crawl --max-bytes 1000000",
        "crawl --max-bandwidth 100000",
        "crawl --max-pages many",
        "crawl --scope world",
        "crawl --dialect rfc",
        "crawl --ignore-robots",
        "crawl --seed a --agent B/1 resume DIR",
        "crawl nonsense",
        "crawl a.test --agent B/1",
        "crawl https://a.test --seed FILE --agent B/1",
        "crawl resume",
        "crawl resume DIR --agent B/1",
        "crawl export DIR",
        "crawl -q -v",
    ] {
        assert_eq!(parse(line.split(' ').map(OsString::from)).err(), Some(exit::USAGE), "{line}");
    }
    for line in [
        "crawl --help",
        "crawl -h",
        "crawl --version",
        "crawl resume --help",
        "crawl config show --help",
        "crawl help",
        "crawl help config show",
    ] {
        assert_eq!(parse(line.split(' ').map(OsString::from)).err(), Some(exit::COMPLETE), "{line}");
    }
}

/// Reads `docs/cli.md`: heading of a command to the rows of its table, option to row.
fn documented() -> BTreeMap<String, BTreeMap<String, String>> {
    let text = std::fs::read_to_string(DOC).unwrap();
    let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut section = String::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.replace('`', "");
            sections.insert(section.clone(), BTreeMap::new());
        }
        // The first cell alone: others may name options of any command.
        let cell = line.strip_prefix("| `").and_then(|row| row.split('|').next());
        let row = cell.map(|cell| cell.split('`'));
        let code = row.and_then(|mut pieces| pieces.find(|piece| piece.starts_with("--")));
        let option = code.and_then(|code| code.split(' ').next());
        if let Some(option) = option {
            sections.entry(section.clone()).or_default().insert(option.to_owned(), line.to_owned());
        }
    }
    sections
}

/// The commands of `crawl` in the compose file, one to a line as JSON.
#[cfg(feature = "cluster")]
#[test]
fn the_compose_file_gives_commands_that_are_accepted() {
    let file = include_str!("../../../../../packaging/compose.yaml");
    let lines = file.lines().filter_map(|line| line.trim().strip_prefix("command: "));
    let commands: Vec<Vec<String>> = lines.map(|line| serde_json::from_str(line).expect("a list")).collect();
    let ours: Vec<_> = commands.iter().filter(|words| words[0] != "postgres").collect();
    assert_eq!(ours.len(), 4, "init, status and two workers");
    for words in ours {
        let given = std::iter::once("crawl").chain(words.iter().map(String::as_str));
        let read = built().try_get_matches_from(given);
        assert!(read.is_ok(), "{words:?}: {:?}", read.err());
    }
}

#[test]
fn the_document_holds_every_command_and_option_and_no_other() {
    let documented = documented();
    for (name, command) in commands() {
        // `config show` takes the options of `run`, and its section says so.
        let section = if name == "crawl config show" { "crawl run" } else { &name };
        let rows = documented.get(section).unwrap_or_else(|| panic!("docs/cli.md has no section {name:?}"));
        let mut own = options(&command);
        if name == "crawl plan" || name == "crawl cluster init" {
            // They take the options of `run` as well, and their sections say so.
            let of_run = options(&commands()["crawl run"]);
            assert!(of_run.is_subset(&own));
            own = own.difference(&of_run).cloned().collect();
        }
        if name == "crawl recrawl" {
            // It takes the options of `resume` but for --revisit and --retry-crashed, and its section says so.
            let mut of_resume = options(&commands()["crawl resume"]);
            assert!(of_resume.remove("--revisit") && of_resume.remove("--retry-crashed"));
            assert!(of_resume.is_subset(&own));
            own = own.difference(&of_resume).cloned().collect();
        }
        assert_eq!(rows.keys().cloned().collect::<BTreeSet<_>>(), own, "{name}");
        for (long, row) in rows {
            let help = option(&command, &long[2..]).get_help().map(ToString::to_string).unwrap_or_default();
            let stated = stated_default(&help).unwrap_or_default();
            assert!(
                stated.is_empty() || row.contains(&format!("| {stated} |")),
                "{name} {long}: default {stated:?} isn't in {row:?}"
            );
        }
    }
    let of_all = built()
        .get_arguments()
        .filter(|arg| arg.is_global_set())
        .filter_map(Arg::get_long)
        .map(|name| format!("--{name}"))
        .collect::<BTreeSet<_>>();
    assert_eq!(documented["Every command"].keys().cloned().collect::<BTreeSet<_>>(), of_all);
    let commands: BTreeSet<_> = commands().into_keys().collect();
    let stated: BTreeSet<_> = documented.into_keys().filter(|name| name.starts_with("crawl ")).collect();
    assert_eq!(stated, commands);
}

#[test]
fn exit_codes_are_documented_the_same_everywhere() {
    let codes = [
        exit::COMPLETE,
        exit::UNEXPECTED,
        exit::USAGE,
        exit::CONFIG,
        exit::NO_SEED,
        exit::STORAGE,
        exit::LIMIT,
        exit::INTERRUPTED,
        exit::FORCED,
        exit::REMAINING,
        exit::VIOLATION,
    ];
    let text = std::fs::read_to_string(DOC).unwrap();
    let (_, table) = text.split_once("## Exit codes").unwrap();
    let number = |cell: &str| cell.trim().parse::<i32>().ok();
    let in_doc: Vec<_> = table.lines().filter_map(|row| number(row.split('|').nth(1)?)).collect();
    let help = Cli::command().render_long_help().to_string();
    let (_, list) = help.split_once("Exit codes:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let in_help: Vec<_> = lines.filter_map(|line| number(line.split_whitespace().next()?)).collect();
    assert_eq!(in_doc, codes);
    assert_eq!(in_help, codes);
}

#[test]
fn help_reads_as_it_was_approved() {
    for (name, command) in std::iter::once(("crawl".to_owned(), built())).chain(commands()) {
        let help = command.term_width(110).render_long_help().to_string();
        insta::assert_snapshot!(name.replace(' ', "-"), help);
    }
}
