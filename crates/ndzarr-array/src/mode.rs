//! Whether the calls of a handle block their thread or are futures: one builder, child and options
//! type serves both.

use std::fmt;

use ndzarr_engine::Part;

use crate::core::Core;
use crate::element_type::ElementType;
use crate::error::Result;
use crate::group_core::GroupCore;

/// Whether calls block: [`Blocking`], or [`Asynchronous`].
///
/// It is the last parameter of types that serve both sides, such as
/// [`ArrayBuilder`](crate::ArrayBuilder), and determines the types that they make.
pub trait Mode: Copy + fmt::Debug + Default + Send + Sync + 'static {
    /// The arrays of this side.
    type Array<E: ElementType>: Clone + From<Core> + fmt::Debug;
    /// The groups of this side.
    type Group: Clone + From<GroupCore> + fmt::Debug;

    /// Writes parts of an array.
    #[doc(hidden)]
    fn write(array: &Core, parts: &[Part<'_>]) -> impl Future<Output = Result<()>> + Send;
}

/// Calls block their thread: [`Array`](crate::Array), [`Group`](crate::Group).
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocking;

/// Calls are futures: the types of [`asynchronous`](crate::asynchronous).
#[derive(Clone, Copy, Debug, Default)]
pub struct Asynchronous;
