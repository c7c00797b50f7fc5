//! Element types of an array: a Rust type, or a type known only at run time.

use ndarray::ArrayD;
use ndzarr_metadata::FillRequest;
use ndzarr_model::{DataType, FillValue};

use crate::arrays::info::ArrayInfo;
use crate::element_types::any_elements::AnyElements;
use crate::element_types::element::Element;
use crate::error::{Error, ErrorKind, Result};
use crate::selections::resolved::Resolved;

/// Stands in for a Rust type: the elements of an [`AnyArray`](crate::AnyArray), whose type is known
/// only at run time.
#[derive(Clone, Copy, Debug)]
pub struct Any;

/// The type parameter of an [`Array`](crate::Array): any [`Element`], or [`Any`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of elements",
    note = "a `struct` of your own becomes one by `#[derive(ndzarr::Structured)]`; an `AnyArray` holds elements of any type as bytes"
)]
pub trait ElementType: sealed::Sealed + Send + Sync + 'static {
    /// Elements in memory: an `ArrayD` of a Rust type, or [`AnyElements`].
    type Elements: Send + Sync;

    /// A value that a new array is filled with.
    type Fill: Clone + Send + Sync + 'static;

    /// The type of a new array, if it follows from the Rust type.
    #[doc(hidden)]
    fn new_type() -> Option<DataType>;

    /// Checks that the elements of an array, and its fill value, have this type.
    #[doc(hidden)]
    fn check_stored(array: &ArrayInfo) -> Result<()>;

    /// Checks that elements of a new array may have a type.
    #[doc(hidden)]
    fn check_new(new: &DataType) -> Result<()>;

    /// Converts a fill value to the form that the request for a new array needs.
    #[doc(hidden)]
    fn fill_request(fill: &Self::Fill, new: &DataType) -> Result<FillRequest>;

    /// The bytes that an element of an array takes in memory.
    #[doc(hidden)]
    fn byte_len(array: &ArrayInfo) -> u64;

    #[doc(hidden)]
    fn read(
        array: &ArrayInfo,
        resolved: &Resolved,
    ) -> impl Future<Output = Result<Self::Elements>> + Send;

    #[doc(hidden)]
    fn write(
        array: &ArrayInfo,
        resolved: &Resolved,
        elements: &Self::Elements,
    ) -> impl Future<Output = Result<()>> + Send;
}

impl<T: Element> ElementType for T {
    type Elements = ArrayD<T>;
    type Fill = T;

    fn new_type() -> Option<DataType> {
        <T as Element>::new_type()
    }

    fn check_stored(array: &ArrayInfo) -> Result<()> {
        let stored = array.data_type();
        let what = if T::accepts(stored) {
            if T::from_content(array.spec().fill_value.bytes(), stored).is_some() {
                return Ok(());
            }
            format!("the fill value, of type {stored}, is not a value of the Rust type")
        } else {
            match (T::mismatch(stored), <T as Element>::new_type()) {
                (Some(mismatch), _) => mismatch,
                (None, Some(own)) => format!("the elements are {stored}, not {own}"),
                (None, None) => format!("the elements are {stored}"),
            }
        };
        Err(array.name(Error::new(ErrorKind::WrongType, what)))
    }

    fn check_new(new: &DataType) -> Result<()> {
        if T::accepts(new) {
            return Ok(());
        }
        let what = T::mismatch(new)
            .unwrap_or_else(|| format!("elements of {new} are not values of the Rust type"));
        Err(Error::new(ErrorKind::WrongType, what))
    }

    fn fill_request(fill: &T, new: &DataType) -> Result<FillRequest> {
        let mut content = Vec::new();
        fill.to_content(new, &mut content)
            .map_err(|what| Error::new(ErrorKind::InvalidArgument, what))?;
        Ok(FillRequest::Value(FillValue::defined(content)))
    }

    fn byte_len(_: &ArrayInfo) -> u64 {
        size_of::<T>() as u64
    }

    async fn read(array: &ArrayInfo, resolved: &Resolved) -> Result<ArrayD<T>> {
        array.read_elements(resolved).await
    }

    async fn write(array: &ArrayInfo, resolved: &Resolved, elements: &ArrayD<T>) -> Result<()> {
        array
            .write_elements_blocking(resolved, elements.view())
            .await
    }
}

impl ElementType for Any {
    type Elements = AnyElements;
    type Fill = FillRequest;

    fn new_type() -> Option<DataType> {
        None
    }

    fn check_stored(_: &ArrayInfo) -> Result<()> {
        Ok(())
    }

    fn check_new(_: &DataType) -> Result<()> {
        Ok(())
    }

    fn fill_request(fill: &FillRequest, _: &DataType) -> Result<FillRequest> {
        Ok(fill.clone())
    }

    fn byte_len(array: &ArrayInfo) -> u64 {
        array.any_byte_len()
    }

    async fn read(array: &ArrayInfo, resolved: &Resolved) -> Result<AnyElements> {
        array.read_any(resolved).await
    }

    async fn write(array: &ArrayInfo, resolved: &Resolved, elements: &AnyElements) -> Result<()> {
        array.write_any_blocking(resolved, elements).await
    }
}

mod sealed {
    /// Sealed: other crates implement [`Element`](crate::Element) instead.
    pub trait Sealed {}

    impl<T: crate::element_types::element::Element> Sealed for T {}
    impl Sealed for crate::Any {}
}
