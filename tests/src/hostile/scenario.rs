//! What a scenario is: data.

use std::io;

use super::certificates::Fault;
use super::wire::{Ask, Wire};

/// One hostile host: how it answers, and what a crawl of it must come to.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name; the host is `NAME.test`.
    pub name: &'static str,
    /// The hazard that it stands for: a key of the suite's table of hazards.
    pub hazard: &'static str,
    /// How it answers.
    pub serve: Serve,
    /// Which of its answers are meant.
    pub at: At,
    /// TLS, where it speaks it.
    pub tls: Tls,
    /// Paths of its seeds.
    pub seeds: &'static [&'static str],
    /// What must be true afterwards.
    pub expect: &'static [Expect],
}

/// How a host answers.
#[derive(Clone, Copy, Debug)]
pub enum Serve {
    /// Request by request, on kept connections, with the bytes that the function gives.
    Answer(fn(&Ask) -> Vec<u8>),
    /// Connection by connection, from the first byte on.
    Wire(fn(&mut Wire) -> io::Result<()>),
    /// It listens, but never takes a connection.
    BlackHole,
    /// Nobody listens.
    Nobody,
    /// Its name isn't known to anybody.
    NoName,
}

/// Which requests the hostile part of a scenario gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Pages: robots.txt is a plain 404.
    Pages,
    /// Everything, robots.txt first.
    Everything,
}

/// What a host's TLS is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// None: plain HTTP.
    None,
    /// HTTP/1.1 over TLS.
    Http1(Fault),
    /// HTTP/2 over TLS.
    Http2,
    /// Asked over TLS, but the handler gets the plain connection.
    Raw,
}

/// One thing that must be true of a host after the crawl. Paths are those of the host.
#[derive(Clone, Copy, Debug)]
pub enum Expect {
    /// Table `errors` has the page, with one of these kinds.
    Fails(&'static str, &'static [&'static str]),
    /// Table `pages` has the page, with this status and no error.
    Answers(&'static str, u16),
    /// The page has a record, as an answer or as a failure: which of them is the client's free choice, or chance.
    Settled(&'static str),
    /// The page has this title.
    Title(&'static str, &'static str),
    /// The page was cut, on the `wire` or as `decoded`.
    Cut(&'static str, &'static str),
    /// A limit of reading was hit.
    Hits(&'static str, &'static str),
    /// The page has this encoding.
    Charset(&'static str, &'static str),
    /// The page has this many links.
    Links(&'static str, u64),
    /// Table `skipped` has a URL that holds this text, with this reason.
    Skips(&'static str, &'static str),
    /// Table `ledger` has this decision about a URL of the host that holds this text.
    Decides(&'static str, &'static str),
    /// The server never saw a request for a path that begins so.
    Never(&'static str),
    /// The server saw so many requests for this path.
    Asked(&'static str, usize),
    /// The server saw no request for anything but robots.txt.
    NoPages,
    /// The host's robots.txt status holds this text.
    Robots(&'static str),
    /// The server saw at most so many requests.
    AtMost(usize),
    /// The server saw at least so many requests.
    AtLeast(usize),
    /// No request had to wait for a pause of the whole host.
    NoPause,
    /// The host waits for this reason, with its URLs queued.
    Waits(&'static str),
}

impl Scenario {
    /// A scenario whose robots.txt is a plain 404, over plain HTTP, with its front page as the seed.
    pub const fn pages(
        name: &'static str,
        hazard: &'static str,
        serve: Serve,
        expect: &'static [Expect],
    ) -> Self {
        Self { name, hazard, serve, at: At::Pages, tls: Tls::None, seeds: &["/"], expect }
    }

    /// One that is hostile from robots.txt on.
    pub const fn everything(
        name: &'static str,
        hazard: &'static str,
        serve: Serve,
        expect: &'static [Expect],
    ) -> Self {
        Self { at: At::Everything, ..Self::pages(name, hazard, serve, expect) }
    }

    /// The same with other seeds.
    #[must_use]
    pub const fn seeds(self, seeds: &'static [&'static str]) -> Self {
        Self { seeds, ..self }
    }

    /// The same over TLS.
    #[must_use]
    pub const fn tls(self, tls: Tls) -> Self {
        Self { tls, ..self }
    }

    /// The host.
    pub fn host(&self) -> String {
        match self.serve {
            Serve::NoName => format!("{}.invalid", self.name),
            _ => format!("{}.test", self.name),
        }
    }

    /// Scheme and host.
    pub fn origin(&self) -> String {
        let scheme = if self.tls == Tls::None { "http" } else { "https" };
        format!("{scheme}://{}", self.host())
    }
}
