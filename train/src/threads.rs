//! Sharing out work among threads.

use std::sync::{Mutex, PoisonError};

/// Does `work` on every item, on up to `threads` threads, each taking the next item when it is free. Which thread gets
/// what must not matter.
pub(crate) fn on_threads<T: Send>(threads: usize, items: &mut [T], work: impl Fn(&mut T) + Sync) {
    let threads = threads.min(items.len());
    if threads <= 1 {
        return items.iter_mut().for_each(work);
    }
    let queue = Mutex::new(items.iter_mut());
    let run = || {
        // A panic in `work` happens outside the lock and ends the whole scope.
        while let Some(item) = { queue.lock().unwrap_or_else(PoisonError::into_inner).next() } {
            work(item);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
}
