//! Several calls at once on one thread: joined, or in tasks that stay on it.

use futures_util::future::{FutureExt, LocalBoxFuture, join};
use ndzarr_testkit::{Random, block_on};

use super::Checked;

/// Who polls two calls on one thread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Together {
    /// One task polls both.
    Join,
    /// Two tasks of a `LocalSet` of tokio.
    LocalSet,
    /// Two tasks of a local executor of smol.
    LocalExecutor,
}

impl Together {
    pub(super) fn any(random: &mut Random) -> Self {
        [Self::Join, Self::LocalSet, Self::LocalExecutor][random.below(3) as usize]
    }

    pub(super) fn run(
        self,
        one: LocalBoxFuture<'static, ndzarr::Result<()>>,
        two: LocalBoxFuture<'static, ndzarr::Result<()>>,
    ) -> Checked<(ndzarr::Result<()>, ndzarr::Result<()>)> {
        let gone = |_| "a task panicked".to_owned();
        match self {
            Self::Join => Ok(block_on(join(one, two))),
            Self::LocalSet => {
                let runtime = tokio::runtime::Builder::new_current_thread().build();
                let runtime = runtime.map_err(|error| error.to_string())?;
                let (one, two) = tokio::task::LocalSet::new().block_on(&runtime, async {
                    let one = tokio::task::spawn_local(one);
                    let two = tokio::task::spawn_local(two);
                    // The later one first: waiting for a task does not poll the other.
                    let two = two.await;
                    (one.await, two)
                });
                Ok((one.map_err(gone)?, two.map_err(gone)?))
            }
            Self::LocalExecutor => {
                let executor = smol::LocalExecutor::new();
                let one = executor.spawn(one);
                let two = executor.spawn(two);
                Ok(smol::block_on(executor.run(async {
                    let two = two.await;
                    (one.await, two)
                })))
            }
        }
    }
}

/// A call as [`Together::run`] takes it.
pub(super) fn call(
    future: impl Future<Output = ndzarr::Result<()>> + 'static,
) -> LocalBoxFuture<'static, ndzarr::Result<()>> {
    future.boxed_local()
}
