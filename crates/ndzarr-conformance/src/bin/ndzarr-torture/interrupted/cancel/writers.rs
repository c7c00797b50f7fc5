//! The actions of the writers of a round, and the expected result.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use ndzarr::ndarray::Array1;
use ndzarr::{Array, ErrorKind, Storage, asynchronous, codec};
use ndzarr_testkit::Random;
use serde_json::json;

use super::call::{Fate, GiveUp, call};
use super::count::{Count, Kind};
use super::spawner::Spawner;
use crate::common::torture::Outcome;

/// The number of concurrent writers.
pub(super) const WRITERS: u64 = 4;
/// Calls of a writer in a round.
const STEPS: u64 = 40;
/// Elements of a call: they neither divide a unit nor are a multiple of one.
const LEN: u64 = 24;
const UNIT: u64 = 16;
/// An array that is shrunk has many units, so that this takes some time.
const SMALL_UNIT: u64 = 4;
/// Makes elements of numbers, so that they do not compress, and numbers of elements.
const FACTOR: u32 = 2_654_435_761;
const INVERSE: u32 = inverse(FACTOR);

/// A round: arrays in a store that all writers write to.
pub(super) struct Round {
    pub(super) storage: Storage,
    pub(super) count: Arc<Count>,
    pub(super) seed: String,
    /// For each append: true once it is acknowledged.
    appended: Vec<AtomicBool>,
}

impl Round {
    pub(super) fn begin(
        storage: Storage,
        count: Arc<Count>,
        seed: String,
        slow: bool,
    ) -> Outcome<Self> {
        let codecs = || if slow { vec![codec::gzip(6)] } else { vec![] };
        let array = |shape, chunks| {
            Array::<u32>::builder([shape])
                .chunks([chunks])
                .codecs(codecs())
        };
        array(0, UNIT).create((&storage, "appended"))?;
        array(WRITERS * LEN, UNIT).create((&storage, "parts"))?;
        array(WRITERS * LEN, LEN).create((&storage, "whole"))?;
        array(WRITERS * LEN, LEN)
            .shards([WRITERS * LEN])
            .create((&storage, "shard"))?;
        for writer in 0..WRITERS {
            array(LEN, SMALL_UNIT).create((&storage, &format!("resized{writer}")))?;
        }
        let appended = (0..WRITERS * STEPS)
            .map(|_| AtomicBool::new(false))
            .collect();
        Ok(Self {
            storage,
            count,
            seed,
            appended,
        })
    }

    fn open(&self, path: &str) -> Outcome<Array<u32>> {
        Ok(Array::open((&self.storage, path))?)
    }

    /// Checks that each acknowledged append is stored once, and as one block; each other one once,
    /// or not, or in part if the store has no locks.
    pub(super) fn check(&self) -> Outcome {
        let array = self.open("appended")?;
        let found = crate::common::layout::read(&array)?;
        let mut times = vec![0_u64; self.appended.len()];
        if !(found.len() as u64).is_multiple_of(LEN) {
            self.lost(format!(
                "{} elements were appended by blocks of {LEN}",
                found.len()
            ));
        }
        for block in found.chunks_exact(LEN as usize) {
            let Some(&any) = block.iter().find(|&&element| element != 0) else {
                continue;
            };
            let call = origin(any).0;
            let is_one = block
                .iter()
                .zip(0..)
                .all(|(&element, i)| element == 0 || origin(element) == (call, i));
            match times.get_mut(call.wrapping_sub(1) as usize) {
                Some(times) if is_one => {
                    // A range without all its elements is allowed after an abandoned call.
                    let is_whole = block.iter().all(|&element| element != 0);
                    let is_acknowledged = self.appended[call as usize - 1].load(Relaxed);
                    *times += if is_whole || !is_acknowledged { 1 } else { 2 };
                }
                _ => self.lost(format!(
                    "a place has elements of several appends, one of them {call}"
                )),
            }
        }
        for (call, (&times, acknowledged)) in times.iter().zip(&self.appended).enumerate() {
            let is_acknowledged = acknowledged.load(Relaxed);
            if if is_acknowledged {
                times != 1
            } else {
                times > 1
            } {
                let what = format!(
                    "append {call} is stored {times} times, acknowledged: {is_acknowledged}"
                );
                self.lost(what);
            }
        }
        Ok(())
    }

    fn lost(&self, what: String) {
        self.count.lost(format!("{}: {what}", self.seed));
    }
}

/// A writer of a round.
pub(super) struct Writer {
    round: Arc<Round>,
    index: u64,
    random: Random,
    spawner: Spawner,
    parts: Slot,
    whole: Slot,
    shard: Slot,
    /// The value of its attribute.
    attribute: u64,
}

/// The values that a writer's own elements may have.
struct Slot {
    /// The last call that was acknowledged, and those that were given up since.
    calls: Vec<u64>,
}

impl Slot {
    fn new() -> Self {
        Self { calls: vec![0] }
    }

    fn end(&mut self, call: u64, acknowledged: bool) {
        if acknowledged {
            self.calls.clear();
        }
        self.calls.push(call);
    }

    /// The first element that none of the allowed calls wrote.
    fn wrong(&self, found: &Array1<u32>) -> Option<String> {
        let is_allowed = |at: usize, element: u32| {
            self.calls
                .iter()
                .any(|&call| element == if call == 0 { 0 } else { elements(call)[at] })
        };
        let (at, &element) = found
            .iter()
            .enumerate()
            .find(|&(at, &element)| !is_allowed(at, element))?;
        Some(format!(
            "element {at} is of call {:?}, not of {:?}",
            origin(element),
            self.calls
        ))
    }
}

impl Writer {
    pub(super) fn new(round: Arc<Round>, index: u64, spawner: Spawner) -> Self {
        let random = Random::seeded(&format!("{} {index}", round.seed));
        let parts = Slot::new();
        let whole = Slot::new();
        let shard = Slot::new();
        Self {
            round,
            index,
            random,
            spawner,
            parts,
            whole,
            shard,
            attribute: 0,
        }
    }

    pub(super) async fn run(mut self) -> Outcome {
        for step in 0..STEPS {
            // Number 0 is the fill value.
            let number = self.index * STEPS + step + 1;
            match self.random.below(16) {
                0..=3 => self.append(number).await?,
                4..=6 => self.write("parts", number).await?,
                7 | 8 => self.write("whole", number).await?,
                9..=11 => self.write_shard(number).await?,
                12 | 13 => self.resize(number).await?,
                14 => self.create(step).await?,
                _ => self.set_attribute(number)?,
            }
        }
        // Other writers continued meanwhile, so late effects had time.
        for path in ["parts", "whole", "shard"] {
            self.check(path).await?;
        }
        let attributes = self.round.open("appended")?;
        let found = attributes
            .attributes()
            .get(&self.name())
            .and_then(serde_json::Value::as_u64);
        if found.unwrap_or(0) != self.attribute {
            self.round.lost(format!(
                "attribute {} is {found:?}, not {}",
                self.name(),
                self.attribute
            ));
        }
        Ok(())
    }

    /// Makes a call in a task that may be dropped. Returns true if it was acknowledged.
    async fn call(
        &mut self,
        kind: Kind,
        future: impl Future<Output = ndzarr::Result<()>> + Send + 'static,
    ) -> Outcome<bool> {
        let give_up = GiveUp::any(&mut self.random);
        let fate = call(&self.spawner, give_up, future).await;
        let count = &self.round.count;
        match fate {
            Fate::Done(result) => result?,
            Fate::Dropped => {
                count.dropped[kind as usize].fetch_add(1, Relaxed);
                return Ok(false);
            }
            Fate::NeverPolled => return Ok(false),
        }
        count.acknowledged.fetch_add(1, Relaxed);
        Ok(true)
    }

    /// True if the next call is to be a blocking one, among the futures of others. It counts as
    /// acknowledged.
    fn blocks(&mut self) -> bool {
        let blocks = self.random.below(8) == 0;
        self.round
            .count
            .acknowledged
            .fetch_add(u64::from(blocks), Relaxed);
        blocks
    }

    async fn append(&mut self, number: u64) -> Outcome {
        let mut array = self.round.open("appended")?;
        let elements = elements(number);
        let acknowledged = if self.blocks() {
            array.append(0, &elements)?;
            true
        } else {
            self.call(Kind::Append, async move {
                asynchronous::Array::from(array).append(0, &elements).await
            })
            .await?
        };
        self.round.appended[number as usize - 1].store(acknowledged, Relaxed);
        Ok(())
    }

    fn region(&self) -> std::ops::Range<u64> {
        self.index * LEN..(self.index + 1) * LEN
    }

    /// The writer's own elements, in shared chunks or in its own chunk.
    async fn write(&mut self, path: &str, number: u64) -> Outcome {
        let array = self.round.open(path)?;
        let elements = elements(number);
        let region = self.region();
        let acknowledged = if self.blocks() {
            array.write([region], &elements)?;
            true
        } else {
            self.call(Kind::Write, async move {
                asynchronous::Array::from(array.clone())
                    .write([region], &elements)
                    .await
            })
            .await?
        };
        let slot = if path == "parts" {
            &mut self.parts
        } else {
            &mut self.whole
        };
        slot.end(number, acknowledged);
        self.check(path).await
    }

    /// The writer's own inner chunk, in the shard that all write.
    async fn write_shard(&mut self, number: u64) -> Outcome {
        let writer = self.round.open("shard")?.shard_writer(&[0])?;
        writer.write_chunk(&[self.index], &elements(number))?;
        let acknowledged = if self.blocks() {
            writer.finish()?;
            true
        } else {
            self.call(
                Kind::Finish,
                asynchronous::ShardWriter::from(writer).finish(),
            )
            .await?
        };
        self.shard.end(number, acknowledged);
        self.check("shard").await
    }

    async fn check(&mut self, path: &str) -> Outcome {
        let found = asynchronous::Array::from(self.round.open(path)?)
            .read([self.region()])
            .await?;
        let slot = match path {
            "parts" => &self.parts,
            "whole" => &self.whole,
            _ => &self.shard,
        };
        if let Some(wrong) = slot.wrong(&found) {
            self.round
                .lost(format!("{path} of writer {}: {wrong}", self.index));
        }
        Ok(())
    }

    /// The writer's own array is shrunk and written again.
    async fn resize(&mut self, number: u64) -> Outcome {
        let path = format!("resized{}", self.index);
        let mut array = self.round.open(&path)?;
        let old = elements(number);
        let to = self.random.below(LEN) + 1;
        array.resize([LEN])?;
        array.write([0..LEN], &old)?;
        let acknowledged = self
            .call(Kind::Resize, async move {
                asynchronous::Array::from(array).resize([to]).await
            })
            .await?;
        // A new handle has the current shape.
        let array = self.round.open(&path)?;
        let shape = array.shape()[0];
        let found = array.read([0..shape])?;
        let is_kept = |((&found, &old), at)| found == old || (at >= to && found == 0);
        let is_kept = found.iter().zip(&old).zip(0..).all(is_kept);
        // All elements are written again, and stay.
        let new: Array1<u32> = old
            .iter()
            .take(shape as usize)
            .map(|&element| !element)
            .collect();
        array.write([0..shape], &new)?;
        let mut stays = true;
        for _ in 0..5 {
            stays &= asynchronous::Array::from(array.clone())
                .read([0..shape])
                .await?
                == new;
        }
        let has_shape = if acknowledged {
            shape == to
        } else {
            shape == to || shape == LEN
        };
        if !(is_kept && stays && has_shape) {
            let what = format!("resize to {to}: shape {shape}, kept: {is_kept}, stays: {stays}");
            self.round.lost(what);
        }
        Ok(())
    }

    /// An array whose creation was abandoned may exist; one that is created then stays.
    async fn create(&mut self, step: u64) -> Outcome {
        let path = format!("new{}-{step}", self.index);
        let storage = self.round.storage.clone();
        let array = |shape| Array::<u32>::builder([shape]).chunks([UNIT]);
        let first = {
            let path = path.clone();
            let builder = asynchronous::Array::<u32>::builder([LEN]).chunks([UNIT]);
            self.call(Kind::Create, async move {
                builder.create((storage, &path)).await.map(drop)
            })
            .await?
        };
        let second = array(2 * LEN).create((&self.round.storage, &path));
        let shape = match second {
            Ok(_) if first => 0,
            Ok(_) => 2 * LEN,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => LEN,
            Err(error) => return Err(error.into()),
        };
        for _ in 0..3 {
            let found = self.round.open(&path)?;
            if found.shape() != [shape] {
                self.round.lost(format!(
                    "{path} has the shape {:?}, not {shape}",
                    found.shape()
                ));
                break;
            }
            // Lets others run.
            asynchronous::Array::from(found.clone())
                .read([0..1])
                .await?;
        }
        Ok(())
    }

    fn name(&self) -> String {
        format!("writer{}", self.index)
    }

    /// A blocking call that needs the document held by appends of others.
    fn set_attribute(&mut self, number: u64) -> Outcome {
        self.round
            .open("appended")?
            .merge_attributes(json!({ self.name(): number }))?;
        self.round.count.acknowledged.fetch_add(1, Relaxed);
        self.attribute = number;
        Ok(())
    }
}

/// The elements of a call.
fn elements(call: u64) -> Array1<u32> {
    (0..LEN)
        .map(|i| ((call * LEN + i) as u32).wrapping_mul(FACTOR))
        .collect()
}

/// The call that wrote an element, and the index of the element in it.
fn origin(element: u32) -> (u64, u64) {
    let number = u64::from(element.wrapping_mul(INVERSE));
    (number / LEN, number % LEN)
}

/// The inverse modulo 2^32 by Newton's method, which doubles the number of correct bits.
const fn inverse(factor: u32) -> u32 {
    let mut inverse = factor;
    let mut i = 0;
    while i < 5 {
        inverse = inverse.wrapping_mul(2u32.wrapping_sub(factor.wrapping_mul(inverse)));
        i += 1;
    }
    inverse
}
