//! Listeners and threads of the hostile web. Each host sits on an address of 127.0.0.0/8 and a port of its own.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use socket2::{Domain, Socket, Type};

use super::certificates::{Authority, Fault};
use super::frames;
use super::http;
use super::log::{Contact, Log};
use super::scenario::{At, Scenario, Serve, Tls};
use super::wire::{Wire, now};

/// The running hosts of some scenarios. Their threads end with the process.
#[derive(Debug)]
pub struct HostileWeb {
    authority: Authority,
    rules: String,
    logs: HashMap<&'static str, Arc<Log>>,
    secrets: Arc<Log>,
    // Keeps the black holes' queues full.
    held: Vec<(Socket, Vec<Socket>)>,
}

struct Host {
    scenario: Scenario,
    log: Arc<Log>,
    tls: Option<Arc<ServerConfig>>,
    connections: AtomicUsize,
}

impl HostileWeb {
    /// Starts the hosts.
    ///
    /// # Panics
    /// If this machine gives no listener on loopback.
    pub fn start(scenarios: &[Scenario]) -> Self {
        let zero = now();
        let authority = Authority::new();
        let secret = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
        let secret_port = secret.local_addr().expect("a bound socket has an address").port();
        let secrets = Arc::new(Log::new("secret".to_owned(), secret_port, zero));
        guard_secret(secret, Arc::clone(&secrets));
        let mut web =
            Self { authority, rules: String::new(), logs: HashMap::new(), secrets, held: Vec::new() };
        for (n, scenario) in scenarios.iter().enumerate() {
            let host = scenario.host();
            let log = Arc::new(Log::new(host.clone(), secret_port, zero));
            let known = web.logs.insert(scenario.name, Arc::clone(&log));
            assert!(known.is_none(), "two scenarios are called {}", scenario.name);
            let own = SocketAddr::from((Ipv4Addr::new(127, 0, 1 + (n / 250) as u8, 1 + (n % 250) as u8), 0));
            let address = match scenario.serve {
                Serve::NoName => continue,
                Serve::BlackHole => web.black_hole(own),
                Serve::Nobody => {
                    // Bound, so that nobody else gets the port; not listening.
                    let socket = bound(own);
                    let address = local(&socket);
                    web.held.push((socket, Vec::new()));
                    address
                }
                Serve::Answer(_) | Serve::Wire(_) => {
                    let listener = TcpListener::bind(own).expect("a port on loopback");
                    let address = listener.local_addr().expect("a bound socket has an address");
                    let tls = match scenario.tls {
                        Tls::None | Tls::Raw => None,
                        Tls::Http1(fault) => Some(web.authority.server(&host, fault, "http/1.1")),
                        Tls::Http2 => Some(web.authority.server(&host, Fault::None, "h2")),
                    };
                    let host =
                        Arc::new(Host { scenario: *scenario, log, tls, connections: AtomicUsize::new(0) });
                    thread::spawn(move || {
                        for stream in listener.incoming().map_while(Result::ok) {
                            let host = Arc::clone(&host);
                            // A client that goes away in the middle is what is wanted here.
                            thread::spawn(move || drop(host.serve(stream)));
                        }
                    });
                    address
                }
            };
            let _ = writeln!(web.rules, "{host}:{address}");
        }
        web
    }

    fn black_hole(&mut self, own: SocketAddr) -> SocketAddr {
        let socket = bound(own);
        socket.listen(0).expect("a bound socket can listen");
        let address = local(&socket);
        // The queue holds one; what comes after it gets no response.
        let fillers = (0..4).map(|_| {
            let filler = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            filler.set_nonblocking(true).expect("a socket can be made not to wait");
            let _under_way = filler.connect(&address.into());
            filler
        });
        let fillers = fillers.collect();
        self.held.push((socket, fillers));
        address
    }

    /// The lines of a resolve file.
    pub fn resolve(&self) -> &str {
        &self.rules
    }

    /// The certificate authority that the crawl is to trust, as PEM.
    pub fn authority(&self) -> String {
        self.authority.pem()
    }

    /// What a host saw.
    ///
    /// # Panics
    /// If there is no such scenario.
    pub fn contacts(&self, name: &str) -> Vec<Contact> {
        self.logs[name].contacts()
    }

    /// What came to the port that no crawl may ask for anything.
    pub fn secrets(&self) -> Vec<Contact> {
        self.secrets.contacts()
    }
}

fn bound(address: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&address.into()).expect("a port on loopback");
    socket
}

fn local(socket: &Socket) -> SocketAddr {
    socket.local_addr().ok().and_then(|address| address.as_socket()).expect("a bound socket has an address")
}

/// Takes every connection and gives what no crawl may have.
fn guard_secret(listener: TcpListener, log: Arc<Log>) {
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let log = Arc::clone(&log);
            thread::spawn(move || {
                let mut wire = Wire::plain(stream, log, 0);
                let _path = wire.request();
                let _sent = wire.send(http::page("<title>secret</title>"));
            });
        }
    });
}

impl Host {
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let nth = self.connections.fetch_add(1, Ordering::Relaxed);
        let wire = |nth| -> io::Result<Wire> {
            Ok(match &self.tls {
                None => Wire::plain(stream, Arc::clone(&self.log), nth),
                Some(config) => {
                    let session = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                    Wire::tls(StreamOwned::new(session, stream), Arc::clone(&self.log), nth)
                }
            })
        };
        match (self.scenario.serve, self.scenario.at) {
            (Serve::Wire(treat), At::Everything) => treat(&mut wire(nth)?),
            (Serve::Wire(treat), At::Pages) if self.scenario.tls == Tls::Http2 => {
                let mut wire = wire(nth)?;
                if nth == 0 {
                    frames::without_robots(&mut wire)?;
                }
                treat(&mut wire)
            }
            (Serve::Wire(treat), At::Pages) if nth > 0 => treat(&mut wire(nth - 1)?),
            (Serve::Wire(_), At::Pages) => {
                let mut wire = wire(0)?;
                let _ask = wire.request()?;
                wire.send(http::answer(404, &["Connection: close"], ""))
            }
            (Serve::Answer(answer), at) => {
                let mut wire = wire(nth)?;
                loop {
                    let ask = wire.request()?;
                    let is_robots = ask.path == "/robots.txt" && at == At::Pages;
                    let bytes = if is_robots { http::answer(404, &[], "") } else { answer(&ask) };
                    wire.send(bytes)?;
                }
            }
            _ => Ok(()),
        }
    }
}
