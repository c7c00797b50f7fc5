//! Tests pcodec on stored bytes.

use super::filters::{check_decodes, refuse_to_encode};
use super::*;

#[test]
fn pcodec() {
    let config = CodecConfig::Pcodec(ndzarr_model::PcodecConfig::default());
    let content: Vec<u8> = (0..3000u32)
        .flat_map(|i| ((i / 7) as f32 * 0.25).to_le_bytes())
        .collect();
    let chunk = encoded(&config, &content);
    assert_eq!(chunk[..4], hex("70636f21"));
    assert!(chunk.len() < content.len() / 4);
    for len in [content.len(), 10 * content.len()] {
        assert!(grown(&config, &chunk, len).is_ok_and(|out| out == content));
    }
    exact(&config, &chunk, content.len() + 4).expect_err("another length");
    exact(&config, &chunk, content.len() - 4).expect_err("another length");
    exact(&config, &[&chunk[..], &[0]].concat(), content.len()).expect_err("bytes after it");
    refuse_to_encode(&config, &[0; 10]);
    // Written by pcodec 0.3.6: np.arange(5, dtype="<i4") and an empty array.
    let small = "70636f210242010303040000001000000000001c00884600";
    let five: Vec<u8> = (0..5i32).flat_map(i32::to_le_bytes).collect();
    check_decodes(&config, &hex(small), &five);
    check_decodes_empty(&config, "70636f2102000300");
    for len in 0..chunk.len() {
        exact(&config, &chunk[..len], content.len()).expect_err("it is cut off");
        grown(&config, &chunk[..len], content.len()).expect_err("it is cut off");
    }
    for bit in 0..8 * chunk.len() {
        let mut flipped = chunk.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = exact(&config, &flipped, content.len());
        let _ = grown(&config, &flipped, 2 * content.len());
    }
    // V2-T58: 16 MiB of zeros where at most 64 KiB fit, and a false number of numbers.
    let bomb = encoded(&config, &vec![0; 16 << 20]);
    assert!(grown(&config, &bomb, 64 << 10).is_err_and(|error| error.is_corrupt()));
    assert!(exact(&config, &bomb, 64 << 10).is_err_and(|error| error.is_corrupt()));
    // Claims of a few bytes, assembled after pco's format.md: 2^24 numbers, a dictionary of 2^25 -
    // 1 of them, a window of 2^24. The message must contain the claim, so that another error does
    // not pass for it.
    for (claim, what) in [
        ("01ffffff00000000000000", "16777216 numbers"),
        ("01040000f4ffff1f0000000000000000", "the middle"),
        ("010400002017000000000000000000", "back over 16777216"),
    ] {
        let error = exact(&config, &hex(&format!("70636f21020003{claim}")), 20)
            .expect_err(what)
            .to_string();
        assert!(error.contains(what), "{error}");
    }
}

fn check_decodes_empty(config: &CodecConfig, chunk: &str) {
    assert_eq!(grown(config, &hex(chunk), 100).ok(), Some(vec![]));
    exact(config, &hex(chunk), 4).expect_err("no number");
}

/// Everything that pco itself encodes, in each of its modes, decodes: the check of its claims
/// refuses none of it.
#[cfg(feature = "pcodec")]
#[test]
fn pcodec_in_every_mode() {
    use pco::standalone::simple_compress;
    use pco::{ChunkConfig, DeltaSpec, ModeSpec};
    const DELTAS: [DeltaSpec; 3] = [
        DeltaSpec::NoOp,
        DeltaSpec::TryConsecutive(2),
        DeltaSpec::TryLookback,
    ];
    // pco convolves only integers.
    const CONVOLVED: [DeltaSpec; 1] = [DeltaSpec::TryConv1(3)];
    fn check<T: pco::data_types::Number + bytemuck::NoUninit>(
        numbers: &[T],
        mode: &ModeSpec,
        deltas: &[DeltaSpec],
    ) {
        for delta in deltas {
            let settings = ChunkConfig::default()
                .with_mode_spec(mode.clone())
                .with_delta_spec(delta.clone())
                .with_enable_8_bit(true);
            let Ok(stored) = simple_compress(numbers, &settings) else {
                panic!("{mode:?} {delta:?}: not encoded")
            };
            let config = CodecConfig::Pcodec(ndzarr_model::PcodecConfig::default());
            let mut bytes = bytemuck::cast_slice::<T, u8>(numbers).to_vec();
            if cfg!(target_endian = "big") {
                // On bytes the codec's numbers are little-endian.
                bytes
                    .chunks_exact_mut(size_of::<T>())
                    .for_each(<[u8]>::reverse);
            }
            assert!(
                exact(&config, &stored, bytes.len()).is_ok_and(|decoded| decoded == bytes),
                "{mode:?} {delta:?}"
            );
        }
    }
    let integers: Vec<i32> = (0..600).map(|i| i % 50 * 1000 + 7).collect();
    let small: Vec<u8> = (0..600).map(|i| (i % 7 * 30) as u8).collect();
    let floats: Vec<f64> = (0..600).map(|i| f64::from(i % 40) * 0.1).collect();
    let coarse: Vec<f32> = (0..600).map(|i| (i % 90) as f32 * 0.5).collect();
    for mode in [
        ModeSpec::Classic,
        ModeSpec::TryIntMult(1000),
        ModeSpec::TryDict,
    ] {
        check(&integers, &mode, &DELTAS);
        check(&integers, &mode, &CONVOLVED);
    }
    for mode in [ModeSpec::Classic, ModeSpec::TryDict] {
        check(&small, &mode, &DELTAS);
        check(&small, &mode, &CONVOLVED);
    }
    for mode in [
        ModeSpec::TryFloatMult(0.1),
        ModeSpec::TryFloatQuant(30),
        ModeSpec::TryDict,
    ] {
        check(&floats, &mode, &DELTAS);
    }
    check(&coarse, &ModeSpec::TryFloatQuant(10), &DELTAS);
}
