//! Addresses of hosts: which kind of network each belongs to, and where a host is booked.
//!
//! Source: the IANA special-purpose address registries for IPv4 and IPv6 (RFC 6890 and its successors).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// Why a text isn't an address with an optional port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It begins with `[`, and has no `]`.
    #[error("no closing bracket")]
    Bracket,
    /// What should be the address isn't one.
    #[error("no address; put an IPv6 address in brackets")]
    Address,
    /// Something other than a colon follows the bracket.
    #[error("no colon before the port")]
    Colon,
    /// What should be the port isn't a number from 1 to 65535.
    #[error("no port")]
    Port,
}

/// Reads `ADDR` or `ADDR:PORT`; an IPv6 address is in brackets, with a port or without.
pub(crate) fn parse_with_port(text: &str) -> Result<(IpAddr, Option<u16>), AddressError> {
    let (address, rest) = if let Some(inner) = text.strip_prefix('[') {
        let (address, rest) = inner.split_once(']').ok_or(AddressError::Bracket)?;
        (address.parse().map(IpAddr::V6), rest)
    } else {
        let (address, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        (address.parse().map(IpAddr::V4), rest)
    };
    let address = address.map_err(|_| AddressError::Address)?;
    if rest.is_empty() {
        return Ok((address, None));
    }
    let port = rest.strip_prefix(':').ok_or(AddressError::Colon)?;
    let port = port.parse().ok().filter(|&port| port != 0).ok_or(AddressError::Port)?;
    Ok((address, Some(port)))
}

/// What kind of network an address belongs to.
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
pub(crate) fn embedded_v4(addr: Ipv6Addr) -> Option<Ipv4Addr> {
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

/// The address that a host is booked on, so that no other host is asked there at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Booked {
    /// Connect here and nowhere else.
    At(IpAddr),
    /// It had none when it was looked up: connect nowhere.
    Nowhere,
}

#[cfg(test)]
mod tests {
    use super::AddressClass::{LinkLocal, Loopback, Private, Public, Reserved};
    use super::*;

    #[test]
    fn an_address_may_have_a_port() {
        for (text, address, port) in [
            ("127.0.0.1", "127.0.0.1", None),
            ("127.0.0.1:53", "127.0.0.1", Some(53)),
            ("[::1]", "::1", None),
            ("[::1]:65535", "::1", Some(65_535)),
        ] {
            assert_eq!(parse_with_port(text), Ok((address.parse().unwrap(), port)), "{text}");
        }
        for (text, error) in [
            ("", AddressError::Address),
            ("localhost", AddressError::Address),
            ("::1", AddressError::Address),
            ("[127.0.0.1]", AddressError::Address),
            ("[::1", AddressError::Bracket),
            ("[::1]53", AddressError::Colon),
            ("127.0.0.1:", AddressError::Port),
            ("127.0.0.1:0", AddressError::Port),
            ("127.0.0.1:65536", AddressError::Port),
            ("127.0.0.1:x", AddressError::Port),
        ] {
            assert_eq!(parse_with_port(text), Err(error), "{text}");
        }
    }

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
