//! Tables of text, 100 columns wide.

use page::clean::clean;
use std::io::{self, Write};

/// Columns of a line.
const WIDTH: usize = 100;

/// Blanks before the first column and between columns.
const GAP: usize = 2;

/// The least columns that a column is cut down to.
const LEAST: usize = 12;

/// A cell: its text, and how it is marked where there is colour.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    text: String,
    mark: &'static str,
}

impl Cell {
    pub(super) fn plain(text: &str) -> Self {
        Self { text: clean(text).into_owned(), mark: "" }
    }

    pub(super) fn good(text: &str) -> Self {
        Self { text: clean(text).into_owned(), mark: "32" }
    }

    pub(super) fn bad(text: &str) -> Self {
        Self { text: clean(text).into_owned(), mark: "31" }
    }
}

/// Whether and how words are marked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    pub(super) colour: bool,
}

impl Paint {
    pub(super) fn title(self, text: &str) -> String {
        self.mark("1", &clean(text))
    }

    fn mark(self, code: &str, text: &str) -> String {
        if self.colour && !code.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Prints a table: a header, a rule, the rows. Columns are as wide as their text; where that is too wide, the
/// widest gives way, and its cells go on in the next line.
pub(super) fn table(
    out: &mut dyn Write,
    header: &[&str],
    rows: &[Vec<Cell>],
    paint: Paint,
) -> io::Result<()> {
    let header: Vec<Cell> = header.iter().map(|text| Cell::plain(text)).collect();
    let widest = |measure: fn(&str) -> usize| -> Vec<usize> {
        let of_column = |(column, head): (usize, &Cell)| {
            let cells = rows.iter().filter_map(|row| row.get(column)).chain([head]);
            cells.map(|cell| measure(&cell.text)).max().unwrap_or(0)
        };
        header.iter().enumerate().map(of_column).collect()
    };
    let mut widths = widest(length);
    shrink(&mut widths, &widest(|text| text.split(' ').map(length).max().unwrap_or(0)));
    let rule: Vec<Cell> = widths.iter().map(|width| Cell::plain(&"-".repeat(*width))).collect();
    for row in [&header, &rule].into_iter().chain(rows) {
        print_row(out, row, &widths, paint)?;
    }
    Ok(())
}

/// Takes columns from the widest until all fit: first by breaking at blanks, then within words.
fn shrink(widths: &mut [usize], longest_words: &[usize]) {
    for floors in [longest_words.to_vec(), vec![LEAST; widths.len()]] {
        while widths.iter().map(|width| width + GAP).sum::<usize>() > WIDTH {
            let above = widths.iter_mut().zip(&floors).filter(|(width, floor)| **width > **floor);
            let Some((widest, _)) = above.max_by_key(|(width, _)| **width) else { break };
            *widest -= 1;
        }
    }
}

fn print_row(out: &mut dyn Write, row: &[Cell], widths: &[usize], paint: Paint) -> io::Result<()> {
    let wrapped: Vec<Vec<String>> =
        row.iter().zip(widths).map(|(cell, width)| wrap(&cell.text, *width)).collect();
    for line in 0..wrapped.iter().map(Vec::len).max().unwrap_or(0) {
        let mut text = String::new();
        let mut blanks = 0;
        for ((cell, lines), width) in row.iter().zip(&wrapped).zip(widths) {
            let part = lines.get(line).map_or("", String::as_str);
            blanks += GAP;
            if !part.is_empty() {
                text.extend(std::iter::repeat_n(' ', blanks));
                text.push_str(&paint.mark(cell.mark, part));
                blanks = 0;
            }
            // Kept back until something follows: no blanks at the end of a line.
            blanks += width - length(part);
        }
        writeln!(out, "{text}")?;
    }
    Ok(())
}

/// Breaks text into lines of at most `width` characters: at blanks, and within a word that is longer than a
/// line.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut room = width;
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        let last = lines.len() - 1;
        if !lines[last].is_empty() {
            if word.len() < room {
                lines[last].push(' ');
                room -= 1;
            } else {
                lines.push(String::new());
                room = width;
            }
        }
        while word.len() > room {
            let rest = word.split_off(room);
            if let Some(line) = lines.last_mut() {
                line.extend(word);
            }
            lines.push(String::new());
            (word, room) = (rest, width);
        }
        room -= word.len();
        if let Some(line) = lines.last_mut() {
            line.extend(word);
        }
    }
    lines
}

/// Columns that a text takes. Characters stand for columns: what is printed here are URLs and directives,
/// which are ASCII.
fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::{Cell, Paint, table, wrap};
    use proptest::prelude::*;

    #[test]
    fn lines_break_at_blanks_and_long_words_anywhere() {
        for (text, width, lines) in [
            ("", 5, vec![""]),
            ("ab cd", 5, vec!["ab cd"]),
            ("ab cde", 5, vec!["ab", "cde"]),
            ("abcdefgh i", 5, vec!["abcde", "fgh i"]),
            ("ab cdefghijk", 5, vec!["ab", "cdefg", "hijk"]),
        ] {
            assert_eq!(wrap(text, width), lines, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_100_columns_and_none_ends_in_a_blank(
            rows in prop::collection::vec(prop::collection::vec("[a-z/?= ]{0,150}", 4), 0..5)
        ) {
            let cells = |row: &Vec<String>| row.iter().map(|text| Cell::plain(text)).collect();
            let rows: Vec<Vec<Cell>> = rows.iter().map(cells).collect();
            let mut out = Vec::new();
            table(&mut out, &["one", "two", "three", "four"], &rows, Paint { colour: false }).unwrap();
            let text = String::from_utf8(out).unwrap();
            for line in text.lines() {
                prop_assert!(line.chars().count() <= 100, "{line}");
            }
            let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).count();
            let given: usize = rows.iter().flatten().map(|cell| letters(&cell.text)).sum();
            prop_assert_eq!(letters(&text), given + letters("onetwothreefour"));
        }
    }
}
