//! Byte strings and strings of a fixed length.

use std::fmt;

use ndzarr_model::DataType;

use crate::element_types::element::Element;

/// A fixed number of bytes, padded with NUL at the end: NumPy's `S`, or raw bits (`r<8N>`, `V<N>`).
///
/// ```
/// use ndarray::arr1;
/// use ndzarr::{Array, FixedBytes, MemoryStore};
///
/// let names = Array::<FixedBytes<4>>::builder([2]).create((MemoryStore::new(), "names"))?;
/// let ada = FixedBytes::new(b"ada").expect("not too long");
/// names.write([0..1], &arr1(&[ada]))?;
/// assert_eq!(names.read([0..1])?[0].as_bytes(), b"ada");
/// assert_eq!(names.units().encoded(&[0])?.as_deref(), Some(&b"ada\0\0\0\0\0"[..]));
/// assert_eq!(FixedBytes::<4>::new(b"grace"), None);
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FixedBytes<const N: usize>(pub [u8; N]);

impl<const N: usize> FixedBytes<N> {
    /// These bytes, padded with NUL; `None` if there are too many.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut all = [0; N];
        all.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self(all))
    }

    /// The bytes without the NUL padding.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        let end = self
            .0
            .iter()
            .rposition(|&byte| byte != 0)
            .map_or(0, |last| last + 1);
        &self.0[..end]
    }
}

impl<const N: usize> Default for FixedBytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> From<[u8; N]> for FixedBytes<N> {
    fn from(bytes: [u8; N]) -> Self {
        Self(bytes)
    }
}

impl<const N: usize> fmt::Debug for FixedBytes<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.as_bytes().escape_ascii())
    }
}

impl<const N: usize> Element for FixedBytes<N> {
    fn accepts(stored: &DataType) -> bool {
        matches!(stored, DataType::FixedBytes { bytes } | DataType::Raw { bytes } if *bytes == N)
    }

    fn new_type() -> Option<DataType> {
        (N > 0).then_some(DataType::FixedBytes { bytes: N })
    }

    fn to_content(&self, _: &DataType, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend_from_slice(&self.0);
        Ok(())
    }

    fn from_content(content: &[u8], _: &DataType) -> Option<Self> {
        content.try_into().ok().map(Self)
    }
}

/// A string of at most `N` characters, padded with NUL at the end: NumPy's `U`, the
/// `fixed_length_utf32` of Zarr v3.
///
/// ```
/// use ndarray::arr1;
/// use ndzarr::{Array, FixedUtf32, MemoryStore};
///
/// let names = Array::<FixedUtf32<3>>::builder([1]).create((MemoryStore::new(), "names"))?;
/// names.write([0..1], &arr1(&["Åse".parse::<FixedUtf32<3>>().expect("not too long")]))?;
/// assert_eq!(names.read([0..1])?[0].to_string(), "Åse");
/// assert!("Grace".parse::<FixedUtf32<3>>().is_err());
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FixedUtf32<const N: usize>(pub [char; N]);

impl<const N: usize> FixedUtf32<N> {
    /// This string, padded with NUL; `None` if it is too long.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let mut all = ['\0'; N];
        let mut places = all.iter_mut();
        for character in text.chars() {
            *places.next()? = character;
        }
        Some(Self(all))
    }

    /// The characters without the NUL padding.
    #[must_use]
    pub fn as_chars(&self) -> &[char] {
        let end = self
            .0
            .iter()
            .rposition(|&character| character != '\0')
            .map_or(0, |last| last + 1);
        &self.0[..end]
    }
}

impl<const N: usize> Default for FixedUtf32<N> {
    fn default() -> Self {
        Self(['\0'; N])
    }
}

impl<const N: usize> std::str::FromStr for FixedUtf32<N> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::new(text).ok_or_else(|| format!("{text:?} has more than {N} characters"))
    }
}

impl<const N: usize> fmt::Display for FixedUtf32<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.as_chars().iter().collect::<String>())
    }
}

impl<const N: usize> fmt::Debug for FixedUtf32<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl<const N: usize> Element for FixedUtf32<N> {
    fn accepts(stored: &DataType) -> bool {
        matches!(stored, DataType::FixedUtf32 { chars } if *chars == N)
    }

    fn new_type() -> Option<DataType> {
        (N > 0).then_some(DataType::FixedUtf32 { chars: N })
    }

    fn to_content(&self, _: &DataType, out: &mut Vec<u8>) -> Result<(), String> {
        out.extend(
            self.0
                .iter()
                .flat_map(|&unit| u32::from(unit).to_ne_bytes()),
        );
        Ok(())
    }

    fn from_content(content: &[u8], _: &DataType) -> Option<Self> {
        let units = content.as_chunks::<4>().0;
        let mut all = ['\0'; N];
        if units.len() != N {
            return None;
        }
        for (place, unit) in all.iter_mut().zip(units) {
            *place = char::from_u32(u32::from_ne_bytes(*unit))?;
        }
        Some(Self(all))
    }
}
