//! Writers each of which has elements of its own, in chunks that are common to all.

use std::sync::atomic::Ordering::Relaxed;

use ndzarr::ndarray::Array1;
use ndzarr::{Array, Storage, codec};

use super::{Count, LEN, ROUND, THREADS, UNIT, elements, in_threads};
use crate::Outcome;
use crate::drive::Drive;

/// What a writer's own elements may be.
struct Slot {
    /// The last call that was acknowledged, and those that were given up since.
    calls: Vec<u64>,
    next: u64,
}

impl Slot {
    fn new(thread: u64) -> Self {
        Self { calls: vec![0], next: thread * 10 * ROUND + 1 }
    }

    /// The number of the next call.
    fn begin(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    fn end(&mut self, call: u64, acknowledged: bool) {
        if acknowledged {
            self.calls.clear();
        }
        self.calls.push(call);
    }

    /// Counts a loss where an element is of no call that it may be of.
    fn check(&mut self, found: &[u32], count: &Count) {
        let is_allowed = |at: usize, element: u32| {
            self.calls.iter().any(|&call| element == if call == 0 { 0 } else { elements(call)[at] })
        };
        if !found.iter().enumerate().all(|(at, &element)| is_allowed(at, element)) {
            count.lost.fetch_add(1, Relaxed);
        }
    }
}

pub(super) fn writes(storage: &Storage, count: &Count, seed: u64) -> Outcome {
    let builder = Array::<u32>::builder([THREADS * LEN]).chunks([UNIT]).codecs([codec::gzip(6)]);
    let array = builder.create(storage, "a")?;
    in_threads(seed, |thread, random| {
        let region = [thread * LEN..(thread + 1) * LEN];
        let mut slot = Slot::new(thread);
        for _ in 0..ROUND {
            let call = slot.begin();
            let elements = elements(call);
            let result = if random.below(4) == 0 {
                Some(array.write(region.clone(), &elements))
            } else {
                Drive::any(random).run(array.write_async(region.clone(), &elements))
            };
            slot.end(call, count.call(result)?);
            slot.check(&array.read(region.clone())?.to_vec(), count);
        }
        // Others go on meanwhile, so that what is late has time.
        slot.check(&array.read(region.clone())?.to_vec(), count);
        Ok(())
    })
}

/// Shard writers of one shard, each of which gives inner chunks of its own.
pub(super) fn shards(storage: &Storage, count: &Count, seed: u64) -> Outcome {
    let shape = [THREADS * LEN];
    let builder = Array::<u32>::builder(shape).chunks([LEN]).shards(shape).codecs([codec::gzip(6)]);
    let array = builder.create(storage, "a")?;
    in_threads(seed, |thread, random| {
        let region = [thread * LEN..(thread + 1) * LEN];
        let mut slot = Slot::new(thread);
        for _ in 0..ROUND {
            let call = slot.begin();
            let writer = array.shard_writer(&[0])?;
            writer.write_inner(&[thread], &elements(call))?;
            let result = if random.below(4) == 0 {
                Some(writer.finish())
            } else {
                Drive::any(random).run(writer.finish_async())
            };
            slot.end(call, count.call(result)?);
            slot.check(&array.read(region.clone())?.to_vec(), count);
        }
        slot.check(&array.read(region.clone())?.to_vec(), count);
        Ok(())
    })
}

/// Arrays that are made smaller and written again; each thread has one, and all have one pool.
pub(super) fn resizes(storage: &Storage, count: &Count, seed: u64) -> Outcome {
    const FULL: u64 = LEN;
    /// Many units, so that making it smaller takes some time.
    const SMALL_UNIT: u64 = 20;
    in_threads(seed, |thread, random| {
        let path = format!("a{thread}");
        let builder = Array::<u32>::builder([FULL]).chunks([SMALL_UNIT]).codecs([codec::gzip(6)]);
        let mut array = builder.create(storage, &path)?;
        for round in 0..ROUND {
            let old = elements(thread * ROUND + round + 1);
            array.resize([FULL])?;
            array.write([0..FULL], &old)?;
            let to = random.below(FULL) + 1;
            let result = Drive::any(random).run(array.resize_async([to]));
            let acknowledged = count.call(result)?;
            // Whoever comes now has the shape that there is.
            array = Array::open_in(storage, &path)?;
            let shape = array.shape()[0];
            let found = array.read([0..shape])?;
            let kept = found
                .iter()
                .zip(&old)
                .zip(0..)
                .all(|((&found, &old), at)| found == old || (at >= to && found == 0));
            // All that is there is written again, and stays.
            let new: Array1<u32> = old.iter().take(shape as usize).map(|&element| !element).collect();
            array.write([0..shape], &new)?;
            let is_there = (0..20).all(|_| {
                std::thread::yield_now();
                array.read([0..shape]).is_ok_and(|found| found == new)
            });
            let has_shape = if acknowledged { shape == to } else { shape == to || shape == FULL };
            count.lost.fetch_add(u64::from(!(kept && is_there && has_shape)), Relaxed);
        }
        Ok(())
    })
}
