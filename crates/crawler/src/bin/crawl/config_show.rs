//! `crawl config show`: the effective settings and where each comes from.

use clap::Args;
use crawler::config::{Key, Loaded, ValueSource};

use crate::exit;
use crate::run::RunArgs;
use crate::terminal::Console;

/// Options of `config show`: those of a crawl.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Prints TOML: the output can be saved and used with --config.

Example:
  crawl config show --config study.toml --delay 2s")]
pub(crate) struct ConfigShowArgs {
    #[command(flatten)]
    run: RunArgs,
}

/// Prints the settings.
pub(crate) fn run(args: &ConfigShowArgs, console: Console) -> anyhow::Result<i32> {
    let loaded = args.run.load()?;
    for warning in &loaded.warnings {
        console.warning(warning);
    }
    let text = if console.json { as_json(&loaded) } else { as_toml(&loaded) };
    exit::print(text.as_bytes())
}

fn as_json(loaded: &Loaded) -> String {
    let line = |(key, _, origin): (&Key, String, ValueSource)| {
        let value = loaded.value(key.path);
        let row = serde_json::json!({"v": 1, "key": key.path, "value": value, "origin": origin.to_string()});
        format!("{row}\n")
    };
    loaded.entries().into_iter().map(line).collect()
}

fn as_toml(loaded: &Loaded) -> String {
    let mut lines = Vec::new();
    let mut section = "";
    for (key, value, origin) in loaded.entries() {
        if key.path == "extract" {
            if !loaded.settings.extract.is_empty() {
                lines.push(format!("\n# {origin}\n{}", loaded.extract_toml().trim_end()));
            }
            continue;
        }
        let of = key.path.split_once('.').map_or("", |(section, _)| section);
        if of != section {
            section = of;
            lines.push(format!("\n[{section}]"));
        }
        let setting = format!("{} = {value}", key.leaf());
        lines.push(format!("{setting:<40} # {origin}"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use crawler::config::{CliOverrides, load};

    use super::*;

    #[test]
    fn what_is_shown_can_be_loaded() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.toml");
        std::fs::write(&file, "delay = \"7s\"\nexclude = ['\\.(png|gif)$', \"'\"]\n[[extract]]\nname = \"price\"\nselector = \"td\"\n").unwrap();
        let mut overrides = CliOverrides::default();
        overrides.set("pace.concurrency", 9);
        let loaded = load(&overrides, [], Some(&file)).unwrap();
        let shown = as_toml(&loaded);
        assert!(shown.contains("delay = \"7s\"") && shown.contains("# file\n"), "{shown}");
        assert!(shown.contains("concurrency = 9") && shown.contains("# command line\n"), "{shown}");
        std::fs::write(&file, shown).unwrap();
        assert_eq!(load(&CliOverrides::default(), [], Some(&file)).unwrap().settings, loaded.settings);
        for line in as_json(&loaded).lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(row["v"], 1);
            assert!(row["key"].is_string() && !row["value"].is_null() && row["origin"].is_string());
        }
    }
}
