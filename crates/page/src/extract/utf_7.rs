//! UTF-7 (RFC 2152), which browsers no longer read and pages of the nineties were written in.

/// Decodes UTF-7; what isn't valid is omitted.
pub(super) fn decode(body: &[u8]) -> String {
    let mut text = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'+' {
            if byte.is_ascii() {
                text.push(char::from(byte));
            }
            continue;
        }
        let end = rest.iter().position(|&b| value(b).is_none()).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after.strip_prefix(b"-").unwrap_or(after);
        if run.is_empty() {
            text.push('+');
        }
        let (mut bits, mut held): (u32, u32) = (0, 0);
        let mut units = Vec::with_capacity(run.len() / 2);
        for digit in run.iter().filter_map(|&b| value(b)) {
            bits = bits << 6 & 0x3f_ffff | digit;
            held += 6;
            if held >= 16 {
                held -= 16;
                units.push((bits >> held & 0xffff) as u16);
            }
        }
        text.extend(char::decode_utf16(units).filter_map(Result::ok));
    }
    text
}

/// The value of a base64 digit.
fn value(byte: u8) -> Option<u32> {
    Some(u32::from(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc2152_examples() {
        for (utf_7, wanted) in [
            ("A+ImIDkQ.", "A\u{2262}\u{391}."),
            ("Hi Mom -+Jjo--!", "Hi Mom -\u{263a}-!"),
            ("+ZeVnLIqe-", "\u{65e5}\u{672c}\u{8a9e}"),
            ("Item 3 is +AKM-1.", "Item 3 is \u{a3}1."),
            ("1 +- 1 = 2", "1 + 1 = 2"),
            ("+ADw-meta name+AD0AIg-robots+ACI +AD4", "<meta name=\"robots\" >"),
            ("+2D3cqQ-", "\u{1f4a9}"),
            ("+2D0-\u{e9}+", "+"),
        ] {
            assert_eq!(decode(utf_7.as_bytes()), wanted, "{utf_7}");
        }
    }
}
