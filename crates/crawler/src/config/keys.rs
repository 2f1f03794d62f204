//! Every key of the settings, with its option and its environment variable.

use std::collections::BTreeMap;

use toml::Value;

use super::settings::Settings;

/// One key of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Section and name, `pace.delay`.
    pub path: &'static str,
    /// Long option without its dashes, `delay`; none for keys that only the TOML has.
    pub option: Option<&'static str>,
    kind: Kind,
}

/// How the text of an environment variable becomes a TOML value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Switch,
    /// Blanks separate the entries; none of them ever needs one.
    List,
    /// Blanks or commas separate the entries.
    Words,
    /// Tables: no text form.
    Tables,
}

const fn key(path: &'static str, option: &'static str, kind: Kind) -> Key {
    Key { path, option: Some(option), kind }
}

const fn toml_only(path: &'static str, kind: Kind) -> Key {
    Key { path, option: None, kind }
}

/// Every key, in the order of `configs/polite.toml`.
pub const KEYS: &[Key] = &[
    key("seed", "seed", Kind::Text),
    key("out", "out", Kind::Text),
    key("agent.product", "agent", Kind::Text),
    key("agent.contact", "contact", Kind::List),
    toml_only("agent.aliases", Kind::List),
    key("pace.delay", "delay", Kind::Text),
    key("pace.max_delay", "max-delay", Kind::Text),
    key("pace.adaptive", "adaptive", Kind::Number),
    key("pace.max_crawl_delay", "max-crawl-delay", Kind::Text),
    toml_only("pace.max_wait", Kind::Text),
    toml_only("pace.max_backoff", Kind::Text),
    key("pace.concurrency", "concurrency", Kind::Number),
    key("pace.groups", "groups", Kind::Text),
    key("pace.per_ip", "per-ip", Kind::Switch),
    key("pace.max_rate", "max-rate", Kind::Text),
    key("pace.max_bandwidth", "max-bandwidth", Kind::Text),
    toml_only("pace.group", Kind::Tables),
    toml_only("pace.zone", Kind::Text),
    toml_only("pace.wishes", Kind::Tables),
    key("robots.dialect", "dialect", Kind::Text),
    toml_only("robots.on_forbidden", Kind::Text),
    toml_only("robots.on_later_denial", Kind::Text),
    key("consent.purpose", "purpose", Kind::Words),
    toml_only("consent.silence_allows", Kind::Words),
    toml_only("consent.ai_block_hint", Kind::Switch),
    key("scope.mode", "scope", Kind::Text),
    key("scope.include", "include", Kind::List),
    key("scope.exclude", "exclude", Kind::List),
    key("scope.resources", "resources", Kind::Switch),
    key("scope.resource_hosts", "resource-hosts", Kind::Text),
    key("scope.types", "types", Kind::Words),
    key("scope.sitemaps", "sitemaps", Kind::Switch),
    key("scope.follow_moved_seeds", "follow-moved-seeds", Kind::Switch),
    key("limits.max_pages", "max-pages", Kind::Text),
    key("limits.max_pages_per_host", "max-pages-per-host", Kind::Text),
    key("limits.max_resources", "max-resources", Kind::Text),
    key("limits.max_depth", "max-depth", Kind::Text),
    key("limits.max_time", "max-time", Kind::Text),
    key("limits.max_bytes", "max-bytes", Kind::Text),
    key("limits.max_body", "max-body", Kind::Text),
    toml_only("limits.max_media", Kind::Text),
    toml_only("limits.max_header_bytes", Kind::Text),
    toml_only("limits.max_header_count", Kind::Number),
    toml_only("limits.max_robots", Kind::Text),
    toml_only("limits.max_redirects", Kind::Number),
    toml_only("limits.max_url_length", Kind::Number),
    toml_only("limits.max_links_per_page", Kind::Number),
    toml_only("limits.origin_cache", Kind::Text),
    toml_only("traps.depth", Kind::Text),
    toml_only("traps.segments", Kind::Text),
    toml_only("traps.repeats", Kind::Text),
    toml_only("traps.urls_per_host", Kind::Text),
    toml_only("traps.hosts_per_domain", Kind::Text),
    toml_only("traps.hosts_per_page", Kind::Text),
    toml_only("traps.query_variants", Kind::Text),
    toml_only("traps.shape_variants", Kind::Text),
    toml_only("traps.same_pages", Kind::Text),
    key("costly.action", "costly", Kind::Text),
    toml_only("costly.session", Kind::Text),
    toml_only("costly.directory", Kind::Text),
    toml_only("costly.classes", Kind::Tables),
    toml_only("costly.kinds", Kind::Tables),
    toml_only("costly.hosts", Kind::Tables),
    key("walls.action", "walls", Kind::Text),
    key("fetch.timeout", "timeout", Kind::Text),
    toml_only("fetch.connect_timeout", Kind::Text),
    toml_only("fetch.dns_timeout", Kind::Text),
    toml_only("fetch.idle_timeout", Kind::Text),
    toml_only("fetch.connection_life", Kind::Text),
    key("fetch.retries", "retries", Kind::Number),
    toml_only("fetch.local_patience", Kind::Text),
    key("fetch.resolve", "resolve", Kind::List),
    key("fetch.resolve_file", "resolve-file", Kind::Text),
    key("fetch.allow_net", "allow-net", Kind::List),
    toml_only("fetch.dns", Kind::List),
    toml_only("page.href_bytes", Kind::Text),
    toml_only("page.link_bytes", Kind::Text),
    toml_only("page.anchor_bytes", Kind::Text),
    toml_only("page.text_bytes", Kind::Text),
    toml_only("page.title_bytes", Kind::Text),
    toml_only("page.meta_bytes", Kind::Text),
    toml_only("page.metas", Kind::Number),
    toml_only("page.meta_value_bytes", Kind::Text),
    toml_only("page.json_ld_bytes", Kind::Text),
    toml_only("page.json_ld_block_bytes", Kind::Text),
    toml_only("page.description_bytes", Kind::Text),
    toml_only("page.keywords_bytes", Kind::Text),
    toml_only("page.header_bytes", Kind::Text),
    toml_only("page.reference_bytes", Kind::Text),
    toml_only("page.tree_nodes", Kind::Number),
    toml_only("page.tree_depth", Kind::Number),
    toml_only("page.tree_time", Kind::Text),
    toml_only("page.field_values", Kind::Number),
    toml_only("page.field_bytes", Kind::Text),
    toml_only("page.fields_bytes", Kind::Text),
    toml_only("sitemap.max_body", Kind::Text),
    toml_only("sitemap.urls", Kind::Number),
    toml_only("sitemap.value_bytes", Kind::Text),
    toml_only("sitemap.elements", Kind::Number),
    toml_only("sitemap.nesting", Kind::Number),
    toml_only("sitemap.per_host", Kind::Number),
    key("warc.enabled", "warc", Kind::Switch),
    toml_only("warc.max_file_size", Kind::Text),
    toml_only("warc.dedup", Kind::Text),
    key("index.enabled", "index", Kind::Switch),
    key("ledger.level", "ledger", Kind::Text),
    toml_only("extract", Kind::Tables),
];

/// Keys that name files outside of a crawl's directory, besides seed file and directory, which a stored crawl doesn't read. They count
/// from the command line, the environment or a file that the user names, and not from the `crawl.toml` of a directory, which may
/// come from somebody else. The same holds for every key that names a program, a secret or a place to write to.
pub(super) const OUTSIDE: [&str; 3] = ["fetch.resolve_file", "warc.dedup", "costly.directory"];

/// Keys of one `[[extract]]` table.
pub(super) const EXTRACT_KEYS: [&str; 4] = ["name", "selector", "attribute", "all"];

impl Key {
    /// Finds a key by its path.
    pub fn by_path(path: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.path == path)
    }

    /// Returns the name without the section, `delay`.
    pub fn leaf(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// Returns the environment variable, `CRAWL_MAX_DELAY` for `--max-delay`; none for keys without an option.
    pub fn variable(&self) -> Option<String> {
        self.option.map(|option| format!("CRAWL_{}", option.replace('-', "_").to_ascii_uppercase()))
    }

    /// Turns the text of a variable into the value that the TOML would hold; what doesn't fit stays a text.
    pub(super) fn value(&self, text: &str) -> Value {
        let text = text.trim();
        match self.kind {
            Kind::Text | Kind::Tables => Value::from(text),
            Kind::Number => {
                let whole = text.parse::<i64>().map(Value::from);
                whole.or_else(|_| text.parse::<f64>().map(Value::from)).unwrap_or_else(|_| Value::from(text))
            }
            Kind::Switch => match text {
                "true" | "yes" | "1" => Value::from(true),
                "false" | "no" | "0" => Value::from(false),
                _ => Value::from(text),
            },
            Kind::List => Value::Array(text.split_whitespace().map(Value::from).collect()),
            Kind::Words => {
                let words = text.split(|c: char| c == ',' || c.is_whitespace());
                Value::Array(words.filter(|word| !word.is_empty()).map(Value::from).collect())
            }
        }
    }
}

/// Returns every key's value in its text form, as the TOML would hold it.
pub(super) fn flat(settings: &Settings) -> BTreeMap<&'static str, Value> {
    let whole = Value::try_from(settings).unwrap_or_else(|_| Value::Table(toml::Table::new()));
    let at = |path: &str| path.split('.').try_fold(&whole, |value, part| value.get(part)).cloned();
    KEYS.iter().filter_map(|key| Some((key.path, at(key.path)?))).collect()
}

/// Builds the table that holds these values.
pub(super) fn table<'a>(values: impl IntoIterator<Item = (&'a str, Value)>) -> toml::Table {
    let mut whole = toml::Table::new();
    for (path, value) in values {
        match path.split_once('.') {
            None => drop(whole.insert(path.to_owned(), value)),
            Some((section, leaf)) => {
                let section = whole.entry(section).or_insert_with(|| Value::Table(toml::Table::new()));
                if let Value::Table(section) = section {
                    section.insert(leaf.to_owned(), value);
                }
            }
        }
    }
    whole
}

/// Finds the known name that a misspelt one was probably meant to be.
pub(super) fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.replace('-', "_").to_ascii_lowercase();
    let near = |name: &str| strsim::jaro_winkler(&wrong, name);
    known
        .into_iter()
        .map(|name| (near(name), name))
        .filter(|(near, _)| *near >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(table: &toml::Table, prefix: &str, into: &mut Vec<String>) {
        for (name, value) in table {
            match value {
                Value::Table(inner) if Key::by_path(&format!("{prefix}{name}")).is_none() => {
                    paths(inner, &format!("{prefix}{name}."), into);
                }
                _ => into.push(format!("{prefix}{name}")),
            }
        }
    }

    #[test]
    fn the_list_of_keys_is_the_list_of_settings() {
        let mut in_code = Vec::new();
        paths(&toml::Table::try_from(Settings::default()).unwrap(), "", &mut in_code);
        let mut listed: Vec<_> = KEYS.iter().map(|key| key.path.to_owned()).collect();
        in_code.sort();
        listed.sort();
        assert_eq!(in_code, listed);
    }

    #[test]
    fn keys_that_lead_out_of_the_directory_are_keys() {
        for path in OUTSIDE {
            assert!(Key::by_path(path).is_some(), "{path}");
        }
    }

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        let leaves = || KEYS.iter().map(Key::leaf);
        assert_eq!(nearest("dely", leaves()), Some("delay"));
        assert_eq!(nearest("max_page", leaves()), Some("max_pages"));
        assert_eq!(nearest("max-crawl-dealy", leaves()), Some("max_crawl_delay"));
        assert_eq!(nearest("zzz", leaves()), None);
    }

    #[test]
    fn a_variable_has_the_name_of_the_option() {
        assert_eq!(Key::by_path("pace.max_delay").unwrap().variable().unwrap(), "CRAWL_MAX_DELAY");
        assert_eq!(Key::by_path("robots.on_forbidden").unwrap().variable(), None);
    }
}
