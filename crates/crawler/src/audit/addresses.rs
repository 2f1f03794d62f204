//! Requests went only to public addresses, and to those that the operator allowed.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::LazyLock;

use ipnet::IpNet;
use url::{Host, Url};

use super::settings::Run;
use super::{AuditError, AuditRules, Check};
use crate::ledger;
use crate::record::Decision;
use crate::store::{Store, Tree};
use page::url::CrawlUrl;

/// What the audit knows of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Public,
    Loopback,
    Private,
    /// Link-local, multicast, documentation, benchmarks, tunnels, unallocated.
    Other,
}

/// Networks that aren't public; the first one that holds an address says its kind.
///
/// Source: the IANA registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890, as of 2025), RFC 3879 for `fec0::/10`.
static NETS: LazyLock<Vec<(IpNet, Kind)>> = LazyLock::new(|| {
    const LOOPBACK: &[&str] = &["127.0.0.0/8", "::1/128"];
    const PRIVATE: &[&str] =
        &["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10"];
    const OTHER: &[&str] = &[
        "0.0.0.0/8",
        "169.254.0.0/16",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",
        "2001:db8::/32",
        "3fff::/20",
    ];
    let of = |nets: &[&str], kind| -> Vec<_> {
        nets.iter().filter_map(|net| Some((net.parse().ok()?, kind))).collect()
    };
    [of(LOOPBACK, Kind::Loopback), of(PRIVATE, Kind::Private), of(OTHER, Kind::Other)].concat()
});

/// Of IPv6, what is allocated for the internet at large (RFC 4291 section 2.4).
static GLOBAL: LazyLock<Option<IpNet>> = LazyLock::new(|| "2000::/3".parse().ok());

impl Kind {
    fn of(address: IpAddr) -> Self {
        let address = inner(address);
        if let Some((_, kind)) = NETS.iter().find(|(net, _)| net.contains(&address)) {
            return *kind;
        }
        match address {
            IpAddr::V6(_) if !GLOBAL.is_some_and(|net| net.contains(&address)) => Self::Other,
            _ => Self::Public,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::Other => "special-purpose",
        }
    }
}

/// The IPv4 address that an IPv6 address carries: mapped, compatible, NAT64 (RFC 6052), 6to4 (RFC 3056); else the address.
fn inner(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let bytes = v6.octets();
    let v4 = |at: usize| IpAddr::from([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let zeros = |range: std::ops::Range<usize>| bytes[range].iter().all(|byte| *byte == 0);
    let is_mapped = zeros(0..10) && bytes[10..12] == [0xff, 0xff];
    let is_compatible = zeros(0..12) && !(zeros(12..15) && bytes[15] < 2);
    let is_nat64 = bytes[..4] == [0, 0x64, 0xff, 0x9b] && zeros(4..12);
    match bytes {
        _ if is_mapped || is_compatible || is_nat64 => v4(12),
        [0x20, 0x02, ..] => v4(2),
        _ => address,
    }
}

/// A request as far as its address matters.
struct Asked {
    host: String,
    /// Of the URL, where that is of the host.
    url: Option<Url>,
    address: IpAddr,
    /// From 0.
    run: usize,
    entry: Decision,
}

fn each<S: Store>(store: &S, mut judge: impl FnMut(Asked)) -> Result<(), AuditError> {
    let mut started = 0_usize;
    for pair in store.scan(Tree::Ledger, &[]) {
        let Ok(block) = ledger::read(&pair?.1) else { continue };
        for entry in block.decisions {
            started += usize::from(entry.begins_a_run());
            let Some(address) = entry.evidence.request.as_ref().and_then(|request| request.address) else {
                continue;
            };
            // An entry about an origin's robots.txt names the origin, whichever host was asked.
            let url = CrawlUrl::parse(&entry.url).ok().filter(|url| url.host() == entry.host);
            let url = url.map(|url| url.to_url());
            judge(Asked { host: entry.host.clone(), url, address, run: started.saturating_sub(1), entry });
        }
    }
    Ok(())
}

/// What opens an address that isn't public.
struct Opened<'a> {
    rules: &'a AuditRules,
    runs: &'a [Run],
    /// Hosts and ports of seeds.
    seeds: HashSet<(String, u16)>,
}

impl Opened<'_> {
    /// Whether a rule of `--resolve` says that the host has this address.
    fn by_rule(&self, asked: &Asked) -> bool {
        let Some(settings) = self.settings(asked) else { return false };
        let name = asked.host.trim_end_matches('.');
        let resolve = &settings.fetch.resolve;
        let own = resolve.iter().any(|rule| rule.host == name);
        let is_for = |host: &str| if own { host == name } else { host == "*" };
        let port = asked.url.as_ref().and_then(Url::port);
        resolve.iter().any(|rule| {
            let has_port = port.is_none() || rule.port.is_none() || rule.port == port;
            is_for(&rule.host) && rule.addr == asked.address && has_port
        })
    }

    /// Whether `--allow-net` opens the address.
    fn by_net(&self, asked: &Asked) -> bool {
        self.settings(asked).is_some_and(|settings| {
            let nets = &settings.fetch.allow_net;
            nets.iter().any(|net| net.contains(&asked.address) || net.contains(&inner(asked.address)))
        })
    }

    /// Whether a seed names the address itself, or `localhost`.
    fn by_seed(&self, asked: &Asked, kind: Kind) -> bool {
        let host = asked.host.trim_end_matches('.');
        let is_local = host == "localhost" || host.ends_with(".localhost");
        let is_literal = !matches!(Host::parse(host), Ok(Host::Domain(_)) | Err(_));
        let may = match kind {
            Kind::Loopback => is_local || is_literal,
            Kind::Private => is_literal,
            Kind::Public | Kind::Other => false,
        };
        let names = |port: Option<u16>| match port {
            Some(port) => self.seeds.contains(&(host.to_owned(), port)),
            None => self.seeds.iter().any(|(seed, _)| seed == host),
        };
        may && names(asked.url.as_ref().and_then(Url::port_or_known_default))
    }

    /// What the run was started with; what `crawl.toml` says, where that isn't on record.
    fn settings(&self, asked: &Asked) -> Option<&crate::config::Settings> {
        match self.runs.get(asked.run) {
            Some(run) if run.settings.is_some() => run.settings.as_ref(),
            _ => Some(&self.rules.settings),
        }
    }
}

/// Judges every request whose address is on record. Cost: one pass over the ledger, two where addresses were asked that aren't
/// public. Memory: names of hosts that had such an address.
pub(super) fn judge<S: Store>(store: &S, runs: &[Run], rules: &AuditRules) -> Result<Check, AuditError> {
    let mut check = Check::new(
        "addresses",
        "requests went only to public addresses and to those that a seed, --allow-net or --resolve allows; no name moved between public and private addresses",
    );
    let seeds = rules.seeds.iter().filter_map(|seed| {
        let seed = CrawlUrl::parse(seed).ok()?;
        let port = seed.to_url().port_or_known_default()?;
        Some((seed.host().trim_end_matches('.').to_owned(), port))
    });
    let opened = Opened { rules, runs, seeds: seeds.collect() };
    let mut by_nets: HashSet<String> = HashSet::new();
    each(store, |asked| {
        check.case();
        let kind = Kind::of(asked.address);
        if kind == Kind::Public || opened.by_rule(&asked) || opened.by_seed(&asked, kind) {
            return;
        }
        if opened.by_net(&asked) {
            by_nets.insert(asked.host);
            return;
        }
        let what = format!(
            "requested {}, a {} address, which neither a seed nor --allow-net nor --resolve allows",
            asked.address,
            kind.as_str()
        );
        check.broken(asked.entry.url, Some(asked.entry.at), what);
    })?;
    if by_nets.is_empty() {
        return Ok(check);
    }
    let mut first: std::collections::HashMap<String, Kind> = std::collections::HashMap::new();
    each(store, |asked| {
        if !by_nets.contains(&asked.host) || opened.by_rule(&asked) {
            return;
        }
        let kind = Kind::of(asked.address);
        let before = *first.entry(asked.host).or_insert(kind);
        if before != kind {
            let what = format!(
                "requested {}, a {} address, after one that is {}: the name moved",
                asked.address,
                kind.as_str(),
                before.as_str()
            );
            check.broken(asked.entry.url, Some(asked.entry.at), what);
        }
    })?;
    Ok(check)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fetch::AddressClass;

    proptest! {
        #[test]
        fn the_audit_and_the_guard_know_the_same_addresses_as_public(
            bits: u128,
            high in prop::sample::select(vec![
                0_u16, 0x64, 0x2000, 0x2001, 0x2002, 0x3fff, 0x4000, 0xfc00, 0xfdff, 0xfe80, 0xfec0, 0xff02,
            ]),
            second in prop::sample::select(vec![0_u16, 1, 0x01ff, 0x0200, 0x0db8, 0x0fff, 0x1000, 0xff9b]),
            shape in 0..4_u8,
        ) {
            let high = u128::from(high) << 112 | u128::from(second) << 96;
            let address = match shape {
                0 => IpAddr::from((bits as u32).to_be_bytes()),
                1 => IpAddr::from(bits.to_be_bytes()),
                2 => IpAddr::from((high | (bits & 0xffff_ffff)).to_be_bytes()),
                _ => IpAddr::from((high | (bits >> 32)).to_be_bytes()),
            };
            let class = match AddressClass::of(address) {
                AddressClass::Public => Kind::Public,
                AddressClass::Loopback => Kind::Loopback,
                AddressClass::Private => Kind::Private,
                AddressClass::LinkLocal | AddressClass::Reserved => Kind::Other,
            };
            prop_assert_eq!(Kind::of(address), class, "{}", address);
        }
    }
}
