//! Numbers with their unit, for people. JSON has plain numbers.

/// Returns `1 page`, `2 pages`: a number and a noun with its regular plural.
pub fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns a number with narrow spaces (U+202F) between groups of three digits, for HTML.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Returns a number of bytes in the binary unit that has one to four digits before the point: `512 B`, `78.8 MiB`.
pub fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    // 1023.95 would be written as 1024.0.
    while amount >= 1023.95 && unit + 1 < units.len() {
        amount /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{amount:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let texts = [0, 1, 2, 21].map(|number| count(number, "page"));
        assert_eq!(texts, ["0 pages", "1 page", "2 pages", "21 pages"]);
    }

    #[test]
    fn digits_are_grouped_by_threes_from_the_end() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
    }

    #[test]
    fn sizes_have_binary_units() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1, "1 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (82_638_577, "78.8 MiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (1 << 40, "1.0 TiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }
}
