//! The language of `--where`: a condition on the rows of a table.
//!
//! ```text
//! status >= 400 and host = "x"          title is null or not indexed
//! url ~ "/archive/[0-9]+" and depth < 3 reason in ("robots_txt", "too_deep")
//! keywords = "nails"                    fetched_at >= "2026-03-01"
//! ```
//!
//! A comparison is `COLUMN OP VALUE`, with `=` (or `==`), `!=` (or `<>`), `<`, `<=`, `>`, `>=`, `~` (matches a regular expression), `!~`
//! and `contains`; or `COLUMN in (VALUE, ...)`, `COLUMN not in (...)`, `COLUMN is null`, `COLUMN is not null`; or a column that is true or false by
//! itself. They are joined by `and`, `or`, `not` and parentheses; `and` binds more tightly than `or`. A text is in `"` or `'`, which is
//! written twice within it. A time is a date or a time of RFC 3339 in quotation marks. A list is equal to a value if one of its members is. A
//! comparison with a null is false; so is `!=`.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use regex::Regex;

use crate::scope::{compile_regex, why_no_regex};
use crate::view::{Column, Kind, Rows, Table, UnknownColumn, Value};

/// An expression that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("--where, character {at}: {what}")]
pub struct FilterError {
    /// Where, in characters, from 1.
    pub at: usize,
    /// What is wrong there.
    pub what: String,
}

/// A test of rows.
#[derive(Debug)]
pub struct Filter(Test);

#[derive(Debug)]
enum Test {
    /// True where all of the tests are.
    And(Vec<Test>),
    /// True where one of the tests is.
    Or(Vec<Test>),
    Not(Box<Test>),
    True(usize),
    Null(usize),
    Compare(usize, Op, Value),
    In(usize, Vec<Value>),
    Matches(usize, Regex),
    Contains(usize, String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Number(String),
    Sign(&'static str),
    End,
}

/// How deep parentheses and `not` may be nested.
const DEEPEST: usize = 64;

/// Bytes of an expression.
const LONGEST: usize = 64 * 1024;

/// Regular expressions of an expression.
const REGEXES: usize = 8;

/// Bytes that one of them may take when it is compiled.
const REGEX_BYTES: usize = 2 << 20;

impl Filter {
    /// Reads an expression about the columns of rows.
    pub fn parse(text: &str, rows: &Rows<'_>) -> Result<Self, FilterError> {
        Self::of(text, rows.table(), rows.columns())
    }

    /// Reads an expression about these columns of a table.
    pub fn of(text: &str, table: Table, columns: &[Column]) -> Result<Self, FilterError> {
        if text.len() > LONGEST {
            let what = format!("the expression is longer than {LONGEST} bytes");
            return Err(FilterError { at: LONGEST + 1, what });
        }
        let mut parser = Parser { tokens: tokens(text)?, next: 0, table, columns, depth: 0, regexes: 0 };
        let condition = parser.either()?;
        match parser.peek() {
            Token::End => Ok(Self(condition)),
            other => {
                Err(parser.error(&format!("expected `and`, `or` or the end, found {}", describe(other))))
            }
        }
    }

    /// Whether a row passes.
    pub fn passes(&self, row: &[Value]) -> bool {
        self.0.passes(row)
    }
}

fn describe(token: &Token) -> String {
    match token {
        Token::Word(word) => format!("`{word}`"),
        Token::Text(text) => format!("the text {text:?}"),
        Token::Number(number) => format!("`{number}`"),
        Token::Sign(sign) => format!("`{sign}`"),
        Token::End => "the end".to_owned(),
    }
}

/// The tokens with the places of their first characters.
fn tokens(text: &str) -> Result<Vec<(usize, Token)>, FilterError> {
    const SIGNS: [&str; 13] = ["<=", ">=", "!=", "<>", "==", "!~", "=", "<", ">", "~", "(", ")", ","];
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut place = 0;
    while let Some(&c) = characters.get(place) {
        let at = place + 1;
        if c.is_whitespace() {
            place += 1;
            continue;
        }
        let rest = &characters[place..];
        if matches!(c, '"' | '\'') {
            let mut inner = String::new();
            place += 1;
            loop {
                match (characters.get(place), characters.get(place + 1)) {
                    (Some(&one), Some(&two)) if one == c && two == c => {
                        inner.push(c);
                        place += 2;
                    }
                    (Some(&one), _) if one == c => break,
                    (Some(&one), _) => {
                        inner.push(one);
                        place += 1;
                    }
                    (None, _) => return Err(FilterError { at, what: "the string isn't closed".to_owned() }),
                }
            }
            place += 1;
            tokens.push((at, Token::Text(inner)));
        } else if c.is_ascii_digit() || c == '-' && rest.get(1).is_some_and(char::is_ascii_digit) {
            let number: String = rest
                .iter()
                .enumerate()
                .take_while(|(i, c)| *i == 0 || c.is_ascii_digit() || **c == '.')
                .map(|(_, c)| c)
                .collect();
            place += number.chars().count();
            tokens.push((at, Token::Number(number)));
        } else if c.is_alphabetic() || c == '_' {
            let word: String =
                rest.iter().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')).collect();
            place += word.chars().count();
            tokens.push((at, Token::Word(word)));
        } else if let Some(sign) =
            SIGNS.iter().find(|sign| sign.chars().zip(rest).filter(|(a, b)| a == *b).count() == sign.len())
        {
            place += sign.len();
            tokens.push((at, Token::Sign(sign)));
        } else {
            return Err(FilterError { at, what: format!("unexpected {c:?}") });
        }
    }
    tokens.push((characters.len() + 1, Token::End));
    Ok(tokens)
}

struct Parser<'a> {
    tokens: Vec<(usize, Token)>,
    next: usize,
    table: Table,
    columns: &'a [Column],
    depth: usize,
    /// Regular expressions so far.
    regexes: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next.min(self.tokens.len() - 1)].1
    }

    fn take(&mut self) -> (usize, Token) {
        let token = self.tokens[self.next.min(self.tokens.len() - 1)].clone();
        self.next += 1;
        token
    }

    /// An error at the next token.
    fn error(&self, what: &str) -> FilterError {
        let at = self.tokens[self.next.min(self.tokens.len() - 1)].0;
        FilterError { at, what: what.to_owned() }
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let is_it = matches!(self.peek(), Token::Word(found) if found.eq_ignore_ascii_case(word));
        self.next += usize::from(is_it);
        is_it
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Token::Sign(found) if *found == sign);
        self.next += usize::from(is_it);
        is_it
    }

    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, FilterError>,
    ) -> Result<T, FilterError> {
        if self.depth == DEEPEST {
            return Err(self.error(&format!("nested more than {DEEPEST} deep")));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn either(&mut self) -> Result<Test, FilterError> {
        let first = self.both()?;
        let mut tests = vec![first];
        while self.takes_word("or") {
            tests.push(self.both()?);
        }
        Ok(joined(tests, Test::Or))
    }

    fn both(&mut self) -> Result<Test, FilterError> {
        let first = self.single()?;
        let mut tests = vec![first];
        while self.takes_word("and") {
            tests.push(self.single()?);
        }
        Ok(joined(tests, Test::And))
    }

    fn single(&mut self) -> Result<Test, FilterError> {
        if self.takes_word("not") {
            let test = self.deeper(Self::single)?;
            return Ok(Test::Not(Box::new(test)));
        }
        if self.takes_sign("(") {
            let test = self.deeper(Self::either)?;
            if !self.takes_sign(")") {
                return Err(self.error(&format!("expected `)`, found {}", describe(self.peek()))));
            }
            return Ok(test);
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Test, FilterError> {
        let (at, token) = self.take();
        let Token::Word(name) = token else {
            return Err(FilterError { at, what: format!("expected a column, found {}", describe(&token)) });
        };
        let Some(place) = self.columns.iter().position(|column| column.name == name) else {
            let what = UnknownColumn::new(self.table, self.columns, &name).to_string();
            return Err(FilterError { at, what });
        };
        let column = &self.columns[place];
        if self.takes_word("is") {
            let is_not = self.takes_word("not");
            if !self.takes_word("null") {
                return Err(self.error(&format!("expected `null`, found {}", describe(self.peek()))));
            }
            let test = Test::Null(place);
            return Ok(if is_not { Test::Not(Box::new(test)) } else { test });
        }
        let is_not = self.takes_word("not");
        if self.takes_word("in") {
            if !self.takes_sign("(") {
                return Err(self.error(&format!("expected `(`, found {}", describe(self.peek()))));
            }
            let mut values = vec![self.value(column)?];
            while self.takes_sign(",") {
                values.push(self.value(column)?);
            }
            if !self.takes_sign(")") {
                return Err(self.error(&format!("expected `,` or `)`, found {}", describe(self.peek()))));
            }
            let test = Test::In(place, values);
            return Ok(if is_not { not_null(place, test) } else { test });
        }
        if is_not {
            return Err(self.error(&format!("expected `in`, found {}", describe(self.peek()))));
        }
        if self.takes_word("contains") {
            return Ok(Test::Contains(place, self.text_for("contains", column)?));
        }
        let op = match self.peek() {
            Token::Sign("=" | "==") => Op::Equal,
            Token::Sign("!=" | "<>") => Op::NotEqual,
            Token::Sign("<") => Op::Less,
            Token::Sign("<=") => Op::AtMost,
            Token::Sign(">") => Op::Greater,
            Token::Sign(">=") => Op::AtLeast,
            Token::Sign(sign @ ("~" | "!~")) => {
                let is_not = *sign == "!~";
                self.next += 1;
                let at = self.tokens[self.next.min(self.tokens.len() - 1)].0;
                let text = self.text_for("~", column)?;
                self.regexes += 1;
                if self.regexes > REGEXES {
                    return Err(FilterError { at, what: format!("more than {REGEXES} regular expressions") });
                }
                let regex = compile_regex(&text, REGEX_BYTES);
                let regex = regex.map_err(|error| {
                    let why = why_no_regex(&error);
                    FilterError { at, what: format!("{text:?} isn't a regular expression: {why}") }
                })?;
                let matches = Test::Matches(place, regex);
                return Ok(if is_not { not_null(place, matches) } else { matches });
            }
            _ if column.kind == Kind::Boolean => return Ok(Test::True(place)),
            other => {
                let what = format!(
                    "expected a comparison after column `{name}` ({}), found {}",
                    column.kind.name(),
                    describe(other)
                );
                return Err(self.error(&what));
            }
        };
        self.next += 1;
        let is_order = !matches!(op, Op::Equal | Op::NotEqual);
        if is_order && matches!(column.kind, Kind::List | Kind::Object | Kind::Boolean) {
            return Err(
                self.error(&format!("column `{name}` is of type {}, which has no order", column.kind.name()))
            );
        }
        Ok(Test::Compare(place, op, self.value(column)?))
    }

    fn text_for(&mut self, op: &str, column: &Column) -> Result<String, FilterError> {
        if !matches!(column.kind, Kind::Text | Kind::List | Kind::Object) {
            let what =
                format!("`{op}` is for texts; column `{}` is of type {}", column.name, column.kind.name());
            return Err(self.error(&what));
        }
        match self.take() {
            (_, Token::Text(text)) => Ok(text),
            (at, other) => Err(FilterError {
                at,
                what: format!("expected a text in quotation marks, found {}", describe(&other)),
            }),
        }
    }

    /// A value that can be compared with those of a column.
    fn value(&mut self, column: &Column) -> Result<Value, FilterError> {
        let (at, token) = self.take();
        let value = match (column.kind, &token) {
            (Kind::Text | Kind::List | Kind::Object, Token::Text(text)) => {
                Some(Value::Text(text.clone().into()))
            }
            (Kind::Integer | Kind::Number, Token::Number(number)) => number.parse().ok().map(Value::Number),
            (Kind::Boolean, Token::Word(word)) if word == "true" => Some(Value::Boolean(true)),
            (Kind::Boolean, Token::Word(word)) if word == "false" => Some(Value::Boolean(false)),
            (Kind::Time, Token::Text(text)) => time(text).map(Value::Time),
            _ => None,
        };
        value.ok_or_else(|| {
            let wanted = match column.kind {
                Kind::Text | Kind::List | Kind::Object => "a text in quotation marks",
                Kind::Integer | Kind::Number => "a number",
                Kind::Boolean => "true or false",
                Kind::Time => {
                    "a date or time in quotation marks, as \"2026-03-01\" or \"2026-03-01T12:00:00Z\""
                }
            };
            let (name, kind) = (&column.name, column.kind.name());
            let what =
                format!("column `{name}` is of type {kind}: expected {wanted}, found {}", describe(&token));
            FilterError { at, what }
        })
    }
}

/// A test that a null doesn't pass, turned round.
fn not_null(place: usize, test: Test) -> Test {
    let is_there = Test::Not(Box::new(Test::Null(place)));
    Test::And(vec![is_there, Test::Not(Box::new(test))])
}

/// Tests joined by `and` or `or`: as a list, since a tree of them would be as deep as it has tests.
fn joined(mut tests: Vec<Test>, join: impl FnOnce(Vec<Test>) -> Test) -> Test {
    match tests.pop() {
        Some(test) if tests.is_empty() => test,
        last => {
            tests.extend(last);
            join(tests)
        }
    }
}

fn time(text: &str) -> Option<i64> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let date = text.parse::<Date>().ok()?;
    Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

impl Test {
    fn passes(&self, row: &[Value]) -> bool {
        match self {
            Self::And(tests) => tests.iter().all(|test| test.passes(row)),
            Self::Or(tests) => tests.iter().any(|test| test.passes(row)),
            Self::Not(test) => !test.passes(row),
            Self::True(place) => row[*place] == Value::Boolean(true),
            Self::Null(place) => row[*place] == Value::Null,
            Self::Compare(place, op, value) => compare(&row[*place], *op, value),
            Self::In(place, values) => values.iter().any(|value| compare(&row[*place], Op::Equal, value)),
            Self::Matches(place, regex) => row[*place].text().is_some_and(|text| regex.is_match(&text)),
            Self::Contains(place, part) => {
                row[*place].text().is_some_and(|text| text.contains(part.as_str()))
            }
        }
    }
}

fn compare(found: &Value, op: Op, value: &Value) -> bool {
    let order = match (found, value) {
        (Value::Null, _) => return false,
        (Value::Integer(found), Value::Number(value)) => (*found as f64).partial_cmp(value),
        (Value::Number(found), Value::Number(value)) => found.partial_cmp(value),
        (Value::Compound { json, text }, Value::Text(value)) => {
            let members: Option<Vec<String>> = serde_json::from_str(json).ok();
            let is_equal = match members {
                Some(members) => members.iter().any(|member| member == value),
                None => text.split("; ").any(|member| member == value),
            };
            return is_equal == (op == Op::Equal);
        }
        (found, value) => Some(found.order(value)),
    };
    order.is_some_and(|order| match op {
        Op::Equal => order == Ordering::Equal,
        Op::NotEqual => order != Ordering::Equal,
        Op::Less => order == Ordering::Less,
        Op::AtMost => order != Ordering::Greater,
        Op::Greater => order == Ordering::Greater,
        Op::AtLeast => order != Ordering::Less,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Vec<Value> {
        let mut row = vec![Value::Null; Table::Pages.columns().len()];
        let mut set = |name: &str, value| {
            let place = Table::Pages.columns().iter().position(|column| column.name == name).unwrap();
            row[place] = value;
        };
        set("url", Value::Text("http://a.test/x\"y".into()));
        set("status", Value::Integer(404));
        set("indexed", Value::Boolean(false));
        set("archived", Value::Boolean(true));
        set("fetched_at", Value::Time(1_772_366_400_000)); // 2026-03-01T12:00:00Z
        set("revisit_after_days", Value::Number(1.5));
        set("keywords", Value::Compound { json: "[\"nails\",\"a; b\"]".into(), text: "nails; a; b".into() });
        let directives = "[{\"directive\":\"noindex\",\"source\":\"meta\"}]";
        set("directives", Value::Compound { json: directives.into(), text: "noindex (meta)".into() });
        row
    }

    #[test]
    fn rows_pass_as_the_expression_says() {
        for (text, passes) in [
            ("status>=400", true),
            ("status >= 400 and url = \"http://a.test/x\"\"y\"", true),
            ("status = 404.5", false),
            ("status != 404", false),
            ("status<400 or status>403", true),
            ("status > -1", true),
            ("archived", true),
            ("not archived", false),
            ("indexed = false and archived = true", true),
            ("not indexed and not (status = 200)", true),
            // `and` binds more tightly.
            ("archived or indexed and indexed", true),
            ("(archived or indexed) and indexed", false),
            ("title is null", true),
            ("title is not null", false),
            // A null compares with nothing.
            ("title = 'x'", false),
            ("title != 'x'", false),
            ("title !~ 'x'", false),
            ("title not in ('x')", false),
            ("depth < 3", false),
            ("status in (200, 404)", true),
            ("status not in (200, 301)", true),
            ("url ~ '^http://a[.]test/'", true),
            ("url !~ 'y$'", false),
            ("url contains 'test'", true),
            ("keywords = 'nails'", true),
            ("keywords = 'a; b'", true),
            ("keywords != 'nails'", false),
            ("keywords = 'nail'", false),
            ("directives contains 'noindex'", true),
            ("directives = 'noindex (meta)'", true),
            ("fetched_at >= '2026-03-01'", true),
            ("fetched_at < \"2026-03-01T12:00:00Z\"", false),
            ("fetched_at <= \"2026-03-01T13:00:00+01:00\"", true),
            ("revisit_after_days > 1", true),
            ("STATUS = 1 or status = 404", false),
        ] {
            let filter = Filter::of(text, Table::Pages, Table::Pages.columns());
            assert_eq!(filter.is_ok_and(|filter| filter.passes(&row())), passes, "{text}");
        }
    }

    #[test]
    fn errors_name_the_place_and_what_was_expected_there() {
        for (text, at, what) in [
            ("", 1, "expected a column, found the end"),
            ("stauts = 1", 1, "no column \"stauts\" (did you mean \"status\"?)"),
            ("status", 7, "expected a comparison after column `status` (integer), found the end"),
            (
                "status = \"x\"",
                10,
                "column `status` is of type integer: expected a number, found the text \"x\"",
            ),
            ("title = 1", 9, "expected a text in quotation marks, found `1`"),
            ("title = x", 9, "found `x`"),
            ("status = 1 and", 15, "expected a column"),
            ("status = 1 status = 2", 12, "expected `and`, `or` or the end"),
            ("(status = 1", 12, "expected `)`"),
            ("status in 200", 11, "expected `(`"),
            ("status in (200", 15, "expected `,` or `)`"),
            ("status not 3", 12, "expected `in`"),
            ("title is 3", 10, "expected `null`"),
            ("title = 'x", 9, "isn't closed"),
            ("ü = 1 # 2", 7, "unexpected '#'"),
            ("url ~ '('", 7, "isn't a regular expression"),
            ("status ~ '4'", 10, "`~` is for texts"),
            ("keywords < 'x'", 12, "no order"),
            ("fetched_at > 'soon'", 14, "a date or time"),
            ("indexed = 1", 11, "true or false"),
        ] {
            let error = Filter::of(text, Table::Pages, Table::Pages.columns()).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.what.contains(what), "{text}: {error}");
        }
        let many = format!("url ~ 'x'{}", " or url ~ 'x'".repeat(8));
        let errors = [
            (many.as_str(), "more than 8 regular expressions"),
            ("url ~ '(?:\\w{1000}){1000}'", "size limit"),
        ];
        for (text, what) in errors {
            let error = Filter::of(text, Table::Pages, Table::Pages.columns()).unwrap_err();
            assert!(error.what.contains(what), "{error}");
        }
        for deep in ["not ".repeat(100_000), "(".repeat(100_000)] {
            let error = Filter::of(&deep, Table::Pages, Table::Pages.columns()).unwrap_err();
            assert!(error.what.contains("longer than 65536 bytes"), "{error}");
        }
        for deep in ["not ".repeat(65), "(".repeat(65), format!("{}archived", "not (".repeat(33))] {
            let error = Filter::of(&deep, Table::Pages, Table::Pages.columns()).unwrap_err();
            assert!(error.what.contains("nested more than 64 deep"), "{error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_expression_breaks_it(text in "[a-z_\"'()=<>!~, 0-9.-]{0,60}") {
            if let Ok(filter) = Filter::of(&text, Table::Pages, Table::Pages.columns()) {
                let _passes = filter.passes(&row());
            }
        }
    }
}
