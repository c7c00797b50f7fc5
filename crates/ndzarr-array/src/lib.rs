//! Typed arrays and groups on ndarray
