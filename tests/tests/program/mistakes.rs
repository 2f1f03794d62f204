//! Mistakes of newcomers, and the messages that answer them: what is wrong, where, and what to do.

use std::fs;

use tempfile::TempDir;
use whole_program::program::Crawl;
use whole_program::stored_crawl::unpack;

/// A command line, its exit code, and what its message has to say.
type Mistake = (&'static str, i32, &'static [&'static str]);

const USAGE: i32 = 2;
const CONFIG: i32 = 3;
const SEEDS: i32 = 4;
const STORAGE: i32 = 5;

/// In a directory with `crawl-data`, an empty one, and the files that they name. No line makes a request.
const MISTAKES: [Mistake; 84] = [
    // The first command.
    ("", USAGE, &["Usage: crawl --seed FILE --agent NAME/VERSION"]),
    ("example.org", USAGE, &["example.org", "no such command", "a URL begins with https:// or http://"]),
    ("https://example.org", USAGE, &["--agent", "not given", "--agent SuperRobot/1.0"]),
    ("--seed urls.txt", USAGE, &["--agent", "not given", "--agent SuperRobot/1.0"]),
    ("ftp://example.org/ --agent A/1.0", USAGE, &["ftp://example.org/", "begins with https:// or http://"]),
    ("stat crawl-data", USAGE, &["similar command", "crawl status"]),
    ("shows crawl-data", USAGE, &["similar command", "crawl show"]),
    ("help shows", USAGE, &["similar command", "crawl show"]),
    // Seeds.
    ("--seed missing.txt --agent A/1.0", SEEDS, &["missing.txt", "No such file"]),
    ("--seed none.txt --agent A/1.0", SEEDS, &["none.txt has no URL", "one http or https URL per line"]),
    ("--seed words.txt --agent A/1.0", SEEDS, &["line 1", "not a url", "one URL per line"]),
    ("--seed table.txt --agent A/1.0 --out crawl-data", USAGE, &["line 1", "CSV", "http://h.test/"]),
    ("--seed login.txt --agent A/1.0 --out crawl-data", USAGE, &["line 1", "password", "nobody logs in"]),
    ("--seed empty --agent A/1.0", SEEDS, &["empty is a directory", "one URL per line"]),
    // The name of the robot.
    ("--seed urls.txt --agent=", USAGE, &["--agent", "empty", "NAME/VERSION"]),
    ("--seed urls.txt --agent My_Röbot", USAGE, &["--agent", "'ö'", "only letters, digits"]),
    ("--seed urls.txt --agent A/1.0 --contact nobody", USAGE, &["--contact", "nobody", "name@domain"]),
    // Values.
    ("--seed urls.txt --agent A/1.0 --delay 1", USAGE, &["--delay", "isn't a duration", "10s"]),
    ("--seed urls.txt --agent A/1.0 --delay fast", USAGE, &["--delay", "fast", "isn't a duration"]),
    ("--seed urls.txt --agent A/1.0 --delay=-1s", USAGE, &["--delay", "-1s", "isn't a duration"]),
    ("--seed urls.txt --agent A/1.0 --max-pages ten", USAGE, &["--max-pages", "ten", "a number, or none"]),
    ("--seed urls.txt --agent A/1.0 --max-pages=-5", USAGE, &["--max-pages", "-5", "a number, or none"]),
    ("--seed urls.txt --agent A/1.0 --max-bytes 5q", USAGE, &["--max-bytes", "5q"]),
    ("--seed urls.txt --agent A/1.0 --exclude *.pdf", USAGE, &["--exclude", "*.pdf", r"\.pdf$"]),
    (
        "--seed urls.txt --agent A/1.0 --include [",
        USAGE,
        &["--include", "isn't a regular expression", "unclosed"],
    ),
    ("--seed urls.txt --agent A/1.0 --scope world", USAGE, &["--scope", "world", "host"]),
    ("--seed urls.txt --agent A/1.0 --dialect google", USAGE, &["--dialect", "google", "hardened"]),
    ("--seed urls.txt --agent A/1.0 --purpose everything", USAGE, &["everything", "search, archive"]),
    ("--seed urls.txt --agent A/1.0 --resolve foo", USAGE, &["--resolve", "foo", "HOST:ADDR"]),
    ("--seed urls.txt --agent A/1.0 --allow-net 10.0.0.0", USAGE, &["--allow-net", "10.0.0.0", "10.0.0.0/8"]),
    // Options of other programs, and options that don't exist on purpose.
    ("--seed urls.txt --agent A/1.0 --ignore-robots", USAGE, &["always honours robots.txt"]),
    ("--seed urls.txt --agent A/1.0 --insecure", USAGE, &["certificates are always checked"]),
    ("--seed urls.txt --agent A/1.0 --threads 8", USAGE, &["--concurrency N"]),
    ("--seed urls.txt --agent A/1.0 --depth 2", USAGE, &["--max-depth N"]),
    ("--seed urls.txt --user-agent X", USAGE, &["--agent NAME/VERSION", "--contact"]),
    ("--seed urls.txt --agent A/1.0 --wait 3", USAGE, &["--delay DURATION"]),
    ("--seed urls.txt --agent A/1.0 --proxy http://p:1", USAGE, &["--proxy", "no such option"]),
    ("--seed urls.txt --agent A/1.0 -o out", USAGE, &["--out DIR"]),
    ("--seed urls.txt --agent A/1.0 --format csv", USAGE, &["crawl export"]),
    // Places.
    ("--seed urls.txt --agent A/1.0", USAGE, &["crawl-data already has a crawl", "crawl resume crawl-data"]),
    ("--seed urls.txt --agent A/1.0 --out urls.txt", STORAGE, &["urls.txt", "can't create the directory"]),
    ("--seed urls.txt --agent A/1.0 --config missing.toml", CONFIG, &["missing.toml", "No such file"]),
    ("--seed urls.txt --agent A/1.0 --config value.toml", CONFIG, &["value.toml:2", "pace.delay", "10s"]),
    ("--seed urls.txt --agent A/1.0 --config key.toml", CONFIG, &["key.toml:2", "deley", "delay"]),
    ("--seed urls.txt --agent A/1.0 --config form.toml", CONFIG, &["form.toml:1"]),
    // Continue.
    ("resume", USAGE, &["<DIR>", "not provided"]),
    ("resume empty", USAGE, &["empty has no crawl", "--out empty"]),
    ("resume missing", USAGE, &["missing has no crawl", "--out missing"]),
    ("resume crawl-data --agent B/1.0", USAGE, &["--agent"]),
    ("recrawl crawl-data --older-than yesterday", USAGE, &["--older-than", "yesterday", "isn't a duration"]),
    ("recrawl empty", USAGE, &["empty has no crawl"]),
    ("stop missing", USAGE, &["missing has no crawl"]),
    ("pause crawl-data", USAGE, &["no crawl runs in crawl-data", "crawl resume crawl-data"]),
    ("set crawl-data delay=5s", USAGE, &["no crawl runs in crawl-data"]),
    // Look.
    ("show", USAGE, &["<DIR>", "not provided"]),
    ("show missing", USAGE, &["missing has no crawl"]),
    ("show empty", USAGE, &["empty has no crawl"]),
    ("show crawl-data page", USAGE, &["needs a URL"]),
    ("show crawl-data page http://nobody.test/", USAGE, &["no row", "crawl explain crawl-data"]),
    ("show crawl-data tables", USAGE, &["tables", "pages, links, hosts"]),
    ("show crawl-data robots nobody.test", USAGE, &["nobody.test", "`crawl show crawl-data robots`"]),
    ("show crawl-data pages --where status", USAGE, &["--where", "status"]),
    ("show crawl-data pages --where colour=1", USAGE, &["character 1", "no column \"colour\"", "status"]),
    ("show crawl-data pages --where url~'('", USAGE, &["character 5", "isn't a regular expression"]),
    ("show crawl-data pages --columns url,colour", USAGE, &["--columns", "no column \"colour\""]),
    ("show crawl-data pages --sort colour", USAGE, &["--sort", "no column \"colour\""]),
    ("show crawl-data pages --limit all", USAGE, &["--limit", "a number of rows", "without --limit all"]),
    ("explain crawl-data", USAGE, &["<URL>", "not provided"]),
    ("explain crawl-data nowhere", USAGE, &["nowhere", "neither https:// nor http://"]),
    ("explain http://a.test/ http://b.test/", USAGE, &["directory of a crawl", "crawl explain DIR URL"]),
    ("search crawl-data \"open", USAGE, &["query", "isn't closed"]),
    ("search empty lamp", USAGE, &["empty has no crawl"]),
    ("audit crawl-data --head zzz", USAGE, &["--head", "hex digits"]),
    ("diff crawl-data crawl-data", USAGE, &["crawl-data is given twice"]),
    ("report crawl-data --host nobody.test", USAGE, &["no host nobody.test", "crawl show crawl-data hosts"]),
    ("robots check robots.txt", USAGE, &["--agent <NAME/VERSION>", "not provided"]),
    ("robots log crawl-data nobody.test", USAGE, &["nobody.test", "`crawl show crawl-data robots`"]),
    // Take away, and remove.
    ("export crawl-data", USAGE, &["--format", "not provided"]),
    ("export crawl-data --format excel", USAGE, &["excel", "csv, jsonl, parquet"]),
    ("export crawl-data --format csv --table page -o x.csv", USAGE, &["page", "'pages'"]),
    ("forget crawl-data", USAGE, &["<URL|HOST>", "not provided"]),
    ("forget crawl-data --regex (", USAGE, &["--regex", "isn't a regular expression", "unclosed group"]),
    ("repair crawl-data --out crawl-data", USAGE, &["crawl-data already exists", "new directory"]),
    ("cluster status mysql://x/y", USAGE, &["mysql://x/y", "postgres://USER@HOST/DATABASE"]),
];

#[test]
fn a_newcomers_mistakes_are_answered_with_what_where_and_what_to_do() {
    let place = TempDir::new().expect("a directory");
    unpack(5, place.path());
    let write = |name: &str, text: &str| fs::write(place.path().join(name), text).expect("it can be written");
    fs::create_dir(place.path().join("empty")).expect("it can be made");
    write("urls.txt", "http://h.test/\n");
    write("none.txt", "");
    write("words.txt", "not a url\n");
    write("table.txt", "http://h.test/,Home\n");
    write("login.txt", "http://ann:secret@h.test/\n");
    write("robots.txt", "User-agent: *\nDisallow:\n");
    write("value.toml", "[pace]\ndelay = 1\n");
    write("key.toml", "[pace]\ndeley = \"1s\"\n");
    write("form.toml", "x = = 1\n");
    let mut wrong = Vec::new();
    for (line, code, words) in MISTAKES {
        let output = Crawl::new(line.split_whitespace()).directory(place.path()).run();
        let text = &output.stderr;
        let mut missing: Vec<&str> = words.iter().copied().filter(|words| !text.contains(words)).collect();
        // Texts that are for programmers, and an advice that never helps.
        missing.extend(
            ["panicked", "Some(", "Error {", "digit found in string", "to pass '-"]
                .into_iter()
                .filter(|words| text.contains(words)),
        );
        if output.code != Some(code) || !missing.is_empty() {
            wrong.push(format!("crawl {line}: {missing:?}\n{output}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), MISTAKES.len(), wrong.join("\n"));
}
