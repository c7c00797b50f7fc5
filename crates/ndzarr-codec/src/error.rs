//! The error of this crate.

use std::fmt;

/// Why a chain cannot be bound, or a value cannot be decoded or encoded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodecError {
    /// No codec has this name.
    #[error("unknown codec {name:?}: chunks cannot be decoded without it")]
    Unknown {
        /// Id, name or URI in the metadata.
        name: String,
    },
    /// The codec exists but is not part of this build.
    #[error("codec {name:?} is not part of this build: enable the feature {feature:?}")]
    Disabled {
        /// Name of the codec.
        name: &'static str,
        /// The cargo feature that enables it.
        feature: &'static str,
    },
    /// The chain or a configuration does not fit the array, or is invalid.
    #[error("{codec}: {what}")]
    Config {
        /// Name of the codec.
        codec: &'static str,
        /// The mismatch.
        what: String,
    },
    /// A stored value is not a valid output of the codec.
    #[error("{codec}: {what}")]
    Corrupt {
        /// Name of the codec.
        codec: &'static str,
        /// The fault in the value.
        what: String,
    },
    /// A stored value that is complete, but goes on after its end. Some readers ignore that.
    #[error("{codec}: {what}")]
    Excess {
        /// Name of the codec.
        codec: &'static str,
        /// What follows the end.
        what: String,
    },
    /// A stored value that is valid, but whose number of elements differs from that of its chunk.
    #[error("{codec}: {what}")]
    OtherCount {
        /// Name of the codec.
        codec: &'static str,
        /// The number of elements, and the number expected.
        what: String,
    },
    /// New values cannot be encoded.
    #[error("{codec} cannot encode: {what}")]
    Encode {
        /// Name of the codec.
        codec: &'static str,
        /// The reason.
        what: String,
    },
    /// The allocator has no memory for the decoded or encoded value.
    #[error("no memory for {byte_len} bytes")]
    OutOfMemory {
        /// Requested size in bytes.
        byte_len: usize,
    },
}

impl CodecError {
    /// A stored value is not a valid output of the codec.
    pub fn corrupt(codec: &'static str, what: impl ToString) -> Self {
        Self::Corrupt {
            codec,
            what: what.to_string(),
        }
    }

    /// A configuration that does not fit.
    pub fn config(codec: &'static str, what: impl ToString) -> Self {
        Self::Config {
            codec,
            what: what.to_string(),
        }
    }

    /// New values cannot be encoded.
    pub fn encode(codec: &'static str, what: impl ToString) -> Self {
        Self::Encode {
            codec,
            what: what.to_string(),
        }
    }

    /// Names the part of the value that the error is about.
    pub(crate) fn in_part(mut self, part: impl fmt::Display) -> Self {
        if let Self::Config { what, .. } | Self::Corrupt { what, .. } | Self::Encode { what, .. } =
            &mut self
        {
            *what = format!("{part}: {what}");
        }
        self
    }

    /// Name of the codec that the error is about.
    #[must_use]
    pub fn codec(&self) -> Option<&str> {
        match self {
            Self::Unknown { name } => Some(name),
            Self::Disabled { name, .. } => Some(name),
            Self::Config { codec, .. }
            | Self::Corrupt { codec, .. }
            | Self::Excess { codec, .. }
            | Self::OtherCount { codec, .. }
            | Self::Encode { codec, .. } => Some(codec),
            Self::OutOfMemory { .. } => None,
        }
    }

    /// True if the stored value is at fault, rather than the configuration or this build.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        matches!(self, Self::Corrupt { .. } | Self::Excess { .. })
    }
}
