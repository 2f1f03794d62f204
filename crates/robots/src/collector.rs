//! A body that arrives in chunks, kept within the size limit.

use crate::{Agent, Options, Robots};

/// Collects the chunks of a body up to the limit, and no byte more than is needed to see that it was longer.
///
/// ```
/// use robots::{Agent, Collector, Options};
///
/// let options = Options::default();
/// let mut body = Collector::new(&options);
/// for chunk in [&b"User-agent: *\nDis"[..], b"allow: /x\n"] {
///     if !body.push(chunk) {
///         break; // long enough: stop reading
///     }
/// }
/// let robots = body.parse(&Agent::new("SuperRobot/1.0"), &options, None);
/// assert!(!robots.verdict("/x").allowed);
/// ```
#[derive(Debug, Clone)]
pub struct Collector {
    bytes: Vec<u8>,
    most: usize,
}

impl Collector {
    /// Makes an empty collector that keeps [`Options::max_bytes`] and one.
    pub fn new(options: &Options) -> Self {
        Self { bytes: Vec::new(), most: options.max_bytes.saturating_add(1) }
    }

    /// Takes the next decoded chunk; answers whether more bytes could still matter.
    pub fn push(&mut self, chunk: &[u8]) -> bool {
        let room = self.most - self.bytes.len();
        self.bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        self.bytes.len() < self.most
    }

    /// Returns what was kept: at most one byte more than the limit.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads what was collected, as [`Robots::parse`] would read the whole body.
    pub fn parse(&self, agent: &Agent, options: &Options, site: Option<&str>) -> Robots {
        Robots::parse(&self.bytes, agent, options, site)
    }
}
