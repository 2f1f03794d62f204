//! Tells the user of other commands that request the same hosts.

use std::collections::HashSet;
use std::net::IpAddr;

use crate::causes::with_causes;
use crate::config::Settings;
use crate::neighbours::{Area, MOST_HOSTS, Running, runtime_directory};
use crate::scope::ScopeMode;
use page::public_suffix::registrable_domain;
use page::url::CrawlUrl;

/// What a crawl of these seeds requests pages of: their hosts, or with `--scope domain` their domains. The first [`MOST_HOSTS`].
pub(super) fn areas(settings: &Settings, seeds: &[CrawlUrl]) -> Vec<Area> {
    let is_domain = settings.scope.mode == ScopeMode::Domain;
    let mut met = HashSet::new();
    let mut areas = Vec::new();
    for seed in seeds {
        let host = seed.host();
        let (name, with_subdomains) = match registrable_domain(host) {
            Some(domain) if is_domain => (domain, true),
            _ => (host, false),
        };
        let area = Area { name: name.to_owned(), at: place(settings, seed), with_subdomains };
        if met.insert(area.clone()) {
            areas.push(area);
        }
        if areas.len() == MOST_HOSTS {
            break;
        }
    }
    areas
}

/// The address or the local port that a host resolves to, by `--resolve` or as a loopback host; empty where DNS decides.
fn place(settings: &Settings, seed: &CrawlUrl) -> String {
    let (host, port) = (seed.host(), seed.to_url().port_or_known_default().unwrap_or_default());
    let rules = &settings.fetch.resolve;
    let rule =
        rules.iter().find(|rule| rule.host == host).or_else(|| rules.iter().find(|rule| rule.host == "*"));
    let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
    match (rule, literal) {
        (_, Ok(address)) if address.is_loopback() => format!("port {port}"),
        (Some(rule), Err(_)) => {
            let port = rule.port.unwrap_or(port);
            format!("{} port {port}", rule.addr)
        }
        (None, Err(_)) if host == "localhost" || host.ends_with(".localhost") => format!("port {port}"),
        _ => String::new(),
    }
}

/// Enters a command, and warns of the others that request the same hosts.
pub(super) fn enter(what: &str, areas: Vec<Area>) -> Option<Running> {
    let directory = runtime_directory()?;
    match Running::enter(&directory, what, areas) {
        Ok((running, neighbours)) => {
            for neighbour in neighbours {
                tracing::warn!("{neighbour}");
            }
            Some(running)
        }
        Err(error) => {
            let directory = directory.display();
            tracing::debug!(%directory, "other commands that request the same hosts aren't known: {}", with_causes(&error));
            None
        }
    }
}
