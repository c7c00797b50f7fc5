//! How other programs write: in place, or by a rename over a document.

use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::common::torture::Outcome;

/// Writes into a file as it is, part by part.
pub(crate) fn write_in_place(file: &Path, elements: &[u32]) -> Outcome {
    let mut file = std::fs::OpenOptions::new().write(true).open(file)?;
    for part in elements.chunks(elements.len().div_ceil(16)) {
        let bytes: Vec<u8> = part
            .iter()
            .flat_map(|element| element.to_le_bytes())
            .collect();
        file.write_all(&bytes)?;
    }
    Ok(())
}

/// Repeats what Windows refuses while another process has the file open.
pub(crate) fn patiently<T>(mut call: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match call() {
            Err(e) if cfg!(windows) && e.kind() == ErrorKind::PermissionDenied => {
                std::thread::yield_now();
            }
            other => return other,
        }
    }
}
