//! Which addresses a crawl may connect to.
//!
//! Source: the IANA special-purpose address registries for IPv4 and IPv6 (RFC 6890 and its successors).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::own::OwnSeeds;

/// Says what kind of network an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddressClass {
    /// Anywhere on the internet.
    Public,
    /// This machine: 127/8, `::1`.
    Loopback,
    /// A network of one's own: 10/8, 172.16/12, 192.168/16, 100.64/10, `fc00::/7`, `fec0::/10`.
    Private,
    /// This cable, cloud metadata services included: 169.254/16, `fe80::/10`.
    LinkLocal,
    /// Neither of these: multicast, documentation, benchmarks, tunnels, this network, future use.
    Reserved,
}

impl AddressClass {
    /// Classifies an address; an IPv6 address that carries an IPv4 address is of the class of that.
    pub fn of(addr: IpAddr) -> Self {
        match addr {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => embedded_v4(v6).map_or_else(|| Self::of_v6(v6), Self::of_v4),
        }
    }

    fn of_v4(addr: Ipv4Addr) -> Self {
        match addr.octets() {
            [127, ..] => Self::Loopback,
            [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Self::Private,
            [169, 254, ..] => Self::LinkLocal,
            [0 | 224.., ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _] => Self::Reserved,
            _ => Self::Public,
        }
    }

    fn of_v6(addr: Ipv6Addr) -> Self {
        match addr.segments() {
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..] => Self::Private,
            [0xfe80..=0xfebf, ..] => Self::LinkLocal,
            // Protocol assignments (Teredo, ORCHID, benchmarks) and documentation, inside global unicast.
            [0x2001, 0..=0x01ff | 0x0db8, ..] | [0x3fff, 0..=0x0fff, ..] => Self::Reserved,
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Reserved,
        }
    }

    /// Its name in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::LinkLocal => "link-local",
            Self::Reserved => "reserved",
        }
    }
}

/// The address under which a machine is booked where hosts of one address take turns: an IPv4 address and the IPv6 forms that
/// lead to the same machine (mapped, compatible, NAT64) are one.
pub fn machine(addr: IpAddr) -> IpAddr {
    match addr {
        // The router of a 6to4 address isn't the machine behind it.
        IpAddr::V6(v6) if v6.segments()[0] != 0x2002 => embedded_v4(v6).map_or(addr, IpAddr::V4),
        _ => addr,
    }
}

/// Returns the IPv4 address inside a mapped, compatible, 6to4 or NAT64 address.
///
/// Source: RFC 4291 section 2.5.5, RFC 3056, RFC 6052.
fn embedded_v4(addr: Ipv6Addr) -> Option<Ipv4Addr> {
    let bits = addr.to_bits();
    let last = bits as u32;
    match bits >> 32 {
        0xffff | 0x0064_ff9b_0000_0000_0000_0000 => Some(Ipv4Addr::from_bits(last)),
        // `::` and `::1` are no compatible addresses.
        0 if last > 1 => Some(Ipv4Addr::from_bits(last)),
        _ if bits >> 112 == 0x2002 => Some(Ipv4Addr::from_bits((bits >> 80) as u32)),
        _ => None,
    }
}

/// Says that an address is closed to this crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlockedAddress {
    /// It isn't public, and nothing opens it.
    #[error("{addr} is a {} address, which is closed (--allow-net {} opens it)", .class.as_str(), IpNet::from(*.addr))]
    Closed {
        /// The address.
        addr: IpAddr,
        /// Its class.
        class: AddressClass,
    },
    /// The first answer for the name, in this crawl, was of another class.
    #[error(
        "the name now has {addr}, a {} address, but its first answer in this crawl was {}: closed (--resolve opens it)",
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
    /// The resolve rules of the host are for another port than the one that stands in the URL.
    #[error(
        "--resolve gives the address {} for port {} alone, and the URL names port {port}: not connected (a rule without a port keeps the port of the URL)",
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
    /// Lets an address through that stands in a URL itself, or says why not.
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
    use AddressClass::{LinkLocal, Loopback, Private, Public, Reserved};

    #[test]
    fn every_special_purpose_block_is_told_from_the_public_internet() {
        for (addr, class) in [
            ("8.8.8.8", Public),
            ("1.1.1.1", Public),
            ("172.15.255.255", Public),
            ("172.32.0.0", Public),
            ("100.63.255.255", Public),
            ("100.128.0.0", Public),
            ("192.0.1.1", Public),
            ("198.17.255.255", Public),
            ("198.20.0.0", Public),
            ("223.255.255.255", Public),
            ("127.0.0.1", Loopback),
            ("127.255.255.254", Loopback),
            ("10.0.0.1", Private),
            ("172.16.0.1", Private),
            ("172.31.255.255", Private),
            ("192.168.1.1", Private),
            ("100.64.0.1", Private),
            ("100.127.255.255", Private),
            ("169.254.169.254", LinkLocal),
            ("0.0.0.0", Reserved),
            ("0.1.2.3", Reserved),
            ("192.0.0.8", Reserved),
            ("192.0.2.1", Reserved),
            ("192.88.99.1", Reserved),
            ("198.18.0.1", Reserved),
            ("198.19.255.255", Reserved),
            ("198.51.100.1", Reserved),
            ("203.0.113.9", Reserved),
            ("224.0.0.1", Reserved),
            ("240.0.0.1", Reserved),
            ("255.255.255.255", Reserved),
            ("2606:4700::1", Public),
            ("2a00:1450:4001::200e", Public),
            ("::1", Loopback),
            ("::", Reserved),
            ("fc00::1", Private),
            ("fdff::1", Private),
            ("fec0::1", Private),
            ("fe80::1", LinkLocal),
            ("ff02::1", Reserved),
            ("2001:db8::1", Reserved),
            ("2001::1", Reserved),
            ("2001:10::1", Reserved),
            ("3fff::1", Reserved),
            ("4000::1", Reserved),
            ("64:ff9b:1::1", Reserved),
            ("100::1", Reserved),
            // An IPv4 address inside, which decides.
            ("::ffff:127.0.0.1", Loopback),
            ("::ffff:8.8.8.8", Public),
            ("::ffff:169.254.169.254", LinkLocal),
            ("::127.0.0.1", Loopback),
            ("::10.0.0.1", Private),
            ("2002:7f00:1::", Loopback),
            ("2002:a00:1::", Private),
            ("2002:808:808::", Public),
            ("64:ff9b::7f00:1", Loopback),
            ("64:ff9b::a9fe:a9fe", LinkLocal),
            ("64:ff9b::808:808", Public),
        ] {
            assert_eq!(AddressClass::of(addr.parse().unwrap()), class, "{addr}");
        }
    }

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
            own: OwnSeeds::of(&seeds.map(|url| url.parse().unwrap())),
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

    #[test]
    fn an_ipv4_address_is_the_same_machine_in_its_ipv6_forms() {
        for (text, expected) in [
            ("1.2.3.4", "1.2.3.4"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
            ("::1.2.3.4", "1.2.3.4"),
            ("64:ff9b::102:304", "1.2.3.4"),
            ("2002:102:304::1", "2002:102:304::1"),
            ("2606:4700::1", "2606:4700::1"),
            ("::1", "::1"),
        ] {
            assert_eq!(machine(addr(text)), addr(expected), "{text}");
        }
    }
}
