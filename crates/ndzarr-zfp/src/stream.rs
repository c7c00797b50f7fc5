//! The C structures, and every call of the library.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use zfp_sys as sys;

use crate::{Error, Mode, Scalar, Shape};

/// A zfp stream over memory that it borrows.
pub(crate) struct Stream<'m> {
    zfp: NonNull<sys::zfp_stream>,
    bits: NonNull<sys::bitstream>,
    _memory: std::marker::PhantomData<&'m mut [u64]>,
}

impl<'m> Stream<'m> {
    pub(crate) fn open(memory: &'m mut [u64]) -> Result<Self, Error> {
        let byte_len = std::mem::size_of_val(memory);
        let no_memory = Error::OutOfMemory { byte_len: 64 };
        // SAFETY: the pointer and the length are those of a slice that the stream borrows for as
        // long as it lives.
        let bits = unsafe { sys::stream_open(memory.as_mut_ptr().cast(), byte_len) };
        let bits = NonNull::new(bits).ok_or_else(|| no_memory.clone())?;
        // SAFETY: `bits` was opened above and is closed after the zfp stream only.
        let zfp = unsafe { sys::zfp_stream_open(bits.as_ptr()) };
        let Some(zfp) = NonNull::new(zfp) else {
            // SAFETY: `bits` was opened above, and nothing else uses it.
            unsafe { sys::stream_close(bits.as_ptr()) };
            return Err(no_memory);
        };
        // SAFETY: `zfp` was opened above; the call puts it at the start of its memory.
        unsafe { sys::zfp_stream_rewind(zfp.as_ptr()) };
        Ok(Self {
            zfp,
            bits,
            _memory: std::marker::PhantomData,
        })
    }

    pub(crate) fn set_mode(
        &mut self,
        mode: Mode,
        scalar: Scalar,
        shape: Shape,
    ) -> Result<(), Error> {
        let zfp = self.zfp.as_ptr();
        // SAFETY: the stream is open; the calls write numbers into it and check those that have a
        // limited range.
        let is_accepted = unsafe {
            match mode {
                Mode::Reversible => {
                    sys::zfp_stream_set_reversible(zfp);
                    true
                }
                Mode::Expert {
                    minbits,
                    maxbits,
                    maxprec,
                    minexp,
                } => sys::zfp_stream_set_params(zfp, minbits, maxbits, maxprec, minexp) != 0,
                Mode::Accuracy(tolerance) => {
                    sys::zfp_stream_set_accuracy(zfp, tolerance);
                    tolerance.is_finite() && tolerance >= 0.0
                }
                Mode::Rate(rate) => {
                    let is_valid = rate.is_finite() && rate > 0.0 && rate <= 128.0;
                    if is_valid {
                        sys::zfp_stream_set_rate(
                            zfp,
                            rate,
                            type_of(scalar),
                            shape.ndim() as u32,
                            0,
                        );
                    }
                    is_valid
                }
                Mode::Precision(precision) => {
                    sys::zfp_stream_set_precision(zfp, precision);
                    (1..=64).contains(&precision)
                }
            }
        };
        if is_accepted {
            Ok(())
        } else {
            Err(Error::Mode)
        }
    }

    /// The minimum bits of a block.
    pub(crate) fn minbits(&self) -> u32 {
        let mut minbits = 0;
        let null = std::ptr::null_mut();
        // SAFETY: the stream is open, and the call writes only to the one pointer that is not null.
        unsafe {
            sys::zfp_stream_params(
                self.zfp.as_ptr(),
                &mut minbits,
                null,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            );
        }
        minbits
    }

    /// Reads a header: magic, type, lengths and mode, at most 19 bytes. Also returns its size in
    /// bits.
    pub(crate) fn read_header(&mut self) -> Option<(Scalar, Shape, usize)> {
        let mut field = Field::empty()?;
        // SAFETY: both are open; the caller has given the stream memory for the longest header.
        let bits = unsafe {
            sys::zfp_read_header(self.zfp.as_ptr(), field.0.as_mut(), sys::ZFP_HEADER_FULL)
        };
        if bits == 0 {
            return None;
        }
        // SAFETY: the field is open, and nothing else refers to it.
        let field = unsafe { field.0.as_ref() };
        let scalar = match field.type_ {
            sys::zfp_type_zfp_type_int32 => Scalar::Int32,
            sys::zfp_type_zfp_type_int64 => Scalar::Int64,
            sys::zfp_type_zfp_type_float => Scalar::Float32,
            sys::zfp_type_zfp_type_double => Scalar::Float64,
            _ => return None,
        };
        let lengths = [field.nw, field.nz, field.ny, field.nx];
        let used = lengths.iter().position(|&n| n != 0)?;
        Some((scalar, Shape::new(&lengths[used..]).ok()?, bits))
    }

    /// Writes a header; returns its size in bits.
    pub(crate) fn write_header(&mut self, scalar: Scalar, shape: Shape) -> Result<usize, Error> {
        let field = Field::new(scalar, shape, std::ptr::null_mut())?;
        // SAFETY: both are open; the caller has given the stream memory for the longest header.
        let bits = unsafe {
            sys::zfp_write_header(self.zfp.as_ptr(), field.0.as_ptr(), sys::ZFP_HEADER_FULL)
        };
        if bits == 0 {
            Err(Error::Mode)
        } else {
            Ok(bits)
        }
    }

    /// The maximum size of header and blocks in bytes, according to zfp.
    pub(crate) fn maximum_size(&self, scalar: Scalar, shape: Shape) -> Result<usize, Error> {
        let field = Field::new(scalar, shape, std::ptr::null_mut())?;
        // SAFETY: both are open, and the call only reads type, lengths and mode.
        match unsafe { sys::zfp_stream_maximum_size(self.zfp.as_ptr(), field.0.as_ptr()) } {
            0 => Err(Error::Mode),
            size => Ok(size),
        }
    }

    /// Encodes `elements`, which must match the shape, after what is already written. The memory of
    /// the stream has [`maximum_size`](Self::maximum_size). Returns the total number of bytes
    /// written.
    pub(crate) fn compress(
        &mut self,
        scalar: Scalar,
        shape: Shape,
        elements: &[u64],
    ) -> Result<usize, Error> {
        assert!(
            shape
                .n_elements()
                .is_some_and(|n| n * scalar.size() <= std::mem::size_of_val(elements))
        );
        let field = Field::new(scalar, shape, elements.as_ptr().cast_mut().cast())?;
        // SAFETY: the field describes a dense array inside `elements`, as asserted, which is
        // aligned for every scalar and only read; the stream has at least the maximum size that zfp
        // states.
        match unsafe { sys::zfp_compress(self.zfp.as_ptr(), field.0.as_ptr()) } {
            0 => Err(Error::Mode),
            size => Ok(size),
        }
    }

    /// Decodes to `elements`. The memory of the stream is as large as zfp can read for the shape,
    /// see [`crate::decompress`]. Returns the total number of bytes read.
    pub(crate) fn decompress(
        &mut self,
        scalar: Scalar,
        shape: Shape,
        elements: &mut [u64],
    ) -> Result<usize, Error> {
        assert!(
            shape
                .n_elements()
                .is_some_and(|n| n * scalar.size() <= std::mem::size_of_val(elements))
        );
        let field = Field::new(scalar, shape, elements.as_mut_ptr().cast())?;
        // SAFETY: the field describes a dense array inside `elements`, as asserted, which is
        // aligned for every scalar; the caller has given the stream memory for everything that zfp
        // can read.
        match unsafe { sys::zfp_decompress(self.zfp.as_ptr(), field.0.as_ptr()) } {
            0 => Err(Error::Mode),
            size => Ok(size),
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: both were opened by `open`, and nothing refers to them any more.
        unsafe {
            sys::zfp_stream_close(self.zfp.as_ptr());
            sys::stream_close(self.bits.as_ptr());
        }
    }
}

/// The description of an array.
struct Field(NonNull<sys::zfp_field>);

impl Field {
    fn empty() -> Option<Self> {
        // SAFETY: the call only allocates.
        NonNull::new(unsafe { sys::zfp_field_alloc() }).map(Self)
    }

    fn new(scalar: Scalar, shape: Shape, data: *mut std::ffi::c_void) -> Result<Self, Error> {
        let mut field = Self::empty().ok_or(Error::OutOfMemory { byte_len: 80 })?;
        // SAFETY: the field was allocated above, and nothing else refers to it.
        let members = unsafe { field.0.as_mut() };
        let [nx, ny, nz, nw] = shape.lengths();
        members.type_ = type_of(scalar);
        members.data = data;
        // A length of 0 stands for a dimension that the array does not have, strides of 0 for dense
        // elements.
        members.nx = nx;
        members.ny = if shape.ndim() > 1 { ny } else { 0 };
        members.nz = if shape.ndim() > 2 { nz } else { 0 };
        members.nw = if shape.ndim() > 3 { nw } else { 0 };
        Ok(field)
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        // SAFETY: it was allocated by zfp, and nothing refers to it any more. The data are not part
        // of it.
        unsafe { sys::zfp_field_free(self.0.as_ptr()) };
    }
}

fn type_of(scalar: Scalar) -> sys::zfp_type {
    match scalar {
        Scalar::Int32 => sys::zfp_type_zfp_type_int32,
        Scalar::Int64 => sys::zfp_type_zfp_type_int64,
        Scalar::Float32 => sys::zfp_type_zfp_type_float,
        Scalar::Float64 => sys::zfp_type_zfp_type_double,
    }
}
