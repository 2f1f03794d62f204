//! Names to addresses, past the address guard.
//!
//! The client asks here for every connection that it makes, so that a name which changes its address between two
//! connections (DNS rebinding) is judged by the address that is really used.

use std::collections::HashMap;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use super::ResolveRule;
use super::dial::Aim;
use super::guard::AddressGuard;
use super::names::{LookupError, Names};
use super::own::without_dot;
use super::{AddressClass, BlockedAddress, Booked};

/// The resolve rules by host name.
#[derive(Debug, Default)]
pub(super) struct Rules(HashMap<String, Vec<SocketAddr>>);

impl Rules {
    /// Gathers the rules; several for one host are addresses to be tried in their order.
    pub(super) fn new(rules: &[ResolveRule]) -> Self {
        let mut by_host: HashMap<String, Vec<SocketAddr>> = HashMap::new();
        for rule in rules {
            // Port 0 stands for the port of the URL.
            let addr = SocketAddr::new(rule.addr, rule.port.unwrap_or(0));
            by_host.entry(rule.host.clone()).or_default().push(addr);
        }
        Self(by_host)
    }

    fn get(&self, host: &str) -> Option<Vec<SocketAddr>> {
        self.0.get(host).or_else(|| self.0.get("*")).cloned()
    }
}

/// Resolves a name by the rules, then by the name service, and drops the addresses that are closed.
#[derive(Debug, Clone)]
pub(super) struct GuardedResolver {
    pub(super) rules: Arc<Rules>,
    pub(super) names: Arc<Names>,
    pub(super) guard: Arc<AddressGuard>,
}

/// A name has no address that may be connected to.
type NoAddress = Box<dyn Error + Send + Sync>;

impl GuardedResolver {
    /// Returns the open addresses of a name; port 0 stands for the port of the URL.
    ///
    /// The first answer sets the class of the name's addresses (see [`FetchRequest::class`](super::FetchRequest::class)).
    pub(super) async fn look_up(&self, name: &str, aim: &Aim) -> Result<Vec<SocketAddr>, NoAddress> {
        let host = without_dot(name).to_ascii_lowercase();
        if let Some(addrs) = self.rules.get(&host) {
            return by_rule(addrs, aim);
        }
        let found = match aim.pinned() {
            // Judged again: the guard is asked for every connection.
            Some(addr) => vec![addr],
            None => self.names.look_up(&host).await?,
        };
        let open = self.open_ones(&found, &host, aim)?;
        match aim.booked {
            Some(Booked::Nowhere) => Err(LookupError::NotBooked.into()),
            _ => Ok(open.into_iter().map(|addr| SocketAddr::new(addr, 0)).collect()),
        }
    }

    /// Keeps the addresses that are open, of one class alone; none at all is an error.
    fn open_ones(&self, found: &[IpAddr], host: &str, aim: &Aim) -> Result<Vec<IpAddr>, NoAddress> {
        let first = aim.class.get().copied();
        let mut open = Vec::new();
        let mut blocked = None;
        for addr in found {
            match self.guard.check_name(*addr, host, aim.port, first) {
                Ok(()) => open.push(*addr),
                Err(why) => blocked = blocked.or(Some(why)),
            }
        }
        let classes = || open.iter().map(|addr| AddressClass::of(*addr));
        let public = classes().find(|class| *class == AddressClass::Public);
        let Some(class) = public.or_else(|| classes().next()) else {
            return Err(blocked.map_or_else(|| LookupError::NoAddress.into(), Into::into));
        };
        // Another request for the host may have been first.
        let class = *aim.class.get_or_init(|| class);
        open.retain(|addr| AddressClass::of(*addr) == class);
        Ok(open)
    }
}

/// The operator named these addresses for this host: they are open. A port in a rule takes the place of the scheme's own port;
/// if the URL has another port, the rule doesn't apply (`docs/cli.md` has the table), and no name server is asked.
fn by_rule(mut addrs: Vec<SocketAddr>, aim: &Aim) -> Result<Vec<SocketAddr>, NoAddress> {
    if let Some(pinned) = aim.pinned() {
        addrs.retain(|addr| addr.ip() == pinned);
    }
    let is_other = |addr: &SocketAddr| aim.is_explicit && ![0, aim.port].contains(&addr.port());
    let other = addrs.iter().copied().find(is_other);
    addrs.retain(|addr| !is_other(addr));
    match other {
        Some(rule) if addrs.is_empty() => Err(BlockedAddress::OtherPort { rule, port: aim.port }.into()),
        _ if addrs.is_empty() => Err(LookupError::NoAddress.into()),
        _ => Ok(addrs),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::fetch::{FetchRequest, RequestKind};
    use crate::frontier::Permit;

    fn addrs(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 0)).collect()
    }

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn resolver(rules: &[&str], nets: &[&str]) -> GuardedResolver {
        let rules: Vec<ResolveRule> = rules.iter().map(|text| text.parse().unwrap()).collect();
        let allow_net = nets.iter().map(|net| net.parse().unwrap()).collect();
        GuardedResolver {
            rules: Arc::new(Rules::new(&rules)),
            names: Arc::new(Names::new(
                vec!["127.0.0.1:9".parse().unwrap()],
                Duration::from_millis(1),
                Arc::default(),
            )),
            guard: Arc::new(AddressGuard { allow_net, ..AddressGuard::default() }),
        }
    }

    fn aim(port: u16, is_explicit: bool, booked: Option<Booked>) -> Aim {
        Aim { port, is_explicit, booked, class: Arc::default() }
    }

    #[test]
    fn a_name_with_public_and_own_addresses_has_its_public_ones() {
        let found = ips(&["127.0.0.1", "8.8.8.8", "10.0.0.1", "2606:4700::1", "::1"]);
        for nets in [&[][..], &["127.0.0.0/8", "10.0.0.0/8"]] {
            let (resolver, any) = (resolver(&[], nets), aim(80, false, None));
            let open = resolver.open_ones(&found, "a.test", &any).unwrap();
            assert_eq!(open, ips(&["8.8.8.8", "2606:4700::1"]), "{nets:?}");
            assert_eq!(any.class.get(), Some(&AddressClass::Public));
        }
        let (resolver, any) = (resolver(&[], &[]), aim(80, false, None));
        let error = resolver.open_ones(&ips(&["127.0.0.1", "::1"]), "a.test", &any).unwrap_err();
        assert!(error.is::<BlockedAddress>());
        assert!(!resolver.open_ones(&[], "a.test", &any).unwrap_err().is::<BlockedAddress>());
        assert_eq!(any.class.get(), None, "what was never open is no first answer");
    }

    #[test]
    fn the_first_answer_for_a_name_restricts_later_ones() {
        let resolver = resolver(&[], &["127.0.0.0/8", "10.0.0.0/8"]);
        let later = aim(80, false, None);
        assert!(resolver.open_ones(&ips(&["10.0.0.1", "127.0.0.1"]), "a.test", &later).is_ok());
        assert_eq!(later.class.get(), Some(&AddressClass::Private));
        assert_eq!(
            resolver.open_ones(&ips(&["127.0.0.1", "10.0.0.2"]), "a.test", &later).unwrap(),
            ips(&["10.0.0.2"])
        );
        for found in ["127.0.0.1", "8.8.8.8", "::ffff:127.0.0.1"] {
            let error = resolver.open_ones(&ips(&[found]), "a.test", &later).unwrap_err();
            assert!(error.is::<BlockedAddress>(), "{found}: {error}");
        }
    }

    #[tokio::test]
    async fn a_booked_name_has_the_booked_address_alone() {
        let by_rule = resolver(&["a.test:127.0.0.1:81", "a.test:127.0.0.2:82"], &[]);
        let to = |addr: &str| Some(Booked::At(addr.parse().unwrap()));
        let found = by_rule.look_up("a.test", &aim(80, false, to("127.0.0.2"))).await.unwrap();
        assert_eq!(found, ["127.0.0.2:82".parse().unwrap()]);
        assert!(by_rule.look_up("a.test", &aim(80, false, to("127.0.0.3"))).await.is_err());
        // No name server is asked.
        let by_name = resolver(&[], &["127.0.0.0/8"]);
        let found = by_name.look_up("b.test", &aim(80, false, to("127.0.0.2"))).await.unwrap();
        assert_eq!(found, addrs(&["127.0.0.2"]));
        let error = by_name.look_up("b.test", &aim(80, false, to("10.0.0.1"))).await.unwrap_err();
        assert!(error.is::<BlockedAddress>(), "the guard is asked all the same: {error}");
        let error = by_name.look_up("localhost", &aim(80, false, Some(Booked::Nowhere))).await.unwrap_err();
        assert!(error.is::<LookupError>(), "{error}");
    }

    /// The table of `--resolve` in `docs/cli.md`, row by row: where a URL's connections go, in the order in which they are tried.
    #[tokio::test]
    async fn each_row_of_the_documented_table_of_resolve_rules() {
        let refused = |address: &str, rule: u16, url: u16| {
            Err(format!(
                "--resolve gives the address {address} for port {rule} only, and the URL has port {url}: \
                 not connected (a rule without a port keeps the port of the URL)"
            ))
        };
        let to =
            |addrs: &[&str]| Ok(addrs.iter().map(|addr| addr.parse().unwrap()).collect::<Vec<SocketAddr>>());
        for (rules, url, expected) in [
            (&["a.test:127.0.0.1"][..], "http://a.test/", to(&["127.0.0.1:80"])),
            (&["a.test:127.0.0.1"], "https://a.test/", to(&["127.0.0.1:443"])),
            (&["a.test:127.0.0.1"], "http://a.test:8080/", to(&["127.0.0.1:8080"])),
            (&["a.test:127.0.0.1:8000"], "http://a.test/", to(&["127.0.0.1:8000"])),
            (&["a.test:127.0.0.1:8000"], "https://a.test/", to(&["127.0.0.1:8000"])),
            // The scheme's own port is no other than none.
            (&["a.test:127.0.0.1:8000"], "http://a.test:80/", to(&["127.0.0.1:8000"])),
            (&["a.test:127.0.0.1:8000"], "https://a.test:443/", to(&["127.0.0.1:8000"])),
            (&["a.test:127.0.0.1:8000"], "http://a.test:8000/", to(&["127.0.0.1:8000"])),
            (&["a.test:127.0.0.1:8000"], "http://a.test:8080/", refused("127.0.0.1", 8000, 8080)),
            (&["a.test:127.0.0.1:80"], "https://a.test:8443/", refused("127.0.0.1", 80, 8443)),
            (&["a.test:127.0.0.1:8000"], "https://a.test:80/", refused("127.0.0.1", 8000, 80)),
            // A public address is no exception.
            (&["a.test:8.8.8.8:8000"], "http://a.test:8080/", refused("8.8.8.8", 8000, 8080)),
            (&["a.test:[::1]:8000"], "http://a.test/", to(&["[::1]:8000"])),
            // Several rules.
            (
                &["a.test:127.0.0.1:81", "a.test:127.0.0.2"],
                "http://a.test/",
                to(&["127.0.0.1:81", "127.0.0.2:80"]),
            ),
            (&["a.test:127.0.0.1:81", "a.test:127.0.0.2"], "http://a.test:8080/", to(&["127.0.0.2:8080"])),
            (&["a.test:127.0.0.1:81", "a.test:127.0.0.2:82"], "http://a.test:82/", to(&["127.0.0.2:82"])),
            (
                &["a.test:127.0.0.1:81", "a.test:127.0.0.2:82"],
                "http://a.test:83/",
                refused("127.0.0.1", 81, 83),
            ),
            // The rule for every host.
            (&["*:127.0.0.9:90", "a.test:127.0.0.1:81"], "http://b.test/", to(&["127.0.0.9:90"])),
            (&["*:127.0.0.9", "a.test:127.0.0.1:81"], "http://b.test:8080/", to(&["127.0.0.9:8080"])),
            (&["*:127.0.0.9:90"], "http://b.test:8080/", refused("127.0.0.9", 90, 8080)),
            (&["*:127.0.0.9:8080", "a.test:127.0.0.1:81"], "http://a.test/", to(&["127.0.0.1:81"])),
            (
                &["*:127.0.0.9:8080", "a.test:127.0.0.1:81"],
                "http://a.test:8080/",
                refused("127.0.0.1", 81, 8080),
            ),
        ] {
            for nets in [&[][..], &["127.0.0.0/8"]] {
                let request =
                    FetchRequest::new(&Permit::of_a_test(), url.parse().unwrap(), RequestKind::Page);
                let aim = Aim::of(&request, &request.url);
                let host = request.url.host_str().unwrap();
                let found = resolver(rules, nets).look_up(host, &aim).await;
                // As the client connects: the URL's port if it has one or the rule has none.
                let port = |addr: &SocketAddr| {
                    if aim.is_explicit || addr.port() == 0 { aim.port } else { addr.port() }
                };
                let found = found
                    .map(|addrs| addrs.iter().map(|addr| SocketAddr::new(addr.ip(), port(addr))).collect());
                assert_eq!(found.map_err(|error| error.to_string()), expected, "{rules:?} {url} {nets:?}");
            }
        }
    }

    #[test]
    fn a_rule_for_a_host_goes_before_the_rule_for_every_host() {
        let rules: Vec<ResolveRule> = ["*:127.0.0.9", "a.example:127.0.0.1:81", "a.example:127.0.0.2"]
            .map(|text| text.parse().unwrap())
            .to_vec();
        let rules = Rules::new(&rules);
        let expected = ["127.0.0.1:81", "127.0.0.2:0"].map(|addr| addr.parse().unwrap());
        assert_eq!(rules.get("a.example").unwrap(), expected);
        assert_eq!(rules.get("b.example").unwrap(), addrs(&["127.0.0.9"]));
        assert!(Rules::new(&[]).get("a.example").is_none());
    }
}
