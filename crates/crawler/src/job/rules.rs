//! Derives the settings of each module from those of the crawl.

use std::sync::Arc;

use meta::consent::{Consent, Policy, Purpose};

use super::descriptors;
use crate::config::{self, ConsentSettings, CostlySettings, Dialect, LaterDenial, Settings, TrapSettings};
use crate::consent::{ConsentCache, ConsentRules};
use crate::costly::CostlyRules;
use crate::engine::EngineSettings;
use crate::fetch::FetchSettings;
use crate::frontier::FrontierLimits;
use crate::origin_cache::OriginCache;
use crate::pace::PaceRules;
use crate::robots_cache::RobotsCache;
use crate::store::Store;
use crate::suspects::Suspects;
use crate::visit::{PageRules, ReadPool};
use crate::wanted::{TypeGlobs, Wanted};
use crate::wishes::Wishes;
use page::extract::{BadSelector, HowMany, SelectRule, Take};
use page::url::FingerprintKey;

/// The settings of the engine.
pub fn engine_settings(settings: &Settings, key: FingerprintKey) -> EngineSettings {
    let pace = &settings.pace;
    let limits = &settings.limits;
    EngineSettings {
        pace: PaceRules {
            delay: pace.delay,
            adaptive: pace.adaptive,
            max_delay: pace.max_delay,
            max_backoff: pace.max_backoff,
        },
        // They were validated with the settings.
        wishes: Wishes::read(&pace.wishes, &pace.zone).unwrap_or_default(),
        concurrency: pace.concurrency.min(descriptors::limit()),
        groups: pace.host_groups(),
        max_rate: pace.max_rate,
        max_bandwidth: pace.max_bandwidth,
        retries: settings.fetch.retries,
        local_patience: settings.fetch.local_patience,
        max_redirects: limits.max_redirects,
        max_pages: limits.max_pages,
        max_pages_per_host: limits.max_pages_per_host,
        resources: settings.scope.resources,
        max_resources: limits.max_resources,
        max_time: limits.max_time,
        max_bytes: limits.max_bytes,
        max_wait: pace.max_wait,
        withdraw_when_denied: settings.robots.on_later_denial == LaterDenial::Withdraw,
        ledger: settings.ledger.level,
        traps: traps(settings),
        sitemaps: settings.scope.sitemaps,
        sitemap_limits: settings.sitemap.limits(settings.limits.max_url_length),
        plan: false,
        run: None,
        changed: Vec::new(),
        frontier: FrontierLimits::default(),
        jitter: key.hash("jitter"),
    }
}

/// The budgets of the trap guard. `limits.max_depth` overrides `traps.depth`.
fn traps(settings: &Settings) -> TrapSettings {
    let depth = settings.traps.depth.filter(|_| settings.limits.max_depth.is_none());
    TrapSettings { depth, ..settings.traps }
}

/// The memory for what is kept of origins: `limits.origin_cache`.
pub fn origin_cache(settings: &Settings) -> Arc<OriginCache> {
    Arc::new(OriginCache::new(settings.limits.origin_cache))
}

/// The robots.txt files of a crawl.
pub fn robots_cache<S: Store>(
    settings: &Settings,
    store: Arc<S>,
    entries: &Arc<OriginCache>,
) -> RobotsCache<S> {
    let agent = robots::Agent::new(&settings.agent.product).with_aliases(&settings.agent.aliases);
    let mut policy = robots::access::Policy::default();
    policy.on_forbidden = settings.robots.on_forbidden;
    RobotsCache::new(store, agent, settings.robots_options(), policy, Arc::clone(entries))
}

/// What the operator declared of the crawl's purposes.
pub fn consent_rules(settings: &Settings) -> ConsentRules {
    let ConsentSettings { purpose, silence_allows, ai_block_hint } = &settings.consent;
    let silence = |purpose| if silence_allows.contains(&purpose) { Consent::Allow } else { Consent::Deny };
    let policy = Policy::new(purpose.iter().copied());
    let policy = Purpose::ALL.into_iter().fold(policy, |policy, each| policy.presume(each, silence(each)));
    ConsentRules { policy, ai_block_hint: *ai_block_hint }
}

/// What sites say to the uses of their pages.
pub fn consent_cache<S: Store>(
    settings: &Settings,
    store: Arc<S>,
    entries: &Arc<OriginCache>,
) -> ConsentCache<S> {
    let agent = meta::Agent::new(&settings.agent.product).with_aliases(&settings.agent.aliases);
    ConsentCache::new(store, consent_rules(settings), agent, Arc::clone(entries))
}

/// Whether a page whose head wasn't read to its end is kept out of index and archive: where the dialect of robots.txt is one
/// that closes what is undecidable.
pub(super) fn closes_unread_head(settings: &Settings) -> bool {
    matches!(settings.robots.dialect, Dialect::Hardened | Dialect::Strictest)
}

/// What is done about costly URLs. The directory of kinds was read when the settings were checked.
fn costly_rules(settings: &CostlySettings) -> CostlyRules {
    CostlyRules::new(settings).unwrap_or_else(|error| {
        tracing::warn!("only the program's own kinds of sites are known: {error}");
        CostlyRules::of_program(settings)
    })
}

/// How pages are read.
pub fn page_rules(settings: &Settings, selectors: Vec<SelectRule>, key: FingerprintKey) -> PageRules {
    PageRules {
        agent: meta::Agent::new(&settings.agent.product).with_aliases(&settings.agent.aliases),
        dialect: meta::Dialect::Strict,
        policy: consent_rules(settings).policy,
        limits: settings.page.extract_limits(settings.limits.max_links_per_page),
        closes_unread_head: closes_unread_head(settings),
        selectors,
        select_limits: settings.page.select_limits(),
        sitemap_limits: settings.sitemap.limits(settings.limits.max_url_length),
        archive: settings.warc.enabled,
        index: cfg!(feature = "search") && settings.index.enabled,
        resources: settings.scope.resources,
        walls: settings.walls.action,
        costly: costly_rules(&settings.costly),
        wanted: wanted(settings),
        key,
        read_pool: ReadPool::default(),
        suspects: Suspects::default(),
    }
}

pub(crate) fn selectors(settings: &Settings) -> Result<Vec<SelectRule>, BadSelector> {
    let rule = |rule: &config::ExtractRule| {
        let take = rule.attribute.clone().map_or(Take::Text, Take::Attribute);
        let how_many = if rule.all { HowMany::All } else { HowMany::One };
        SelectRule::new(&rule.name, &rule.selector, take, how_many)
    };
    settings.extract.iter().map(rule).collect()
}

/// Which responses are kept, by their heads. The settings are validated: their types are types.
pub(super) fn wanted(settings: &Settings) -> Wanted {
    let types = TypeGlobs::new(&settings.scope.types).unwrap_or_default();
    Wanted { types, max_media: settings.limits.max_media }
}

pub(super) fn fetch_settings(settings: &Settings) -> FetchSettings {
    let (limits, fetch) = (&settings.limits, &settings.fetch);
    FetchSettings {
        from: settings.agent.from_header(),
        timeout: fetch.timeout,
        memory_patience: fetch.local_patience,
        connect_timeout: fetch.connect_timeout,
        dns_timeout: fetch.dns_timeout,
        idle_timeout: fetch.idle_timeout,
        connection_life: fetch.connection_life,
        max_body: limits.max_body,
        wanted: wanted(settings),
        max_header_bytes: usize::try_from(limits.max_header_bytes).unwrap_or(usize::MAX),
        max_header_count: limits.max_header_count,
        // One byte more than is read, so that a cut is seen and the cut line is dropped.
        max_robots: limits.max_robots + 1,
        max_sitemap: settings.sitemap.max_body,
        resolve: fetch.resolve.clone(),
        allow_net: fetch.allow_net.clone(),
        dns: fetch.dns.iter().map(|server| server.0).collect(),
        ..FetchSettings::new(settings.agent.user_agent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{KEYS, scope};

    /// The settings of all modules, as text.
    fn all_rules(settings: &Settings) -> String {
        let key = FingerprintKey::new([7; 16]);
        let PageRules { limits, select_limits, sitemap_limits, .. } = page_rules(settings, Vec::new(), key);
        let robots = settings.robots_options().max_bytes;
        let (scope, engine) = (scope(settings).unwrap(), engine_settings(settings, key));
        let fetch = fetch_settings(settings);
        let cache = origin_cache(settings).budget();
        format!(
            "{limits:?} {select_limits:?} {sitemap_limits:?} {robots} {scope:?} {engine:?} {fetch:?} {cache}"
        )
    }

    /// The settings with 77 of a key's own unit.
    fn with_77(key: &str) -> Settings {
        let (section, leaf) = key.split_once('.').unwrap();
        let values = ["\"77s\"", "\"77B\"", "77"];
        let mut read = values.iter().map(|value| toml::from_str(&format!("[{section}]\n{leaf} = {value}")));
        read.find_map(Result::ok).unwrap_or_else(|| panic!("{key} takes none of {values:?}"))
    }

    #[test]
    fn every_limit_reaches_a_module() {
        let usual = all_rules(&Settings::default());
        let sections = ["limits.", "traps.", "page.", "sitemap."];
        let of_fetch = [
            "connect_timeout",
            "dns_timeout",
            "idle_timeout",
            "connection_life",
            "timeout",
            "retries",
            "local_patience",
        ];
        let keys = KEYS.iter().map(|key| key.path).filter(|path| {
            sections.iter().any(|section| path.starts_with(section))
                || path.strip_prefix("fetch.").is_some_and(|leaf| of_fetch.contains(&leaf))
                || matches!(*path, "pace.max_wait" | "pace.max_backoff")
        });
        for key in keys {
            assert_ne!(all_rules(&with_77(key)), usual, "{key} changes nothing");
        }
    }

    #[test]
    fn the_fetcher_has_the_same_defaults_of_its_own() {
        let settings = Settings::default();
        // One byte of robots.txt more than is used shows that it was cut.
        let own = FetchSettings {
            max_robots: 512_001,
            // By itself it takes whatever comes.
            wanted: wanted(&settings),
            ..FetchSettings::new(settings.agent.user_agent())
        };
        assert_eq!(fetch_settings(&settings), own);
    }
}
