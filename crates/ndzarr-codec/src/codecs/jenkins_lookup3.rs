//! jenkins_lookup3: the payload and Bob Jenkins' hash of it, little endian.

use super::checksum::Checksum;
use crate::CodecError;

#[derive(Debug)]
pub(crate) struct JenkinsLookup3 {
    pub(crate) initval: u32,
}

impl Checksum for JenkinsLookup3 {
    const NAME: &'static str = "jenkins_lookup3";

    /// The little-endian variant, over 12 bytes at a time.
    fn of(&self, payload: &[u8]) -> Result<u32, CodecError> {
        // Only the low 32 bits of the length are used.
        let start = 0xdead_beef_u32
            .wrapping_add(payload.len() as u32)
            .wrapping_add(self.initval);
        let mut state = [start; 3];
        let n_whole = payload.len().saturating_sub(1) / 12;
        let (whole, last) = payload.split_at(n_whole * 12);
        for block in whole.as_chunks::<12>().0 {
            add(&mut state, block);
            mix(&mut state);
        }
        if !last.is_empty() {
            let mut block = [0; 12];
            block[..last.len()].copy_from_slice(last);
            add(&mut state, &block);
            finish(&mut state);
        }
        Ok(state[2])
    }
}

fn add(state: &mut [u32; 3], block: &[u8; 12]) {
    for (value, &word) in state.iter_mut().zip(block.as_chunks::<4>().0) {
        *value = value.wrapping_add(u32::from_le_bytes(word));
    }
}

fn mix(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    for (i, rotation) in [4, 6, 8, 16, 19, 4].into_iter().enumerate() {
        let (x, y, z) = match i % 3 {
            0 => (&mut a, &mut b, &mut c),
            1 => (&mut b, &mut c, &mut a),
            _ => (&mut c, &mut a, &mut b),
        };
        *x = x.wrapping_sub(*z) ^ z.rotate_left(rotation);
        *z = z.wrapping_add(*y);
    }
    *state = [a, b, c];
}

fn finish(state: &mut [u32; 3]) {
    let [mut a, mut b, mut c] = *state;
    for (i, rotation) in [14, 11, 25, 16, 4, 14, 24].into_iter().enumerate() {
        let (x, y) = match i % 3 {
            0 => (&mut c, &b),
            1 => (&mut a, &c),
            _ => (&mut b, &a),
        };
        *x = (*x ^ *y).wrapping_sub(y.rotate_left(rotation));
    }
    *state = [a, b, c];
}
