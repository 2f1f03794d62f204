//! What users of other programs type: options that have another name here, or don't exist on purpose.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Options of wget, curl, Scrapy, Heritrix and Browsertrix, by what they are called here, or why there is none.
const HINTS: &[(&[&str], &str)] = &[
    (&["--depth", "--level", "-l", "--maxDepth"], "use --max-depth N: maximum links from a seed"),
    (
        &["--user-agent", "-U", "-A", "--userAgent", "--userAgentSuffix"],
        "use --agent NAME/VERSION, and --contact URL|EMAIL: the User-Agent is made of both",
    ),
    (
        &["--wait", "-w", "--random-wait", "--pageExtraDelay", "--download-delay"],
        "use --delay DURATION, as in --delay 2s: minimum delay between requests to a host",
    ),
    (
        &["--max-size", "--quota", "-Q", "--sizeLimit"],
        "use --max-bytes SIZE for the whole crawl, or --max-body SIZE for one body",
    ),
    (&["--limit", "--pageLimit", "--max-urls"], "use --max-pages N, or --max-pages-per-host N"),
    (&["--timeLimit"], "use --max-time DURATION, as in --max-time 2h"),
    (&["--tries", "-t", "--maxPageRetries"], "use --retries N"),
    (&["--limit-rate"], "use --max-bandwidth SIZE: bytes per second over all hosts"),
    (
        &["--workers", "--threads", "-j"],
        "use --concurrency N: requests in flight over all hosts; one host always gets one at a time",
    ),
    (
        &["--url", "--urls", "--seeds", "--seedFile", "--urlFile", "--input-file", "-i"],
        "use --seed FILE, --seed URL, or `crawl URL...`",
    ),
    (&["--output", "--directory-prefix", "-P", "-O", "-d", "--collection", "--cwd"], "use --out DIR"),
    (
        &["--recursive", "-r", "--mirror", "-m"],
        "not needed: a crawl follows links; --max-depth 0 fetches only the seeds",
    ),
    (&["--scopeType", "--domains", "-D"], "use --scope host|domain|prefix|any"),
    (&["--span-hosts", "-H"], "use --scope domain or --scope any"),
    (&["--no-parent"], "use --scope prefix: only URLs below the paths of the seeds"),
    (&["--accept-regex", "--accept"], "use --include REGEX"),
    (&["--reject-regex", "--reject", "-R"], "use --exclude REGEX"),
    (&["--page-requisites", "-p"], "use --resources: images, scripts and style sheets as well"),
    (
        &[
            "--ignore-robots",
            "--no-robots",
            "--robots",
            "--robots-off",
            "-e",
            "--disable-robots",
            "--no-obey-robots",
        ],
        "there is no such option: this crawler always honours robots.txt; `crawl explain DIR URL` shows which line forbids a URL, and only \
         the site's owner can change it",
    ),
    (
        &["-o"],
        "use --out DIR for the crawl; `crawl export DIR -o FILE` and `crawl report DIR -o FILE` write files",
    ),
    (&["--format", "--to"], "`crawl export DIR --format FORMAT` writes the tables of a crawl"),
    (
        &["--proxy", "--proxyServer", "-x", "--preproxy", "--socks5"],
        "there is no such option: sites are requested directly, so that their owners see who asks",
    ),
    (
        &["--no-check-certificate", "--insecure", "-k"],
        "there is no such option: certificates are always checked; a host whose certificate isn't valid is recorded as an error",
    ),
];

/// How like a command a word must be.
const LIKE: f64 = 0.8;

/// Replaces clap's guess by the name of the option here; for a word that is neither URL nor command, names a similar command.
pub(crate) fn with_hint<'a>(mut error: clap::Error, commands: impl Iterator<Item = &'a str>) -> clap::Error {
    if error.kind() == ErrorKind::ValueValidation {
        if let (Some(ContextValue::String(place)), Some(ContextValue::String(typed))) =
            (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
            && place.starts_with("[URL]")
        {
            let near = commands.map(|name| (strsim::jaro(typed, name), name));
            let nearest = near.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(likeness, _)| *likeness > LIKE);
            if let Some((_, name)) = nearest {
                let hint = vec![StyledStr::from(format!("a similar command exists: `crawl {name}`"))];
                error.insert(ContextKind::Suggested, ContextValue::StyledStrs(hint));
            }
        }
        return error;
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return error };
    let typed = typed.split('=').next().unwrap_or(typed).to_owned();
    let Some((_, hint)) = HINTS.iter().find(|(names, _)| names.contains(&typed.as_str())) else {
        if typed.starts_with('-') {
            // That it may be a value makes sense of words alone.
            error.remove(ContextKind::Suggested);
        }
        return error;
    };
    error.remove(ContextKind::SuggestedArg);
    let hint = vec![StyledStr::from(*hint)];
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(hint));
    error
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn said(line: &str) -> String {
        let mut command = Cli::command();
        let error = command.try_get_matches_from_mut(line.split(' ').map(OsString::from)).unwrap_err();
        with_hint(error, command.get_subcommands().map(clap::Command::get_name)).to_string()
    }

    #[test]
    fn what_users_of_other_programs_type_is_answered_with_the_name_here() {
        for (line, expected) in [
            ("crawl --seed a --depth 3", "--max-depth N"),
            ("crawl --level=3", "--max-depth N"),
            ("crawl run --user-agent me", "--agent NAME/VERSION"),
            ("crawl --wait 1", "--delay DURATION"),
            ("crawl --max-size 3", "--max-body SIZE"),
            ("crawl --ignore-robots", "always honours robots.txt"),
            ("crawl -e robots=off", "always honours robots.txt"),
            ("crawl expo DIR", "a similar command exists: `crawl export`"),
            ("crawl plan -k", "certificates are always checked"),
            ("crawl http://a.test --proxy http://p.test:8080", "sites are requested directly"),
            ("crawl http://a.test -o x", "--out DIR"),
            ("crawl http://a.test --format csv", "`crawl export DIR --format FORMAT`"),
        ] {
            let text = said(line);
            assert!(text.contains("tip: ") && text.contains(expected), "{line}: {text}");
        }
        // Others keep clap's own guess.
        assert!(said("crawl --max-page 3").contains("--max-pages"));
        let unknown = said("crawl http://a.test --zebra");
        assert!(unknown.contains("'--zebra'") && !unknown.contains("tip:"), "{unknown}");
    }

    #[test]
    fn no_hint_is_for_an_option_that_exists() {
        for (names, _) in HINTS {
            for name in *names {
                let line = [
                    OsString::from("crawl"),
                    OsString::from("run"),
                    OsString::from(name),
                    OsString::from("1"),
                ];
                let error = Cli::command().try_get_matches_from(line).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnknownArgument, "{name}");
            }
        }
    }
}
