//! JSON that is safe to print: characters that could control a terminal are escaped, which JSON readers undo.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use page::clean::escaped;

/// Writes one value on one line.
pub fn write_line<W: Write + ?Sized>(out: &mut W, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Printable))?;
    out.write_all(b"\n")
}

/// Writes one value.
pub(super) fn write<W: Write>(out: &mut W, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Printable))?;
    Ok(())
}

/// Writes what is JSON already. Characters that could control a terminal are only in its strings.
pub(super) fn write_fragment<W: Write>(out: &mut W, json: &str) -> io::Result<()> {
    Printable.write_string_fragment(out, json)
}

/// As serde's compact form; C1 controls and characters that reorder text or are invisible are escaped as well.
struct Printable;

impl Formatter for Printable {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        out.write_all(escaped(fragment).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped_and_comes_back() {
        let text = "a\u{1b}[2J\u{9b}31m\u{202e}\u{7f}ä漢\n\"";
        let mut line = Vec::new();
        write_line(&mut line, &[text]).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, "[\"a\\u001b[2J\\u009b31m\\u202e\\u007fä漢\\n\\\"\"]\n");
        assert_eq!(serde_json::from_str::<Vec<String>>(&line).unwrap(), [text]);
    }
}
