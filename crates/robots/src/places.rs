//! The places of a text that a pattern has come to, as a set of bits: 64 places are compared in one step.

/// One more than the largest symbol: a byte, or [`ESCAPED_SLASH`](crate::prefix::ESCAPED_SLASH).
const SYMBOLS: usize = 0x130;

/// Stands for any symbol.
pub(crate) const ANY: u16 = 0x100;

/// A set of places in a text: between its symbols, before the first one and behind the last one.
///
/// A step of a pattern costs one operation for each 64 symbols of the text, and one of ranges as much again for each range. Memory: a
/// bit per symbol of the text for each different one, and for each byte value where ranges are asked for.
#[derive(Debug)]
pub(crate) struct Places {
    /// Symbols of the text.
    len: usize,
    /// Words of a set, and an empty one before them.
    stride: usize,
    /// Which of `sets` says where a symbol is. The first one is empty.
    slots: [u16; SYMBOLS],
    sets: Vec<u64>,
    /// Where the bytes below each one are; empty until they are asked for.
    below: Vec<u64>,
    now: Vec<u64>,
    next: Vec<u64>,
    /// Nothing is before this word.
    low: usize,
}

impl Places {
    /// For a text of so many symbols. `symbols` may name several for a place.
    pub(crate) fn new(len: usize, symbols: impl Iterator<Item = (usize, u16)>) -> Self {
        let stride = len / 64 + 2;
        let mut sets = Vec::with_capacity(48 * stride);
        sets.resize(stride + 1, 0);
        sets.resize(2 * stride, u64::MAX);
        sets[2 * stride - 1] = (1 << (len % 64)) - 1;
        let mut slots = [0; SYMBOLS];
        slots[usize::from(ANY)] = 1;
        for (at, symbol) in symbols {
            let slot = &mut slots[usize::from(symbol)];
            if *slot == 0 {
                *slot = (sets.len() / stride) as u16;
                sets.resize(sets.len() + stride, 0);
            }
            sets[usize::from(*slot) * stride + 1 + at / 64] |= 1 << (at % 64);
        }
        let (now, next) = (vec![0; stride], vec![0; stride]);
        Self { len, stride, slots, sets, below: Vec::new(), now, next, low: 1 }
    }

    /// Holds the first place alone.
    pub(crate) fn start(&mut self) {
        self.low = 1;
        self.now.fill(0);
        self.now[1] = 1;
        self.next[0] = 0;
    }

    /// Holds this place, and all behind it.
    pub(crate) fn spread(&mut self, from: usize) {
        self.low = 1 + from / 64;
        (self.now[self.low - 1], self.next[self.low - 1]) = (0, 0);
        self.now[self.low..].fill(u64::MAX);
        self.now[self.low] <<= from % 64;
    }

    /// Goes on behind a symbol: one of these, each with its length. Returns whether there is any such place.
    pub(crate) fn step(&mut self, symbols: impl IntoIterator<Item = (u16, usize)>) -> bool {
        let mut any = 0;
        for (i, (symbol, length)) in symbols.into_iter().enumerate() {
            let set = &self.sets[usize::from(self.slots[usize::from(symbol)]) * self.stride..][..self.stride];
            any = advance(&mut self.next, &self.now, set, self.low, length as u32, i > 0);
        }
        std::mem::swap(&mut self.now, &mut self.next);
        any != 0
    }

    /// As [`step`](Self::step), behind any symbol within these ranges of bytes, or any one outside of them.
    pub(crate) fn step_ranges(&mut self, ranges: &[(u16, u16)], is_outside: bool) -> bool {
        let Self { stride, slots, sets, below, .. } = self;
        let set = |symbol: u16| &sets[usize::from(slots[usize::from(symbol)]) * *stride..][..*stride];
        if below.is_empty() {
            below.resize(*stride, 0);
            for symbol in 0..ANY {
                let last = below.len() - *stride;
                below.extend_from_within(last..);
                below[last + *stride..].iter_mut().zip(set(symbol)).for_each(|(below, set)| *below |= set);
            }
        }
        let below = |symbol: usize| &below[symbol * *stride..][..*stride];
        let mut within = vec![0; *stride];
        for &(from, to) in ranges.iter().filter(|(from, to)| from <= to) {
            let bounds = below(from.into()).iter().zip(below(usize::from(to) + 1));
            within.iter_mut().zip(bounds).for_each(|(within, (from, to))| *within |= from ^ to);
        }
        if is_outside {
            within.iter_mut().zip(set(ANY)).for_each(|(within, any)| *within ^= any);
        }
        let any = advance(&mut self.next, &self.now, &within, self.low, 1, false);
        std::mem::swap(&mut self.now, &mut self.next);
        any != 0
    }

    /// Returns the first place that is held.
    pub(crate) fn first(&self) -> Option<usize> {
        let held = self.now[self.low..].iter().position(|&word| word != 0)? + self.low;
        Some((held - 1) * 64 + self.now[held].trailing_zeros() as usize)
    }

    /// Returns whether the end of the text is held.
    pub(crate) fn is_at_end(&self) -> bool {
        self.now[1 + self.len / 64] >> (self.len % 64) & 1 == 1
    }
}

/// Puts the places of `now` that are in `set`, so much farther, in `next`, and beside what it holds where it `adds`. Returns all words of
/// it together.
fn advance(next: &mut [u64], now: &[u64], set: &[u64], low: usize, length: u32, adds: bool) -> u64 {
    let before = now[low - 1..].iter().zip(&set[low - 1..]);
    let words = before
        .zip(now[low..].iter().zip(&set[low..]))
        .map(|((now, set), (now1, set1))| (now1 & set1) << length | (now & set) >> (64 - length));
    let mut any = 0;
    if adds {
        for (next, word) in next[low..].iter_mut().zip(words) {
            *next |= word;
            any |= *next;
        }
    } else {
        for (next, word) in next[low..].iter_mut().zip(words) {
            *next = word;
            any |= word;
        }
    }
    any
}
