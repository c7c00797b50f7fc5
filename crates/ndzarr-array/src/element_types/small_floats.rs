//! Floats of 4, 6 and 8 bits.

use std::cmp::Ordering;
use std::fmt;

use ndarray::ArrayViewD;
use ndzarr_model::{DataType, SmallFloat};

use crate::element_types::element::Element;
use crate::error::Result;

macro_rules! small_float {
    ($($(#[$doc:meta])* $name:ident, $kind:ident, $nan:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// Compares by numeric value.
        #[derive(Clone, Copy, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The type as the metadata names it.
            pub const KIND: SmallFloat = SmallFloat::$kind;

            /// The number with this code; bits beyond those of the type are ignored.
            #[must_use]
            pub fn from_bits(bits: u8) -> Self {
                Self(bits & (0xff >> (8 - Self::KIND.bits())))
            }

            /// Its code.
            #[must_use]
            pub fn to_bits(self) -> u8 {
                self.0
            }

            small_float!(@from_f32 $nan);

            /// Its value, exactly.
            #[must_use]
            pub fn to_f32(self) -> f32 {
                Self::KIND.to_f32(self.0)
            }

            /// Returns `true` for NaN.
            #[must_use]
            pub fn is_nan(self) -> bool {
                self.to_f32().is_nan()
            }
        }

        impl From<$name> for f32 {
            fn from(value: $name) -> Self {
                value.to_f32()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl Element for $name {
            fn accepts(stored: &DataType) -> bool {
                *stored == DataType::SmallFloat(Self::KIND)
            }

            fn new_type() -> Option<DataType> {
                Some(DataType::SmallFloat(Self::KIND))
            }

            fn to_content(&self, _: &DataType, out: &mut Vec<u8>) -> std::result::Result<(), String> {
                out.push(self.0);
                Ok(())
            }

            fn from_content(content: &[u8], _: &DataType) -> Option<Self> {
                content.first().map(|&bits| Self::from_bits(bits))
            }

            fn blank(shape: &[usize], _: &DataType) -> Result<ndarray::ArrayD<Self>> {
                crate::tiles::output::blank_of(shape, &Self(0))
            }

            fn check(_: ArrayViewD<'_, Self>, _: &DataType) -> Result<()> {
                Ok(())
            }
        }
    )*};
    (@from_f32 has_nan) => {
        /// The nearest number; ties go to the even code. Numbers that are too large become
        /// infinity, or NaN if the type has no infinity.
        #[must_use]
        pub fn from_f32(value: f32) -> Self {
            Self(Self::KIND.from_f32(value).expect("there is a NaN"))
        }
    };
    (@from_f32 no_nan) => {
        /// The nearest number; ties go to the even code. Numbers out of range become the greatest
        /// or the least number; `None` for NaN.
        #[must_use]
        pub fn from_f32(value: f32) -> Option<Self> {
            Self::KIND.from_f32(value).map(Self)
        }
    };
}
small_float! {
    /// `float4_e2m1fn`: 0 to 6 in eight steps, no infinity, no NaN.
    ///
    /// ```
    /// use ndarray::arr1;
    /// use ndzarr::{Array, Float4E2M1Fn, MemoryStore};
    ///
    /// let a = Array::<Float4E2M1Fn>::builder([3]).create((MemoryStore::new(), "a"))?;
    /// a.write([0..3], &arr1(&[0.6, -2.9, 100.0]).mapv(|x| Float4E2M1Fn::from_f32(x).expect("no NaN")))?;
    /// assert_eq!(a.read([0..3])?.mapv(f32::from), arr1(&[0.5, -3.0, 6.0]));
    /// assert_eq!(a.units().encoded(&[0])?.as_deref(), Some(&[0x1, 0xd, 0x7][..]));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    Float4E2M1Fn, E2M1Fn, no_nan;
    /// `float6_e2m3fn`: up to 7.5, no infinity, no NaN.
    ///
    /// ```
    /// # use ndzarr::Float6E2M3Fn;
    /// assert_eq!(Float6E2M3Fn::from_f32(9.0).map(f32::from), Some(7.5));
    /// ```
    Float6E2M3Fn, E2M3Fn, no_nan;
    /// `float6_e3m2fn`: up to 28, no infinity, no NaN.
    ///
    /// ```
    /// # use ndzarr::Float6E3M2Fn;
    /// assert_eq!(Float6E3M2Fn::from_f32(-30.0).map(f32::from), Some(-28.0));
    /// ```
    Float6E3M2Fn, E3M2Fn, no_nan;
    /// `float8_e3m4`: like IEEE 754, up to 15.5.
    ///
    /// ```
    /// # use ndzarr::Float8E3M4;
    /// assert_eq!(Float8E3M4::from_f32(1.0).to_bits(), 0x30);
    /// ```
    Float8E3M4, E3M4, has_nan;
    /// `float8_e4m3`: like IEEE 754, up to 240.
    ///
    /// ```
    /// # use ndzarr::Float8E4M3;
    /// assert_eq!(Float8E4M3::from_f32(f32::INFINITY).to_bits(), 0x78);
    /// ```
    Float8E4M3, E4M3, has_nan;
    /// `float8_e4m3b11fnuz`: up to 30, no infinity, no negative zero.
    ///
    /// ```
    /// # use ndzarr::Float8E4M3B11Fnuz;
    /// assert_eq!(Float8E4M3B11Fnuz::from_f32(1.0).to_bits(), 0x58);
    /// ```
    Float8E4M3B11Fnuz, E4M3B11Fnuz, has_nan;
    /// `float8_e4m3fn`: up to 448, no infinity.
    ///
    /// ```
    /// # use ndzarr::Float8E4M3Fn;
    /// assert!(Float8E4M3Fn::from_f32(1000.0).is_nan());
    /// ```
    Float8E4M3Fn, E4M3Fn, has_nan;
    /// `float8_e4m3fnuz`: up to 240, no infinity, no negative zero.
    ///
    /// ```
    /// # use ndzarr::Float8E4M3Fnuz;
    /// assert_eq!(Float8E4M3Fnuz::from_f32(-0.0).to_bits(), 0);
    /// ```
    Float8E4M3Fnuz, E4M3Fnuz, has_nan;
    /// `float8_e5m2`: like IEEE 754, up to 57344.
    ///
    /// ```
    /// # use ndzarr::Float8E5M2;
    /// assert_eq!(Float8E5M2::from_f32(1.0).to_bits(), 0x3c);
    /// ```
    Float8E5M2, E5M2, has_nan;
    /// `float8_e5m2fnuz`: up to 57344, no infinity, no negative zero.
    ///
    /// ```
    /// # use ndzarr::Float8E5M2Fnuz;
    /// assert_eq!(Float8E5M2Fnuz::from_f32(f32::NAN).to_bits(), 0x80);
    /// ```
    Float8E5M2Fnuz, E5M2Fnuz, has_nan;
    /// `float8_e8m0fnu`: a power of two, without sign and without zero. Ties go to the greater
    /// number.
    ///
    /// ```
    /// # use ndzarr::Float8E8M0Fnu;
    /// assert_eq!(f32::from(Float8E8M0Fnu::from_f32(5.0)), 4.0);
    /// assert_eq!(f32::from(Float8E8M0Fnu::from_f32(6.0)), 8.0);
    /// assert!(Float8E8M0Fnu::from_f32(0.0).is_nan());
    /// ```
    Float8E8M0Fnu, E8M0Fnu, has_nan;
}
