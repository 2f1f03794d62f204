//! The readings of one file that `hardened` asks: a URL is denied where any of them denies it.

use std::borrow::Cow;

use crate::choice::Case;
use crate::choose::Guard;
use crate::encoding::{Body, Decoding, Form};
use crate::field::Field;
use crate::lex::{Content, Lines};
use crate::member::{Beside, Member};
use crate::repair::repair;
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
        let mut reading = Reading::new(&text.bytes, text.decoding.into(), case, text.by);
        // Of a file with NUL bytes, those without them are repaired.
        let repairs = additions.contains(Additions::H10) && (i > 0 || texts.len() == 1);
        let Some(repaired) = (if repairs { repair(&text.bytes) } else { None }) else {
            readings.push(reading.warned(text.odd));
            continue;
        };
        let form = Form { decoding: text.decoding, is_repaired: true };
        let mut other = Reading::new(&repaired.bytes, form, case, text.by.with(Additions::H10));
        for member in &mut other.members {
            member.quote(&text.bytes);
        }
        for (number, line) in numbered(&text.bytes, &repaired.lines) {
            reading.beside.notes.add(number, WarningKind::OddCharacter, line);
            other.beside.notes.add(number, WarningKind::OddCharacter, line);
        }
        readings.extend([other.warned(text.odd), reading.warned(text.odd)]);
    }
    // Of equal ones the first: a repaired text before itself, the file as it is before one without its NUL bytes.
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
    let has = |text: &[u8]| {
        Lines::new(text, true).any(|line| match line.content {
            Content::Pair { name, .. } => Field::read(name).is_some_and(|(field, _)| is_meant(field)),
            _ => false,
        })
    };
    let texts = texts(&Body::open(body, usize::MAX), Additions::HARDENED);
    texts.iter().any(|text| has(&text.bytes) || repair(&text.bytes).is_some_and(|text| has(&text.bytes)))
}
