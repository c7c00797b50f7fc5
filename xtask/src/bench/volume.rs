//! The elements of the datasets: waves of low frequency and noise, as an image has, from a seed.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Standard deviation of the noise.
const SIGMA: f64 = 8.0;

/// splitmix64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// About normal: the sum of four uniform ones.
    fn noise(&mut self) -> f64 {
        let word = self.next();
        let sum: u64 = (0..4).map(|i| (word >> (16 * i)) & 0xffff).sum();
        // Each has a variance of 65536^2 / 12.
        (sum as f64 - 2.0 * 65535.0) / (65536.0 / 3f64.sqrt()) * SIGMA
    }
}

/// A volume in a file: uint16, little endian, C order.
#[derive(Clone, Debug)]
pub(super) struct Volume {
    pub(super) path: PathBuf,
    pub(super) shape: Vec<u64>,
}

impl Volume {
    /// Makes the file, unless it exists.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn make(folder: &Path, shape: &[u64], seed: u64) -> Result<Self, String> {
        let sides: Vec<String> = shape.iter().map(u64::to_string).collect();
        let path = folder.join(format!("{}-{seed}.u2", sides.join("x")));
        let byte_len = shape.iter().product::<u64>() * 2;
        if !fs::metadata(&path).is_ok_and(|found| found.len() == byte_len) {
            let partial = path.with_extension("partial");
            write(&partial, shape, seed)
                .and_then(|()| fs::rename(&partial, &path))
                .map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(Self {
            path,
            shape: shape.to_vec(),
        })
    }

    pub(super) fn read(&self) -> Result<Vec<u8>, String> {
        fs::read(&self.path).map_err(|e| format!("{}: {e}", self.path.display()))
    }
}

fn write(path: &Path, shape: &[u64], seed: u64) -> std::io::Result<()> {
    let &[nz, ny, nx] = shape else {
        return Err(std::io::Error::other("volumes have three dimensions"));
    };
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut random = Random::new(seed);
    let phase = (seed % 7) as f64;
    let wave = |n: u64, period: f64| -> Vec<f64> {
        (0..n)
            .map(|i| (i as f64 / period * std::f64::consts::TAU + phase).sin())
            .collect()
    };
    let wz = wave(nz, 311.0);
    let wy = wave(ny, 173.0);
    let wx = wave(nx, 229.0);
    for z in &wz {
        for y in &wy {
            for x in &wx {
                let value = 2000.0 + 600.0 * z * y + 400.0 * y * x + 300.0 * x * z + random.noise();
                out.write_all(&(value as u16).to_le_bytes())?;
            }
        }
    }
    out.flush()
}

/// The elements of a region in C order, one run after the other.
pub(super) fn runs<'v>(
    bytes: &'v [u8],
    shape: &'v [u64],
    region: &'v [[u64; 2]],
) -> impl Iterator<Item = std::ops::Range<usize>> + 'v {
    let z = region[0];
    let y = region[1];
    let x = region[2];
    let len = bytes.len();
    (z[0]..z[1]).flat_map(move |z| {
        (y[0]..y[1]).map(move |y| {
            let row = (z * shape[1] + y) * shape[2];
            let range = (row + x[0]) as usize * 2..(row + x[1]) as usize * 2;
            assert!(range.end <= len, "the region is inside the volume");
            range
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_about_normal() {
        let mut random = Random::new(1);
        let values: Vec<f64> = (0..100_000).map(|_| random.noise()).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.2, "{mean}");
        assert!((variance.sqrt() - SIGMA).abs() < 0.2, "{}", variance.sqrt());
    }

    #[test]
    fn runs_of_a_region_are_its_rows() {
        let region = [[1, 2], [0, 2], [1, 3]];
        let runs: Vec<_> = runs(&[0; 48], &[2, 3, 4], &region).collect();
        assert_eq!(runs, [26..30, 34..38]);
    }
}
