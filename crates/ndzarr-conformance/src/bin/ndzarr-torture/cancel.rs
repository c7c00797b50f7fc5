//! Calls that are given up at random moments, in threads and in four executors, beside other writers: what was acknowledged
//! stays, and what was given up does nothing later.

mod slots;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use ndzarr::ndarray::Array1;
use ndzarr::{Array, MemoryStore, Storage, codec};
use ndzarr_testkit::{AsyncMemoryStore, Latency, Random};

use crate::drive::Drive;
use crate::table::{Expect, Table};
use crate::{Outcome, Torture};

const THREADS: u64 = 4;
/// Calls that are given up, of all kinds of calls and stores together.
const GIVEN_UP: u64 = 100_000;
/// Elements of a call: neither a part nor a multiple of a unit.
const LEN: u64 = 300;
const UNIT: u64 = 256;
/// Calls of a thread before all is looked at.
const ROUND: u64 = 25;
/// Makes elements of numbers, so that they do not compress, and numbers of elements.
const FACTOR: u32 = 2_654_435_761;
const INVERSE: u32 = inverse(FACTOR);

#[derive(Default)]
struct Count {
    given_up: AtomicU64,
    acknowledged: AtomicU64,
    lost: AtomicU64,
}

impl Count {
    /// Counts a call, and tells whether it was acknowledged; `None` was given up.
    fn call(&self, result: Option<ndzarr::Result<()>>) -> Outcome<bool> {
        let Some(result) = result else {
            self.given_up.fetch_add(1, Relaxed);
            return Ok(false);
        };
        result?;
        self.acknowledged.fetch_add(1, Relaxed);
        Ok(true)
    }
}

/// A round of calls on a new array.
type Round = fn(&Storage, &Count, seed: u64) -> Outcome;

const ROUNDS: [(&str, Round); 4] = [
    ("append_async", appends),
    ("write_async", slots::writes),
    ("finish_async of a shard writer", slots::shards),
    ("resize_async", slots::resizes),
];

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let all = if torture.minute { GIVEN_UP / 100 } else { GIVEN_UP };
    let stores = ["files", "memory", "futures"];
    let each = all.div_ceil((ROUNDS.len() * stores.len()) as u64);
    for store in stores {
        for (name, round) in ROUNDS {
            let count = Count::default();
            for seed in 0.. {
                if count.given_up.load(Relaxed) >= each {
                    break;
                }
                let folder = tempfile::tempdir_in(&torture.quick_folder)?;
                round(&storage(store, folder.path()), &count, seed)?;
            }
            let (given_up, acknowledged) = (count.given_up.into_inner(), count.acknowledged.into_inner());
            let of = format!("of {acknowledged}, {given_up} given up");
            table.row(
                format!("acknowledged calls lost, {name}, {store}"),
                count.lost.into_inner(),
                of,
                Expect::None,
            )?;
        }
    }
    Ok(())
}

fn storage(name: &str, folder: &Path) -> Storage {
    match name {
        "files" => Storage::from(folder),
        "memory" => MemoryStore::new().into(),
        _ => Storage::asynchronous(AsyncMemoryStore::new(Latency::default()).with_polls(2)),
    }
}

/// The same in several threads, each with numbers of its own.
fn in_threads(seed: u64, each: impl Fn(u64, &mut Random) -> Outcome + Sync) -> Outcome {
    thread::scope(|scope| {
        let each = &each;
        let threads: Vec<_> = (0..THREADS)
            .map(|i| scope.spawn(move || each(i, &mut Random::seeded(&format!("{seed} {i}")))))
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
    })
}

/// The elements of a call.
fn elements(call: u64) -> Array1<u32> {
    (0..LEN).map(|i| ((call * LEN + i) as u32).wrapping_mul(FACTOR)).collect()
}

/// Which call an element is of, and its place there.
fn origin(element: u32) -> (u64, u64) {
    let number = u64::from(element.wrapping_mul(INVERSE));
    (number / LEN, number % LEN)
}

/// By Newton's method, which doubles the number of right bits.
const fn inverse(factor: u32) -> u32 {
    let mut inverse = factor;
    let mut i = 0;
    while i < 5 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(factor.wrapping_mul(inverse)));
        i += 1;
    }
    inverse
}

/// Appends: those that were acknowledged are there once, in one piece; the others once, or not, or where stores have no locks
/// in part.
fn appends(storage: &Storage, count: &Count, seed: u64) -> Outcome {
    Array::<u32>::builder([0]).chunks([UNIT]).codecs([codec::gzip(6)]).create(storage, "a")?;
    let calls = THREADS * ROUND;
    let acknowledged: Vec<AtomicU64> = (0..calls).map(|_| AtomicU64::new(0)).collect();
    in_threads(seed, |thread, random| {
        let mut array = Array::<u32>::open_in(storage, "a")?;
        for call in thread * ROUND..(thread + 1) * ROUND {
            // Number 0 is the fill value.
            let elements = elements(call + 1);
            let result = if random.below(4) == 0 {
                Some(array.append(0, &elements))
            } else {
                Drive::any(random).run(array.append_async(0, &elements))
            };
            acknowledged[call as usize].store(u64::from(result.is_some()), Relaxed);
            count.call(result)?;
        }
        Ok(())
    })?;
    let found = crate::layout::read(&Array::open_in(storage, "a")?)?;
    let mut times = vec![0_u64; calls as usize];
    let mut lost = found.len() as u64 % LEN;
    for block in found.chunks_exact(LEN as usize) {
        let Some(&any) = block.iter().find(|&&element| element != 0) else { continue };
        let call = origin(any).0;
        let is_one = block.iter().zip(0..).all(|(&element, i)| element == 0 || origin(element) == (call, i));
        match times.get_mut(call.wrapping_sub(1) as usize) {
            Some(times) if is_one => {
                // A place without all its elements is allowed for what was given up.
                let is_whole = block.iter().all(|&element| element != 0);
                *times += if is_whole || acknowledged[call as usize - 1].load(Relaxed) == 0 { 1 } else { 2 };
            }
            _ => lost += 1,
        }
    }
    lost += times
        .iter()
        .zip(&acknowledged)
        .map(|(&times, acknowledged)| match acknowledged.load(Relaxed) {
            0 => u64::from(times > 1),
            _ => u64::from(times != 1),
        })
        .sum::<u64>();
    count.lost.fetch_add(lost, Relaxed);
    Ok(())
}
