//! A name server over UDP (RFC 1035) that says what a test tells it to say.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A running name server; its thread ends with the process.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    asked: Arc<Mutex<HashMap<String, usize>>>,
}

impl NameServer {
    /// Answers questions for IPv4 addresses by `says`, which is given the name (lower case, with its final dot) and how often it
    /// was asked for before. The answers may not be kept for any time. There is no IPv6 address.
    ///
    /// # Panics
    /// If this machine gives no port on loopback.
    pub fn start(says: impl Fn(&str, usize) -> Vec<Ipv4Addr> + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port on loopback");
        let address = socket.local_addr().expect("a bound socket has an address");
        let asked: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
        let counts = Arc::clone(&asked);
        thread::spawn(move || {
            let mut bytes = [0; 1500];
            while let Ok((size, client)) = socket.recv_from(&mut bytes) {
                let Some((name, end)) = question(&bytes[..size]) else { continue };
                let query = &bytes[..size];
                let found = match query.get(end..end + 2) {
                    Some([0, 1]) => {
                        let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                        let nth = counts.entry(name.clone()).or_default();
                        *nth += 1;
                        says(&name, *nth - 1)
                    }
                    Some(_) => Vec::new(),
                    None => continue,
                };
                // A client that went away is no concern of a name server.
                let _sent = socket.send_to(&message(query, end, &found), client);
            }
        });
        Self { address, asked }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The lines of a configuration that has names looked up here.
    pub fn config(&self) -> String {
        format!("[fetch]\ndns = [\"{}\"]\n", self.address)
    }

    /// How often a name's IPv4 address was asked for.
    pub fn asked(&self, name: &str) -> usize {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied().unwrap_or_default()
    }
}

/// The name in a query, and the position of its type.
fn question(query: &[u8]) -> Option<(String, usize)> {
    let (mut name, mut at) = (String::new(), 12);
    loop {
        let length = usize::from(*query.get(at)?);
        if length == 0 {
            return Some((name.to_ascii_lowercase(), at + 1));
        }
        name.push_str(&String::from_utf8_lossy(query.get(at + 1..at + 1 + length)?));
        name.push('.');
        at += 1 + length;
    }
}

/// RFC 1035 section 4.1: the question again, and addresses that hold for no time.
fn message(query: &[u8], end: usize, found: &[Ipv4Addr]) -> Vec<u8> {
    let mut bytes = vec![query[0], query[1], 0x81, 0x80, 0, 1, 0, found.len() as u8, 0, 0, 0, 0];
    bytes.extend_from_slice(&query[12..end + 4]);
    for addr in found {
        bytes.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        bytes.extend(addr.octets());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_answered_with_what_was_said_for_it() {
        let server = NameServer::start(|name, nth| match name {
            "a.test." => vec![Ipv4Addr::new(127, 0, 0, 1 + nth as u8)],
            _ => Vec::new(),
        });
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut bytes = [0; 100];
        for last in [1, 2] {
            let query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01A\x04tEst\x00\x00\x01\x00\x01";
            socket.send_to(query, server.address()).unwrap();
            let size = socket.recv(&mut bytes).unwrap();
            assert_eq!(bytes[..8], [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1]);
            assert_eq!(bytes[size - 4..size], [127, 0, 0, last]);
        }
        assert_eq!((server.asked("a.test."), server.asked("b.test.")), (2, 0));
    }
}
