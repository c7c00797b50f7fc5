//! `Datetime64` and `Timedelta64`.

use ndarray::ArrayViewD;
use ndzarr_model::DataType;

use crate::element_types::element::Element;
use crate::error::Result;

/// A point in time: the number of steps of the array's [`DataType::DateTime64`] since the start of
/// 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Datetime64(pub i64);

/// A duration: a number of steps of the array's [`DataType::TimeDelta64`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Timedelta64(pub i64);

macro_rules! time {
    ($type:ident, $variant:ident) => {
        impl $type {
            /// Not a time.
            pub const NAT: Self = Self(i64::MIN);

            /// Returns `true` for [`NAT`](Self::NAT).
            #[must_use]
            pub fn is_nat(self) -> bool {
                self == Self::NAT
            }
        }

        impl Element for $type {
            fn accepts(stored: &DataType) -> bool {
                matches!(stored, DataType::$variant { .. })
            }

            fn new_type() -> Option<DataType> {
                None
            }

            fn to_content(
                &self,
                _: &DataType,
                out: &mut Vec<u8>,
            ) -> std::result::Result<(), String> {
                out.extend_from_slice(&self.0.to_ne_bytes());
                Ok(())
            }

            fn from_content(content: &[u8], _: &DataType) -> Option<Self> {
                content
                    .try_into()
                    .ok()
                    .map(|bytes| Self(i64::from_ne_bytes(bytes)))
            }

            fn check(_: ArrayViewD<'_, Self>, _: &DataType) -> Result<()> {
                Ok(())
            }
        }
    };
}
time!(Datetime64, DateTime64);
time!(Timedelta64, TimeDelta64);
