//! Valid, truncated and corrupted streams.
#![forbid(unsafe_code)]

use ndzarr_zfp::{
    Error, Framing, Mode, Scalar, Shape, compress, decompress, decompress_framed, header,
};

fn values(n: usize) -> Vec<u8> {
    (0..n)
        .flat_map(|i| ((i as f32 * 0.37).sin() * 100.0).to_ne_bytes())
        .collect()
}

fn shapes() -> Vec<Vec<usize>> {
    vec![
        vec![],
        vec![1],
        vec![9],
        vec![5, 8],
        vec![3, 5, 6],
        vec![2, 3, 5, 4],
    ]
}

/// Decodes over zeros and over other content: every byte must come from the stream, or both fail
/// with the same error.
fn twice(
    byte_len: usize,
    decode: impl Fn(&mut [u8]) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let [first, second] = [0, 0xa5].map(|byte| {
        let mut out = vec![byte; byte_len];
        decode(&mut out).map(|()| out)
    });
    assert_eq!(first, second);
    first
}

#[test]
fn reversible_streams_come_back() {
    for shape in shapes() {
        let n = shape.iter().product();
        let shape = Shape::new(&shape).expect("1 to 4 dimensions");
        let elements = values(n);
        for scalar in [Scalar::Float32, Scalar::Int32] {
            for framing in [Framing::Header, Framing::None] {
                let mut stream = Vec::new();
                compress(
                    &elements,
                    scalar,
                    shape,
                    Mode::Reversible,
                    framing,
                    &mut stream,
                )
                .expect("it encodes");
                let mut out = vec![0; elements.len()];
                match framing {
                    Framing::Header => {
                        assert_eq!(stream[..4], *b"zfp\x05");
                        let framed = header(&stream).expect("it has a header");
                        assert_eq!((framed.scalar, framed.shape), (scalar, shape));
                        decompress_framed(&stream, &mut out).expect("it decodes");
                    }
                    Framing::None => {
                        decompress(&stream, scalar, shape, Mode::Reversible, &mut out)
                            .expect("it decodes");
                    }
                }
                assert_eq!(out, elements);
            }
        }
    }
}

#[test]
fn every_prefix_and_every_bit() {
    for mode in [
        Mode::Reversible,
        Mode::Rate(12.0),
        Mode::Accuracy(0.01),
        Mode::Precision(20),
    ] {
        for shape in shapes() {
            let elements = values(shape.iter().product());
            let shape = Shape::new(&shape).expect("1 to 4 dimensions");
            let mut stream = Vec::new();
            compress(
                &elements,
                Scalar::Float32,
                shape,
                mode,
                Framing::Header,
                &mut stream,
            )
            .expect("it encodes");
            let mut out = vec![0; elements.len()];
            // The last word may contain only padding.
            for len in 0..stream.len() - 7 {
                let prefix = stream[..len].to_vec();
                let result = decompress_framed(&prefix, &mut out);
                if len + 8 <= stream.len() && len % 8 == 0 {
                    assert!(result.is_err(), "{mode:?}: {len} of {}", stream.len());
                }
            }
            for bit in 0..8 * stream.len() {
                let mut flipped = stream.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                match twice(elements.len(), |out| decompress_framed(&flipped, out)) {
                    Ok(_) | Err(Error::Header | Error::Length { .. } | Error::Truncated) => {}
                    Err(other) => panic!("{mode:?}, bit {bit}: {other:?}"),
                }
            }
            assert!(matches!(
                decompress_framed(&stream, &mut out[1..]),
                Err(Error::Length { .. })
            ));
        }
    }
}

#[test]
fn zeros_and_ones_go_nowhere() {
    for byte in [0, 0xff, 0x55, 0xaa, 0x01] {
        for len in [0, 1, 8, 40, 400] {
            let src = vec![byte; len];
            for shape in shapes() {
                let n: usize = shape.iter().product();
                let shape = Shape::new(&shape).expect("1 to 4 dimensions");
                for (scalar, mode) in [
                    (Scalar::Float32, Mode::Reversible),
                    (Scalar::Int64, Mode::Reversible),
                    (Scalar::Float64, Mode::Precision(64)),
                    (Scalar::Int32, Mode::Accuracy(0.0)),
                    (
                        Scalar::Float64,
                        Mode::Expert {
                            minbits: 1,
                            maxbits: 32_768,
                            maxprec: 64,
                            minexp: -1074,
                        },
                    ),
                    (
                        Scalar::Float64,
                        Mode::Expert {
                            minbits: 30_000,
                            maxbits: 32_768,
                            maxprec: 64,
                            minexp: 0,
                        },
                    ),
                ] {
                    let decode = |out: &mut [u8]| decompress(&src, scalar, shape, mode, out);
                    let what = format!("{len} times {byte:#x}, {scalar:?}, {mode:?}");
                    match twice(n * scalar.size(), decode) {
                        // Blocks without a set bit are zero.
                        Ok(out) => {
                            assert!(byte != 0 || out.iter().all(|&byte| byte == 0), "{what}")
                        }
                        Err(error) => assert_eq!(error, Error::Truncated, "{what}"),
                    }
                }
            }
        }
    }
}

#[test]
fn what_makes_no_sense() {
    assert_eq!(Shape::new(&[1, 1, 1, 1, 1]), Err(Error::Shape));
    assert_eq!(Shape::new(&[0]), Err(Error::Shape));
    assert_eq!(header(b"zfp\x04"), Err(Error::Header));
    let shape = Shape::new(&[4]).expect("1 dimension");
    for mode in [
        Mode::Rate(-1.0),
        Mode::Rate(f64::NAN),
        Mode::Precision(0),
        Mode::Accuracy(-1.0),
    ] {
        let result = compress(
            &values(4),
            Scalar::Float32,
            shape,
            mode,
            Framing::None,
            &mut Vec::new(),
        );
        assert_eq!(result, Err(Error::Mode), "{mode:?}");
    }
}
