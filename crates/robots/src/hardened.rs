//! The readings of one file that `hardened` asks: a URL is denied where any of them denies it.

use std::borrow::Cow;

use crate::choice::Case;
use crate::choose::Guard;
use crate::encoding::{Body, Decoding, Form};
use crate::field::Field;
use crate::lex::{Content, Lines};
use crate::member::{Beside, Member};
use crate::repair::repair;
use crate::separators::separate;
use crate::warning::WarningKind;
use crate::{Additions, Dialect};

/// One decoding of a body.
struct Text<'a> {
    bytes: Cow<'a, [u8]>,
    decoding: Decoding,
    /// The additions needed for this decoding.
    by: Additions,
    odd: Option<WarningKind>,
}

/// One reading, and what must allow as well as it.
struct Reading {
    members: Vec<Member>,
    beside: Beside,
}

/// Reads a file. The first member speaks where all allow: it is of the reading that knows the most lines.
pub(crate) fn read(body: &Body<'_>, case: &Case<'_>) -> (Vec<Member>, Beside) {
    let additions = case.options.additions;
    let mut readings = Vec::with_capacity(1);
    let texts = texts(body, additions);
    for (i, text) in texts.iter().enumerate() {
        // Of a file with NUL bytes, those without them are read in other ways.
        let is_last = i > 0 || texts.len() == 1;
        let repairs = is_last && additions.contains(Additions::H10);
        let separates = is_last && additions.contains(Additions::H12);
        let form = Form::from(text.decoding);
        let mut more = both(&text.bytes, &text.bytes, form, repairs, case, text.by);
        if let Some(separated) = if separates { separate(&text.bytes) } else { None } {
            let form = Form { is_separated: true, ..form };
            let by = text.by.with(Additions::H12);
            more.extend(both(&separated, &text.bytes, form, repairs, case, by));
            for (number, line) in numbered(&text.bytes, &parted(&separated)) {
                for reading in &mut more {
                    reading.beside.notes.add(number, WarningKind::LineSeparator, line);
                }
            }
        }
        readings.extend(more.into_iter().map(|reading| reading.warned(text.odd)));
    }
    // Of equal ones the first: a repaired text before itself, the file as it is before one that is separated or without its NUL bytes.
    let most = (0..readings.len()).rev().max_by_key(|&i| readings[i].beside.known_fields);
    let Reading { mut members, mut beside } = readings.swap_remove(most.unwrap_or_default());
    for other in readings.into_iter().filter(Reading::can_deny) {
        members.extend(other.members);
        beside.timing.restrict(other.beside.timing);
        beside.signals.join(other.beside.signals);
        beside.additions = beside.additions.with(other.beside.additions);
    }
    (members, beside)
}

impl Reading {
    fn new(text: &[u8], form: Form, case: &Case<'_>, by: Additions) -> Self {
        let (member, mut beside) = Member::prepare(text, form, case, Dialect::Hardened, false);
        beside.additions = beside.additions.with(by);
        let mut members = vec![member];
        if let Guard::Dialect(dialect) = beside.guard {
            let (member, guard) = Member::prepare(text, form, case, dialect, true);
            beside.timing.restrict(guard.timing);
            beside.signals.join(guard.signals);
            members.push(member.named(Dialect::Hardened));
        }
        Self { members, beside }
    }

    fn warned(mut self, odd: Option<WarningKind>) -> Self {
        if let Some(kind) = odd {
            self.beside.notes.add(0, kind, b"");
        }
        self
    }

    fn can_deny(&self) -> bool {
        self.members.iter().any(Member::has_groups)
    }
}

/// Reads a text, and where there is anything to repair the repaired one first. `quoted` is the text whose lines are evidence.
fn both(
    text: &[u8],
    quoted: &[u8],
    form: Form,
    repairs: bool,
    case: &Case<'_>,
    by: Additions,
) -> Vec<Reading> {
    let mut reading = Reading::new(text, form, case, by);
    let Some(repaired) = (if repairs { repair(text, form.is_separated) } else { None }) else {
        return vec![reading];
    };
    let form = Form { is_repaired: true, ..form };
    let mut other = Reading::new(&repaired.bytes, form, case, by.with(Additions::H10));
    for member in &mut other.members {
        member.quote(quoted);
    }
    for (number, line) in numbered(quoted, &repaired.lines) {
        reading.beside.notes.add(number, WarningKind::OddCharacter, line);
        other.beside.notes.add(number, WarningKind::OddCharacter, line);
    }
    vec![other, reading]
}

/// Returns the numbers of the lines that separators part.
fn parted(separated: &[u8]) -> Vec<u32> {
    let numbers: Vec<_> = Lines::new(separated, true).separated(true).map(|line| line.number).collect();
    let mut parted: Vec<_> =
        numbers.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    parted.dedup();
    parted
}

/// Returns the decodings of a body: the bytes as they are, decoded, and without NUL.
fn texts<'a>(body: &Body<'a>, additions: Additions) -> Vec<Text<'a>> {
    let (plain, odd) = body.plain();
    let mut texts =
        vec![Text { bytes: Cow::Borrowed(plain), decoding: Decoding::Plain, by: Additions::NONE, odd }];
    if let Some(wide) = body.wide {
        let by = if wide.is_marked_utf16() { Additions::H6 } else { Additions::H10 };
        if let Some(text) = body.decoded().filter(|_| additions.contains(by)) {
            let decoding = Decoding::Wide;
            texts.push(Text { bytes: text.into(), decoding, by, odd: Some(wide.warning()) });
        }
    }
    if let Some(text) = body.without_nul().filter(|_| additions.contains(Additions::H10)) {
        let (decoding, odd) = (Decoding::WithoutNul, Some(WarningKind::Nul));
        texts.push(Text { bytes: text.into(), decoding, by: Additions::H10, odd });
    }
    texts
}

/// Gives these lines of a text, in order.
fn numbered<'t>(text: &'t [u8], numbers: &[u32]) -> impl Iterator<Item = (u32, &'t [u8])> {
    let mut wanted = numbers.iter().peekable();
    Lines::new(text, true)
        .filter(move |line| wanted.next_if_eq(&&line.number).is_some())
        .map(|line| (line.number, line.raw))
}

/// Returns whether any line of any reading has a known field, or one of these. Stops at the first one.
pub(crate) fn has_field(body: &[u8], is_meant: impl Fn(Field) -> bool) -> bool {
    let has = |text: &[u8], is_separated| {
        Lines::new(text, true).separated(is_separated).any(|line| match line.content {
            Content::Pair { name, .. } => Field::read(name).is_some_and(|(field, _)| is_meant(field)),
            _ => false,
        })
    };
    let has = |text: &[u8], is_separated| {
        has(text, is_separated)
            || repair(text, is_separated).is_some_and(|text| has(&text.bytes, is_separated))
    };
    let texts = texts(&Body::open(body, usize::MAX), Additions::HARDENED);
    texts
        .iter()
        .any(|text| has(&text.bytes, false) || separate(&text.bytes).is_some_and(|text| has(&text, true)))
}
