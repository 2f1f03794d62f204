//! How much memory values take on the heap, for caches that count bytes.

/// Bytes that an allocator takes for one value of `bytes`: as malloc of glibc does, 8 more than asked for, in steps of 16, and 32 at
/// least. Nothing is taken for no bytes.
pub fn block(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

/// Bytes that a list takes with room for so many elements, without what the elements themselves refer to.
pub fn list<T>(capacity: usize) -> usize {
    block(capacity * size_of::<T>())
}

/// Bytes that a shared text takes: it has two counters before it.
pub fn shared(text: &str) -> usize {
    block(text.len() + 2 * size_of::<usize>())
}

/// Bytes that a list of texts takes.
pub fn texts(texts: &[String], capacity: usize) -> usize {
    list::<String>(capacity) + texts.iter().map(|text| block(text.capacity())).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_text_has_two_counters_of_eight_bytes() {
        // 105 and 16 bytes, and 8 of the allocator, in steps of 16.
        assert_eq!(shared(&"x".repeat(105)), 144);
        assert_eq!(shared(&"x".repeat(104)), 128);
    }
}
