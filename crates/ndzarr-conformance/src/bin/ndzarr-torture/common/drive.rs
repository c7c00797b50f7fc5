//! Ways to run a future, and to abandon it.

use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};
use std::thread::yield_now;
use std::time::Duration;

use ndzarr_testkit::{Random, block_on};

/// How a future is run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Drive {
    /// To its end.
    Await,
    /// Polled `n` times by hand, with `yields` to other threads after each, then dropped.
    Polls { n: u64, yields: u64 },
    /// With a time limit in microseconds, in tokio's runtime of one thread.
    CurrentThread(u64),
    /// With a time limit in microseconds, in tokio's runtime of several threads.
    MultiThread(u64),
    /// With a time limit in microseconds, in smol's executor.
    Smol(u64),
}

impl Drive {
    /// A random one. Most abandon the future while many are still pending.
    pub(crate) fn any(random: &mut Random) -> Self {
        let micros = [0, 10, 50, 200, 1000, 5000][random.below(6) as usize];
        match random.below(8) {
            0 => Self::Await,
            1..=3 => Self::Polls {
                n: random.below(4),
                yields: [0, 1, 10, 100][random.below(4) as usize],
            },
            4 | 5 => Self::CurrentThread(micros),
            6 => Self::MultiThread(micros),
            _ => Self::Smol(micros),
        }
    }

    /// The result of the future; `None` if it was dropped before.
    pub(crate) fn run<F: Future>(self, future: F) -> Option<F::Output> {
        match self {
            Self::Await => Some(block_on(future)),
            Self::Polls { n, yields } => {
                let mut future = pin!(future);
                for _ in 0..n {
                    if let Poll::Ready(value) = future
                        .as_mut()
                        .poll(&mut Context::from_waker(Waker::noop()))
                    {
                        return Some(value);
                    }
                    (0..yields).for_each(|_| yield_now());
                }
                None
            }
            Self::CurrentThread(micros) => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build();
                in_tokio(&runtime.expect("a runtime can be made"), micros, future)
            }
            Self::MultiThread(micros) => {
                static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
                let runtime = RUNTIME.get_or_init(|| {
                    let mut builder = tokio::runtime::Builder::new_multi_thread();
                    builder
                        .worker_threads(2)
                        .enable_time()
                        .build()
                        .expect("a runtime can be made")
                });
                in_tokio(runtime, micros, future)
            }
            Self::Smol(micros) => {
                smol::block_on(smol::future::or(async { Some(future.await) }, async {
                    smol::Timer::after(Duration::from_micros(micros)).await;
                    None
                }))
            }
        }
    }
}

fn in_tokio<F: Future>(
    runtime: &tokio::runtime::Runtime,
    micros: u64,
    future: F,
) -> Option<F::Output> {
    runtime.block_on(async {
        tokio::time::timeout(Duration::from_micros(micros), future)
            .await
            .ok()
    })
}
