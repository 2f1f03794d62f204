//! Which addresses a crawl may connect to.
//!
//! Source: the IANA special-purpose address registries for IPv4 and IPv6 (RFC 6890 and its successors).

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;

use super::own::OwnSeeds;
use crate::address::{AddressClass, embedded_v4};

/// An address is closed to this crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlockedAddress {
    /// It isn't public, and nothing opens it.
    #[error("{addr} is a {} address, which isn't allowed (--allow-net {} allows it)", .class.as_str(), IpNet::from(*.addr))]
    Closed {
        /// The address.
        addr: IpAddr,
        /// Its class.
        class: AddressClass,
    },
    /// The first answer for the name, in this crawl, was of another class.
    #[error(
        "the name now has {addr}, a {} address, but it first resolved to {} in this crawl: not allowed (--resolve allows it)",
        .class.as_str(), .first.as_str()
    )]
    Changed {
        /// The address.
        addr: IpAddr,
        /// Its class.
        class: AddressClass,
        /// The class of the first answer.
        first: AddressClass,
    },
    /// The resolve rules of the host are for another port than the one in the URL.
    #[error(
        "--resolve gives the address {} for port {} only, and the URL has port {port}: not connected (a rule without a port keeps the port of the URL)",
        .rule.ip(), .rule.port()
    )]
    OtherPort {
        /// Address and port of the first of the rules.
        rule: SocketAddr,
        /// The port in the URL.
        port: u16,
    },
}

/// Decides about addresses: public ones always; those that a seed names, with its port; any in the networks that the operator
/// opened.
#[derive(Debug, Clone, Default)]
pub(super) struct AddressGuard {
    pub(super) allow_net: Vec<IpNet>,
    pub(super) own: OwnSeeds,
}

impl AddressGuard {
    /// Allows an address that is in the URL itself, or returns why not.
    pub(super) fn check_literal(&self, addr: IpAddr, host: &str, port: u16) -> Result<(), BlockedAddress> {
        let class = AddressClass::of(addr);
        let is_own = matches!(class, AddressClass::Loopback | AddressClass::Private);
        if self.is_open(addr) || (is_own && self.own.holds(host, port)) {
            Ok(())
        } else {
            Err(BlockedAddress::Closed { addr, class })
        }
    }

    /// Lets an address of a name through, or says why not. `first` is the class of the name's first answer, if there was one.
    ///
    /// A seed's name opens nothing: who controls the name would choose what it opens. `localhost` alone can't be moved.
    pub(super) fn check_name(
        &self,
        addr: IpAddr,
        host: &str,
        port: u16,
        first: Option<AddressClass>,
    ) -> Result<(), BlockedAddress> {
        let class = AddressClass::of(addr);
        let is_own = class == AddressClass::Loopback && self.own.holds(host, port);
        if !self.is_open(addr) && !is_own {
            return Err(BlockedAddress::Closed { addr, class });
        }
        match first {
            Some(first) if first != class => Err(BlockedAddress::Changed { addr, class, first }),
            _ => Ok(()),
        }
    }

    /// Whether an address is open to every host.
    pub(super) fn is_open(&self, addr: IpAddr) -> bool {
        AddressClass::of(addr) == AddressClass::Public || self.is_allowed(addr)
    }

    fn is_allowed(&self, addr: IpAddr) -> bool {
        let inner = match addr {
            IpAddr::V6(v6) => embedded_v4(v6).map(IpAddr::V4),
            IpAddr::V4(_) => None,
        };
        self.allow_net.iter().any(|net| net.contains(&addr) || inner.is_some_and(|v4| net.contains(&v4)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressClass::{Loopback, Private, Public};

    fn addr(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_is_open_where_it_is_public_or_the_operator_named_it() {
        let nets = ["10.1.0.0/16", "169.254.7.0/24", "fe80::/64"].map(|n| n.parse().unwrap()).to_vec();
        let seeds =
            ["http://127.0.0.1:8080/a", "http://10.9.9.9/", "http://[::1]/", "http://[::ffff:10.2.2.3]/"];
        let seeds = seeds.map(|url| url.parse().unwrap());
        let closed = AddressGuard::default();
        let seeded = AddressGuard { own: OwnSeeds::of(&seeds), ..AddressGuard::default() };
        let allowed = AddressGuard { allow_net: nets, ..AddressGuard::default() };
        for (text, port, by_default, for_seeds, when_allowed) in [
            ("8.8.8.8", 80, true, true, true),
            ("127.0.0.1", 8080, false, true, false),
            ("127.0.0.1", 80, false, false, false),
            ("127.0.0.2", 8080, false, false, false),
            ("10.9.9.9", 80, false, true, false),
            ("10.9.9.9", 443, false, false, false),
            ("::1", 80, false, true, false),
            ("::1", 8080, false, false, false),
            ("10.1.2.3", 80, false, false, true),
            ("10.2.2.3", 80, false, false, false),
            ("169.254.7.9", 80, false, false, true),
            ("169.254.169.254", 80, false, false, false),
            ("224.0.0.1", 80, false, false, false),
            ("fe80::7", 80, false, false, true),
            ("::ffff:10.1.2.3", 80, false, false, true),
            ("::ffff:10.2.2.3", 80, false, true, false),
        ] {
            let host =
                url::Host::parse(&if text.contains(':') { format!("[{text}]") } else { text.to_owned() });
            let host = host.unwrap().to_string();
            let is_open = |guard: &AddressGuard| guard.check_literal(addr(text), &host, port).is_ok();
            assert_eq!(is_open(&closed), by_default, "{text}:{port} by default");
            assert_eq!(is_open(&seeded), for_seeds, "{text}:{port} for seeds");
            assert_eq!(is_open(&allowed), when_allowed, "{text}:{port} when allowed");
            // No seed names it: a name has what all names have.
            assert_eq!(
                seeded.check_name(addr(text), "a.test", port, None).is_ok(),
                by_default,
                "{text} by name"
            );
        }
    }

    #[test]
    fn localhost_opens_the_port_of_its_seed_and_loopback_alone() {
        let seeds =
            ["http://localhost:8080/", "https://dev.localhost./", "http://intranet/", "http://local.host/"];
        let guard = AddressGuard {
            own: OwnSeeds::of(seeds.map(|url| url.parse::<url::Url>().unwrap())),
            ..AddressGuard::default()
        };
        for (host, port, text, expected) in [
            ("localhost", 8080, "127.0.0.1", true),
            ("localhost", 8080, "::1", true),
            ("localhost", 8081, "127.0.0.1", false),
            ("localhost", 8080, "10.0.0.1", false),
            ("dev.localhost", 443, "127.0.0.1", true),
            ("dev.localhost", 80, "127.0.0.1", false),
            ("other.localhost", 443, "127.0.0.1", false),
            ("intranet", 80, "10.0.0.1", false),
            ("intranet", 80, "127.0.0.1", false),
            ("local.host", 80, "127.0.0.1", false),
            ("intranet", 80, "8.8.8.8", true),
        ] {
            assert_eq!(
                guard.check_name(addr(text), host, port, None).is_ok(),
                expected,
                "{host}:{port} {text}"
            );
        }
    }

    #[test]
    fn a_name_keeps_the_class_of_its_first_answer() {
        let nets = vec!["127.0.0.0/8".parse().unwrap(), "10.0.0.0/8".parse().unwrap()];
        let guard = AddressGuard { allow_net: nets, ..AddressGuard::default() };
        for (first, text, expected) in [
            (Public, "1.1.1.1", true),
            (Public, "2606:4700::1", true),
            (Public, "127.0.0.1", false),
            (Public, "10.0.0.1", false),
            (Public, "::ffff:10.0.0.1", false),
            (Loopback, "127.0.0.9", true),
            (Loopback, "10.0.0.1", false),
            (Loopback, "1.1.1.1", false),
            (Private, "10.9.0.1", true),
            (Private, "192.168.0.1", false),
        ] {
            let found = guard.check_name(addr(text), "a.test", 80, Some(first));
            assert_eq!(found.is_ok(), expected, "{first:?} {text}");
            assert!(guard.check_name(addr(text), "a.test", 80, None).is_ok() || text == "192.168.0.1");
        }
        let error = guard.check_name(addr("127.0.0.1"), "a.test", 80, Some(Public)).unwrap_err().to_string();
        assert!(error.contains("loopback") && error.contains("public"), "{error}");
        let error = guard.check_name(addr("192.168.0.1"), "a.test", 80, None).unwrap_err().to_string();
        assert!(error.contains("--allow-net 192.168.0.1/32"), "{error}");
    }
}
