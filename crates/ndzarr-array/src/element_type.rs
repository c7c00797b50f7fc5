//! What an array may be of: a Rust type, or elements whose type is known at run time only.

use ndzarr_metadata::FillRequest;
use ndzarr_model::{DataType, FillValue};

use crate::element::Element;
use crate::error::{Error, ErrorKind, Result};

/// In place of a Rust type: the elements of an [`AnyArray`](crate::AnyArray), whose type is known
/// at run time only.
#[derive(Clone, Copy, Debug)]
pub struct Any;

/// What an [`Array`](crate::Array) may be of: any [`Element`], or [`Any`].
pub trait ElementType: sealed::Sealed + Send + Sync + 'static {
    /// A value that a new array is filled with.
    type Fill: Clone + Send + Sync + 'static;

    /// The type of a new array, where it follows from the Rust type.
    #[doc(hidden)]
    fn new_type() -> Option<DataType>;

    /// Refuses an array whose elements are of another type.
    #[doc(hidden)]
    fn check_stored(stored: &DataType) -> Result<()>;

    /// Refuses to make elements of a type.
    #[doc(hidden)]
    fn check_new(new: &DataType) -> Result<()>;

    /// A fill value as a new array of a type is given it.
    #[doc(hidden)]
    fn fill_request(fill: &Self::Fill, new: &DataType) -> Result<FillRequest>;
}

impl<T: Element> ElementType for T {
    type Fill = T;

    fn new_type() -> Option<DataType> {
        <T as Element>::new_type()
    }

    fn check_stored(stored: &DataType) -> Result<()> {
        if T::accepts(stored) {
            return Ok(());
        }
        let what = match (T::mismatch(stored), <T as Element>::new_type()) {
            (Some(mismatch), _) => mismatch,
            (None, Some(own)) => format!("the elements are {stored}, not {own}"),
            (None, None) => format!("the elements are {stored}"),
        };
        Err(Error::new(ErrorKind::WrongType, what))
    }

    fn check_new(new: &DataType) -> Result<()> {
        if T::accepts(new) {
            return Ok(());
        }
        let what =
            T::mismatch(new).unwrap_or_else(|| format!("elements of {new} are no values of the Rust type"));
        Err(Error::new(ErrorKind::WrongType, what))
    }

    fn fill_request(fill: &T, new: &DataType) -> Result<FillRequest> {
        let mut content = Vec::new();
        fill.to_content(new, &mut content).map_err(|what| Error::new(ErrorKind::InvalidArgument, what))?;
        Ok(FillRequest::Value(FillValue::defined(content)))
    }
}

impl ElementType for Any {
    type Fill = FillRequest;

    fn new_type() -> Option<DataType> {
        None
    }

    fn check_stored(_: &DataType) -> Result<()> {
        Ok(())
    }

    fn check_new(_: &DataType) -> Result<()> {
        Ok(())
    }

    fn fill_request(fill: &FillRequest, _: &DataType) -> Result<FillRequest> {
        Ok(fill.clone())
    }
}

mod sealed {
    /// Not for other crates: they implement [`Element`](crate::Element).
    pub trait Sealed {}

    impl<T: crate::element::Element> Sealed for T {}
    impl Sealed for super::Any {}
}
