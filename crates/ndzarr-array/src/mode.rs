//! The mode of a handle: its calls block their thread, or are futures. One array, group, builder,
//! child and options type serves both.

use std::fmt;

use ndzarr_engine::Part;

use crate::arrays::info::ArrayInfo;
use crate::error::Result;

/// How calls wait: [`Blocking`], or [`Asynchronous`].
///
/// It is the last parameter of types that serve both sides, such as
/// [`ArrayBuilder`](crate::ArrayBuilder).
pub trait Mode: Copy + fmt::Debug + Default + Send + Sync + 'static {
    /// Writes parts of an array.
    #[doc(hidden)]
    fn write(array: &ArrayInfo, parts: &[Part<'_>]) -> impl Future<Output = Result<()>> + Send;
}

/// Calls block their thread: [`Array`](crate::Array), [`Group`](crate::Group).
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocking;

/// Calls are futures: the types of [`asynchronous`](crate::asynchronous).
#[derive(Clone, Copy, Debug, Default)]
pub struct Asynchronous;

impl Mode for Blocking {
    async fn write(array: &ArrayInfo, parts: &[Part<'_>]) -> Result<()> {
        array.write_blocking(parts).await
    }
}

impl Mode for Asynchronous {
    async fn write(array: &ArrayInfo, parts: &[Part<'_>]) -> Result<()> {
        array.write_async(parts).await
    }
}
