//! Validates values beyond their types.

use std::collections::BTreeSet;
use std::time::Duration;

use meta::consent::Purpose;

use super::agent::Product;
use super::error::ConfigError;
use super::keys::nearest;
use super::origin::Places;
use super::settings::Settings;
use crate::costly::CostlyRules;
use crate::host_groups::{GroupBy, HostGroups};
use crate::scope::{PATTERN_BYTES, compile_regex, why_no_regex};
use crate::wanted::TypeGlobs;
use crate::wishes::{WishError, Wishes};
use page::extract::read_selector;

/// Longest duration taken; times stay far from the ends of the calendar.
const YEAR: Duration = Duration::from_hours(366 * 24);

/// Checks what types can't say; adds what is allowed but odd to the warnings.
pub(super) fn validate(
    settings: &Settings,
    places: &Places<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), ConfigError> {
    agent(settings, places, warnings)?;
    numbers(settings, places)?;
    groups(settings, places)?;
    wishes(settings, places)?;
    consent(settings, places, warnings)?;
    scope(settings, places)?;
    costly(settings, places)?;
    extract(settings, places)
}

fn agent(settings: &Settings, places: &Places<'_>, warnings: &mut Vec<String>) -> Result<(), ConfigError> {
    let agent = &settings.agent;
    if !agent.product.is_empty() {
        let product: Product =
            agent.product.parse().map_err(|error| places.refuse("agent.product", error))?;
        warnings.extend(product.warning());
    }
    for alias in &agent.aliases {
        let fits = alias.chars().all(|c| c.is_ascii_alphabetic() || c == '-' || c == '_');
        if alias.is_empty() || !fits {
            let what = format!(
                "{alias:?} isn't a product token: use only letters, - and _ (RFC 9309 section 2.2.1)"
            );
            return Err(places.refuse("agent.aliases", what));
        }
    }
    Ok(())
}

fn wishes(settings: &Settings, places: &Places<'_>) -> Result<(), ConfigError> {
    let zone = &settings.pace.zone;
    if jiff::tz::TimeZone::get(zone).is_err() {
        return Err(places.refuse("pace.zone", WishError::Zone(zone.clone())));
    }
    Wishes::read(&settings.pace.wishes, zone).map_err(|error| places.refuse("pace.wishes", error))?;
    Ok(())
}

fn consent(settings: &Settings, places: &Places<'_>, warnings: &mut Vec<String>) -> Result<(), ConfigError> {
    let consent = &settings.consent;
    if consent.purpose.is_empty() {
        let what = "name at least one purpose: search, archive, ai-input, ai-train, ai-train-images or tdm";
        return Err(places.refuse("consent.purpose", what));
    }
    if settings.warc.enabled && !consent.purpose.contains(&Purpose::Archive) {
        warnings.push(
            "bodies are stored in WARC files although --purpose doesn't include archive; pages that deny archiving are still not stored"
                .to_owned(),
        );
    }
    Ok(())
}

fn groups(settings: &Settings, places: &Places<'_>) -> Result<(), ConfigError> {
    let pace = &settings.pace;
    if pace.per_ip && pace.groups == GroupBy::Domain {
        return Err(places.refuse(
            "pace.per_ip",
            "pace.per_ip is another name for groups = \"address\", and pace.groups is \"domain\": remove one of them",
        ));
    }
    HostGroups::new(pace.group_by(), &pace.group).map_err(|error| places.refuse("pace.group", error))?;
    Ok(())
}

fn numbers(settings: &Settings, places: &Places<'_>) -> Result<(), ConfigError> {
    let (pace, limits, fetch) = (&settings.pace, &settings.limits, &settings.fetch);
    // What a site says of itself is never read less far than by default.
    let least = Settings::default();
    let durations = [
        ("pace.delay", pace.delay, Duration::ZERO),
        ("pace.max_delay", pace.max_delay, Duration::ZERO),
        ("pace.max_crawl_delay", pace.max_crawl_delay, Duration::ZERO),
        ("pace.max_wait", pace.max_wait, Duration::ZERO),
        ("pace.max_backoff", pace.max_backoff, Duration::ZERO),
        ("limits.max_time", limits.max_time.unwrap_or(YEAR), Duration::from_millis(1)),
        ("fetch.timeout", fetch.timeout, Duration::from_millis(1)),
        ("fetch.connect_timeout", fetch.connect_timeout, Duration::from_millis(1)),
        ("fetch.dns_timeout", fetch.dns_timeout, Duration::from_millis(1)),
        ("fetch.idle_timeout", fetch.idle_timeout, Duration::ZERO),
        ("fetch.connection_life", fetch.connection_life, Duration::ZERO),
        ("fetch.local_patience", fetch.local_patience, Duration::ZERO),
        ("page.tree_time", settings.page.tree_time, Duration::from_millis(1)),
    ];
    for (path, value, least) in durations {
        if value < least || value > YEAR {
            return Err(places.refuse(path, "must be between 1ms (0s for a delay) and 366d"));
        }
    }
    if !pace.adaptive.is_finite() || !(0.0..=1000.0).contains(&pace.adaptive) {
        return Err(places.refuse("pace.adaptive", "must be between 0 (off) and 1000"));
    }
    if pace.max_rate.is_some_and(|most| !(0.001..=1e6).contains(&most)) {
        return Err(places.refuse("pace.max_rate", "must be between 0.001 and 1000000"));
    }
    let counts = [
        ("pace.concurrency", pace.concurrency as u64, 1, 65_536),
        ("pace.max_bandwidth", pace.max_bandwidth.unwrap_or(1), 1, 1 << 40),
        ("limits.max_pages", limits.max_pages.unwrap_or(1), 1, u64::MAX),
        ("limits.max_pages_per_host", limits.max_pages_per_host.unwrap_or(1), 1, u64::MAX),
        ("limits.max_resources", limits.max_resources.unwrap_or(1), 1, u64::MAX),
        ("limits.max_bytes", limits.max_bytes.unwrap_or(1), 1, u64::MAX),
        ("limits.max_media", limits.max_media.unwrap_or(1), 1, 1 << 40),
        ("limits.max_body", limits.max_body, 1, 1 << 40),
        ("limits.max_header_bytes", limits.max_header_bytes, 1 << 10, 16 << 20),
        ("limits.max_header_count", limits.max_header_count as u64, 10, 10_000),
        ("limits.max_robots", limits.max_robots, least.limits.max_robots, 64 << 20),
        ("limits.max_redirects", u64::from(limits.max_redirects), 0, 100),
        ("limits.max_url_length", limits.max_url_length as u64, 64, 65_536),
        ("limits.max_links_per_page", limits.max_links_per_page as u64, 1, 10_000_000),
        ("limits.origin_cache", limits.origin_cache, 1 << 20, 1 << 40),
        ("fetch.retries", u64::from(fetch.retries), 0, 100),
        ("warc.max_file_size", settings.warc.max_file_size, 1 << 20, 1 << 50),
    ];
    let traps = &settings.traps;
    let budgets = [
        ("traps.depth", traps.depth.map(u64::from)),
        ("traps.segments", traps.segments.map(u64::from)),
        ("traps.repeats", traps.repeats.map(u64::from)),
        ("traps.urls_per_host", traps.urls_per_host),
        ("traps.hosts_per_domain", traps.hosts_per_domain),
        ("traps.hosts_per_page", traps.hosts_per_page),
        ("traps.query_variants", traps.query_variants),
        ("traps.shape_variants", traps.shape_variants),
        ("traps.same_pages", traps.same_pages),
    ];
    let budgets = budgets.map(|(path, value)| (path, value.unwrap_or(1), 1, u64::MAX));
    for (path, value, least, most) in counts.into_iter().chain(reading(settings, &least)).chain(budgets) {
        if value < least {
            return Err(places.refuse(path, format_args!("{value} is too small: the minimum is {least}")));
        }
        if value > most {
            return Err(places.refuse(path, format_args!("{value} is too large: the maximum is {most}")));
        }
    }
    Ok(())
}

/// The bounds of the sections `[page]` and `[sitemap]`: key, value, least, most.
fn reading(settings: &Settings, least: &Settings) -> impl Iterator<Item = (&'static str, u64, u64, u64)> {
    let of = &settings.page;
    let of_page = [
        ("page.href_bytes", of.href_bytes, 64, 1 << 20),
        ("page.link_bytes", of.link_bytes, 1 << 10, 1 << 30),
        ("page.anchor_bytes", of.anchor_bytes, 0, 1 << 20),
        ("page.text_bytes", of.text_bytes, 0, 64 << 20),
        ("page.title_bytes", of.title_bytes, 0, 1 << 20),
        ("page.meta_bytes", of.meta_bytes, least.page.meta_bytes, 1 << 40),
        ("page.metas", of.metas as u64, least.page.metas as u64, 1_000_000),
        ("page.meta_value_bytes", of.meta_value_bytes, least.page.meta_value_bytes, 1 << 20),
        ("page.json_ld_bytes", of.json_ld_bytes, 0, 1 << 30),
        ("page.json_ld_block_bytes", of.json_ld_block_bytes, 0, 1 << 30),
        ("page.description_bytes", of.description_bytes, 0, 64 << 10),
        ("page.keywords_bytes", of.keywords_bytes, 0, 1 << 20),
        ("page.header_bytes", of.header_bytes, 64, 1 << 20),
        ("page.reference_bytes", of.reference_bytes, 64, 1 << 20),
        ("page.tree_nodes", of.tree_nodes as u64, 100, 1_000_000),
        ("page.tree_depth", of.tree_depth as u64, 8, 512),
        ("page.field_values", of.field_values as u64, 1, 1_000_000),
        ("page.field_bytes", of.field_bytes, 1, 1 << 30),
        ("page.fields_bytes", of.fields_bytes, 1, 1 << 30),
    ];
    let sitemap = &settings.sitemap;
    let of_sitemap = [
        ("sitemap.max_body", sitemap.max_body, 1, 1 << 40),
        ("sitemap.urls", sitemap.urls as u64, 1, 10_000_000),
        ("sitemap.value_bytes", sitemap.value_bytes, 64, 1 << 20),
        ("sitemap.elements", sitemap.elements as u64, 4, 1_000),
        ("sitemap.nesting", u64::from(sitemap.nesting), 0, 255),
        ("sitemap.per_host", sitemap.per_host as u64, 1, 1_000_000),
    ];
    of_page.into_iter().chain(of_sitemap)
}

fn scope(settings: &Settings, places: &Places<'_>) -> Result<(), ConfigError> {
    TypeGlobs::new(&settings.scope.types).map_err(|error| places.refuse("scope.types", error))?;
    let lists = [("scope.include", &settings.scope.include), ("scope.exclude", &settings.scope.exclude)];
    for (path, patterns) in lists {
        for pattern in patterns {
            compile_regex(pattern, PATTERN_BYTES).map_err(|error| {
                let why = why_no_regex(&error);
                let hint = of_file_names(pattern).map(|regex| {
                    format!("; as a pattern of file names it is the regular expression {regex}")
                });
                let hint = hint.unwrap_or_default();
                places.refuse(path, format_args!("{pattern:?} isn't a regular expression: {why}{hint}"))
            })?;
        }
    }
    Ok(())
}

/// The regular expression of a pattern of file names as shells have them: `*.pdf` is `\.pdf$`. None where it has no `*` or `?` at its beginning.
fn of_file_names(pattern: &str) -> Option<String> {
    let rest = pattern.trim_start_matches('*');
    if rest.is_empty() || !pattern.starts_with(['*', '?']) {
        return None;
    }
    let (rest, end) = match rest.strip_suffix('*') {
        Some(rest) => (rest.trim_end_matches('*'), ""),
        None => (rest, "$"),
    };
    let parts = rest.chars().map(|c| match c {
        '*' => ".*".to_owned(),
        '?' => ".".to_owned(),
        c => regex::escape(c.encode_utf8(&mut [0; 4])),
    });
    Some(parts.chain([end.to_owned()]).collect())
}

fn costly(settings: &Settings, places: &Places<'_>) -> Result<(), ConfigError> {
    let rules =
        CostlyRules::new(&settings.costly).map_err(|error| places.refuse("costly.directory", error))?;
    for name in settings.costly.kinds.keys() {
        if !rules.knows_kind(name) {
            let known = rules.names_of_kinds();
            let near = nearest(name, known).map(|near| format!("; did you mean {near:?}?"));
            let what = format!("{name:?} is no kind of site{}", near.unwrap_or_default());
            return Err(places.refuse("costly.kinds", what));
        }
    }
    Ok(())
}

fn extract(settings: &Settings, places: &Places<'_>) -> Result<(), ConfigError> {
    let mut names = BTreeSet::new();
    for rule in &settings.extract {
        if rule.name.is_empty() || rule.name.chars().any(char::is_control) {
            return Err(places.refuse("extract", "a rule has no name"));
        }
        if !names.insert(&rule.name) {
            return Err(places.refuse("extract", format_args!("two rules have the name {:?}", rule.name)));
        }
        if let Err(error) = read_selector(&rule.selector) {
            let what = format_args!("{:?} isn't a CSS selector: {error}", rule.selector);
            return Err(places.refuse("extract", what));
        }
        if rule.attribute.as_ref().is_some_and(String::is_empty) {
            return Err(places.refuse("extract", format_args!("the attribute of {:?} is empty", rule.name)));
        }
    }
    Ok(())
}
