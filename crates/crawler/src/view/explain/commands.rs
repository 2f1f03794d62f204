//! The commands of an explanation, for a crawl on many machines: those for a directory don't exist there, or have other options.

/// Options of `crawl cluster resume`.
const OF_RESUME: [&str; 7] = [
    "--max-pages",
    "--max-resources",
    "--max-time",
    "--max-bytes",
    "--max-rate",
    "--max-bandwidth",
    "--retry-crashed",
];

/// Ends what is said of a setting that only the file has.
const IN_FILE: &str = " in DIR/crawl.toml, then ";

/// The same advice for a crawl on many machines. Settings that its workers can't take over are for a new crawl.
pub(super) fn in_cluster(advice: &str) -> String {
    let (mut text, mut rest) = (String::new(), advice);
    while let Some((before, from)) = rest.split_once("`crawl ") {
        let Some((command, after)) = from.split_once('`') else { break };
        text.push_str(before);
        rest = after;
        if let Some(options) = command.strip_prefix("recrawl DIR --older-than 0s") {
            match options.trim() {
                "" => text.push_str("`crawl cluster recrawl DATABASE --older-than 0s`"),
                options => text.extend(["a new crawl: `", options, "`"]),
            }
        } else if let Some(options) = command.strip_prefix("resume DIR") {
            resume(&mut text, options.trim(), after);
        } else if let Some((name @ ("show" | "explain" | "index"), what)) = command.split_once(" DIR") {
            let output = if name == "index" { " -o INDEX" } else { "" };
            text.extend(["`crawl ", name, " --cluster DATABASE", what, output, "`"]);
        } else {
            text.extend(["`crawl ", command, "`"]);
        }
    }
    text + rest
}

/// Adds what takes the place of `crawl resume` with these options; `after` is what the advice says of it.
fn resume(text: &mut String, options: &str, after: &str) {
    let is_known = |option: Option<&str>| option.is_some_and(|option| OF_RESUME.contains(&option));
    let named =
        after.strip_prefix(" with ").and_then(|words| words.split(' ').find(|word| word.starts_with("--")));
    if let Some(setting) = text.strip_suffix(IN_FILE) {
        *text = format!("a new crawl with {setting}");
    } else if options.is_empty() && (named.is_none() || is_known(named)) {
        text.push_str("`crawl cluster resume DATABASE`");
    } else if options.is_empty() {
        text.push_str("a new crawl");
    } else if is_known(options.split(' ').next()) {
        text.extend(["`crawl cluster resume DATABASE ", options, "`"]);
    } else {
        text.extend(["a new crawl: `", options, "`"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_commands_of_its_own() {
        for (of_directory, of_cluster) in [
            (
                "a page at this URL; `crawl recrawl DIR --older-than 0s` fetches it again",
                "a page at this URL; `crawl cluster recrawl DATABASE --older-than 0s` fetches it again",
            ),
            ("`crawl resume DIR` continues the crawl", "`crawl cluster resume DATABASE` continues the crawl"),
            (
                "`crawl resume DIR` with --max-pages above 100",
                "`crawl cluster resume DATABASE` with --max-pages above 100",
            ),
            (
                "`crawl resume DIR` with --max-pages-per-host above 5",
                "a new crawl with --max-pages-per-host above 5",
            ),
            (
                "`crawl resume DIR` with a higher --max-crawl-delay",
                "a new crawl with a higher --max-crawl-delay",
            ),
            ("`crawl resume DIR --max-depth 3`", "a new crawl: `--max-depth 3`"),
            (
                "a higher limits.max_url_length in DIR/crawl.toml, then `crawl resume DIR`",
                "a new crawl with a higher limits.max_url_length",
            ),
            (
                "`crawl resume DIR --retry-crashed` tries it again",
                "`crawl cluster resume DATABASE --retry-crashed` tries it again",
            ),
            (
                "nothing; see `crawl explain DIR http://a.test/` for the target",
                "nothing; see `crawl explain --cluster DATABASE http://a.test/` for the target",
            ),
            (
                "see `crawl show DIR ledger`; `crawl search`",
                "see `crawl show --cluster DATABASE ledger`; `crawl search`",
            ),
            (
                "for its text: `crawl index DIR` reads it again",
                "for its text: `crawl index --cluster DATABASE -o INDEX` reads it again",
            ),
            (
                "the site: a robots.txt that allows it, then a new crawl",
                "the site: a robots.txt that allows it, then a new crawl",
            ),
        ] {
            assert_eq!(in_cluster(of_directory), of_cluster);
        }
    }
}
