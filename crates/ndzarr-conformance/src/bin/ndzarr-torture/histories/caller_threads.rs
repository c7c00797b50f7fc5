//! Steps with several threads of the caller.

use std::sync::OnceLock;

use ndzarr::Array;
use ndzarr::ndarray::ArrayD;
use rayon::prelude::*;

use super::Checked;
use super::machine::{LogLine, Machine, failed};
use super::model::Region;

/// Where the threads come from.
#[derive(Clone, Copy, Debug)]
enum Tasks {
    /// Parallel iterators in a rayon pool of the caller.
    ParIter(usize),
    /// `rayon::join` in a pool of the caller, in halves of halves.
    Join(usize),
    /// `rayon::scope` in a pool of the caller.
    Scope(usize),
    /// Threads of std.
    Threads,
    /// tokio's blocking threads.
    SpawnBlocking,
}

impl Tasks {
    /// Does the work on all items.
    fn run<T: Send + Sync + Clone + 'static>(
        self,
        items: Vec<T>,
        each: impl Fn(T) -> ndzarr::Result<()> + Send + Sync + Clone + 'static,
    ) -> Checked {
        let all: ndzarr::Result<()> = match self {
            Self::ParIter(n) => pool(n)?.install(|| items.into_par_iter().try_for_each(&each)),
            Self::Join(n) => pool(n)?.install(|| halves(&items, &each)),
            Self::Scope(n) => {
                let failed = OnceLock::new();
                pool(n)?.scope(|scope| {
                    for item in items {
                        let each = &each;
                        let failed = &failed;
                        scope.spawn(move |_| drop(each(item).map_err(|error| failed.set(error))));
                    }
                });
                failed.into_inner().map_or(Ok(()), Err)
            }
            Self::Threads => std::thread::scope(|scope| {
                let threads: Vec<_> = items
                    .into_iter()
                    .map(|item| scope.spawn(|| each(item)))
                    .collect();
                threads
                    .into_iter()
                    .try_for_each(|thread| thread.join().expect("it does not panic"))
            }),
            Self::SpawnBlocking => {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                runtime.map_err(|error| error.to_string())?.block_on(async {
                    let tasks: Vec<_> = items
                        .into_iter()
                        .map(|item| {
                            let each = each.clone();
                            tokio::task::spawn_blocking(move || each(item))
                        })
                        .collect();
                    for task in tasks {
                        task.await.expect("it does not panic")?;
                    }
                    Ok(())
                })
            }
        };
        all.map_err(failed)
    }
}

fn halves<T: Send + Sync + Clone>(
    items: &[T],
    each: &(impl Fn(T) -> ndzarr::Result<()> + Sync),
) -> ndzarr::Result<()> {
    match items {
        [] => Ok(()),
        [item] => each(item.clone()),
        _ => {
            let (left, right) = items.split_at(items.len() / 2);
            let (left, right) = rayon::join(|| halves(left, each), || halves(right, each));
            left.and(right)
        }
    }
}

fn pool(n: usize) -> Checked<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(n)
        .build()
        .map_err(|error| error.to_string())
}

impl Machine {
    fn tasks(&mut self) -> Tasks {
        let n = [1, 2, 4][self.random.below(3) as usize];
        [
            Tasks::ParIter(n),
            Tasks::Join(n),
            Tasks::Scope(n),
            Tasks::Threads,
            Tasks::SpawnBlocking,
        ][self.random.below(5) as usize]
    }

    /// Each task writes a part, so that chunks and shards are common to several.
    pub(super) fn write_in_tasks(&mut self, log: LogLine<'_>) -> Checked {
        if !self.place.takes_turns() {
            return Ok(());
        }
        let array = self.fresh()?;
        let tasks = self.tasks();
        let shape = self.model.shape();
        let n = (self.random.below(16) + 2).min(shape[0]);
        log(format!("write in {n} parts by {tasks:?}"));
        let parts: Vec<(Array<u32>, Region, ArrayD<u32>)> = (0..n)
            .map(|i| {
                let mut region: Region = shape.iter().map(|&n| 0..n).collect();
                region[0] = shape[0] * i / n..shape[0] * (i + 1) / n;
                let elements = self.elements_of(&region);
                self.model.set(&region, &elements);
                (array.clone(), region, elements)
            })
            .collect();
        self.tally.calls += n;
        tasks.run(parts, |(array, region, elements)| {
            array.write(&region, &elements)
        })
    }

    pub(super) fn append_in_tasks(&mut self, log: LogLine<'_>) -> Checked {
        if !self.place.takes_turns() || self.may_be_refused() {
            return Ok(());
        }
        let array = self.fresh()?;
        let tasks = self.tasks();
        let mut shape = self.model.shape();
        let axis = self.random.below(shape.len() as u64) as usize;
        let n = self.random.below(6) + 2;
        log(format!("append {n} blocks along {axis} by {tasks:?}"));
        let blocks: Vec<ArrayD<u32>> = (0..n)
            .map(|_| {
                shape[axis] = self.random.below(4) + 1;
                self.elements(&shape)
            })
            .collect();
        self.tally.calls += n;
        let items = blocks
            .iter()
            .map(|block| (array.clone(), block.clone()))
            .collect();
        tasks.run(items, move |(mut array, block)| array.append(axis, &block))?;
        self.appended(axis, blocks)
    }
}
