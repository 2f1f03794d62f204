//! HTTP/2 by hand (RFC 9113): frames as a hostile server writes them.

use std::io;

use super::wire::Wire;

/// DATA.
pub const DATA: u8 = 0;
/// HEADERS.
pub const HEADERS: u8 = 1;
/// `RST_STREAM`.
pub const RESET: u8 = 3;
/// SETTINGS.
pub const SETTINGS: u8 = 4;
/// PING.
pub const PING: u8 = 6;
/// GOAWAY.
pub const GOAWAY: u8 = 7;
/// `WINDOW_UPDATE`.
pub const WINDOW_UPDATE: u8 = 8;
/// CONTINUATION.
pub const CONTINUATION: u8 = 9;

/// Flag: the stream ends; of SETTINGS and PING: acknowledgement.
pub const END_STREAM: u8 = 1;
/// Flag: the header section ends.
pub const END_HEADERS: u8 = 4;

/// `:status: 200` of HPACK's static table (RFC 7541 appendix A).
pub const STATUS_200: u8 = 0x88;
/// `:status: 404`.
pub const STATUS_404: u8 = 0x8d;

/// The client's first bytes (RFC 9113 section 3.4).
const PREFACE: usize = 24;

/// A frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Reads the preface and gives our empty SETTINGS; nothing where that was done.
pub fn greet(wire: &mut Wire) -> io::Result<()> {
    if std::mem::replace(&mut wire.greeted, true) {
        return Ok(());
    }
    wire.read_exact(PREFACE)?;
    wire.send(frame(SETTINGS, 0, 0, &[]))
}

/// Reads frames until a request has come, acknowledging SETTINGS and PING; gives its stream.
pub fn request(wire: &mut Wire) -> io::Result<u32> {
    loop {
        let (kind, flags, stream, payload) = read(wire)?;
        match kind {
            HEADERS => return Ok(stream),
            SETTINGS if flags & END_STREAM == 0 => wire.send(frame(SETTINGS, END_STREAM, 0, &[]))?,
            PING if flags & END_STREAM == 0 => wire.send(frame(PING, END_STREAM, 0, &payload))?,
            _ => {}
        }
    }
}

/// Reads one frame: type, flags, stream, payload.
pub fn read(wire: &mut Wire) -> io::Result<(u8, u8, u32, Vec<u8>)> {
    let head = wire.read_exact(9)?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
    Ok((head[3], head[4], stream, wire.read_exact(length)?))
}

/// Answers the first request, which is the one for robots.txt, with 404. The connection stays.
pub(super) fn without_robots(wire: &mut Wire) -> io::Result<()> {
    greet(wire)?;
    let stream = request(wire)?;
    wire.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, &[STATUS_404]))
}
