//! Does on several threads what mostly waits for the disk.

use std::io;

/// Threads at most.
const THREADS: usize = 8;

/// Calls `each` with every item, several at once. Returns the results in the order of the items, or the first error among them; every item gets
/// its call unless one before it on the same thread failed.
pub(crate) fn try_map<T: Sync, R: Send>(
    items: &[T],
    each: impl Fn(&T) -> io::Result<R> + Sync,
) -> io::Result<Vec<R>> {
    let each = &each;
    std::thread::scope(|scope| {
        let threads: Vec<_> = items
            .chunks(items.len().div_ceil(THREADS).max(1))
            .map(|items| scope.spawn(move || items.iter().map(each).collect::<io::Result<Vec<R>>>()))
            .collect();
        let mut results = Ok(Vec::with_capacity(items.len()));
        for thread in threads {
            let of_thread = thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
            match (&mut results, of_thread) {
                (Ok(results), Ok(of_thread)) => results.extend(of_thread),
                (Ok(_), Err(error)) => results = Err(error),
                (Err(_), _) => {}
            }
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_an_error_or_a_panic_is_one_of_the_whole() {
        for count in [0, 1, 7, 8, 9, 100] {
            let items: Vec<u32> = (0..count).collect();
            assert_eq!(try_map(&items, |n| Ok(n + 1)).unwrap(), (1..=count).collect::<Vec<_>>());
        }
        let items = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let fails = |n: &u32| if *n == 5 { Err(io::Error::other("five")) } else { Ok(*n) };
        assert_eq!(try_map(&items, fails).unwrap_err().to_string(), "five");
        try_map(&items, |n| if *n == 3 { panic!("three") } else { Ok(*n) }).unwrap_err();
    }
}
