//! Codecs as arguments: `zstd:3`, `blosc:lz4:5:shuffle`, `transpose:1:0,gzip:5`, `none`.

use ndzarr::codec::{self, BloscCname, BloscShuffle, CodecSpec};

/// Parses a list of codecs in encoding order, separated by commas.
///
/// # Errors
/// A codec or a parameter is not known, for clap.
pub(crate) fn parse(text: &str) -> Result<Vec<CodecSpec>, String> {
    if text.trim() == "none" {
        return Ok(Vec::new());
    }
    text.split(',').map(|part| one(part.trim())).collect()
}

fn one(text: &str) -> Result<CodecSpec, String> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let parameters: Vec<&str> = parts.collect();
    let at_most = |n: usize| {
        if parameters.len() > n {
            Err(format!("{text:?} has too many parameters"))
        } else {
            Ok(())
        }
    };
    let level = |default: i32| match parameters.first() {
        None => Ok(default),
        Some(level) => level
            .parse::<i32>()
            .map_err(|_| format!("{level:?} is not a level of {name}")),
    };
    match name {
        "zstd" => at_most(1).and(level(3)).map(codec::zstd),
        "gzip" => at_most(1).and(level(5)).map(codec::gzip),
        "zlib" => at_most(1).and(level(5)).map(codec::zlib),
        "xz" => at_most(1).and(unsigned(level(6)?, name)).map(codec::xz),
        "pcodec" => at_most(1).and(unsigned(level(8)?, name)).map(codec::pcodec),
        "lz4" => at_most(0).map(|()| codec::lz4()),
        "crc32c" => at_most(0).map(|()| codec::crc32c()),
        "blosc" => at_most(3).and_then(|()| blosc(&parameters)),
        "transpose" => {
            let axis = |axis: &&str| axis.parse().map_err(|_| format!("{axis:?} is not an axis"));
            parameters
                .iter()
                .map(axis)
                .collect::<Result<Vec<usize>, _>>()
                .map(codec::transpose)
        }
        _ => Err(format!(
            "{name:?} is not one of none, zstd, gzip, zlib, lz4, xz, pcodec, blosc, crc32c, transpose"
        )),
    }
}

fn unsigned<T: TryFrom<i32>>(level: i32, name: &str) -> Result<T, String> {
    T::try_from(level).map_err(|_| format!("{level} is not a level of {name}"))
}

fn blosc(parameters: &[&str]) -> Result<CodecSpec, String> {
    let cname = parameters.first().copied().unwrap_or("lz4");
    let cname = BloscCname::from_name(cname)
        .ok_or_else(|| format!("{cname:?} is not a compressor of blosc"))?;
    let level = match parameters.get(1) {
        None => 5,
        Some(level) => level
            .parse()
            .map_err(|_| format!("{level:?} is not a level of blosc"))?,
    };
    let shuffle = match parameters.get(2).copied() {
        None | Some("shuffle") => BloscShuffle::Byte,
        Some("bitshuffle") => BloscShuffle::Bit,
        Some("noshuffle") => BloscShuffle::None,
        Some(other) => {
            return Err(format!(
                "{other:?} is not one of shuffle, bitshuffle, noshuffle"
            ));
        }
    };
    Ok(codec::blosc(cname, level, shuffle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_have_parameters() {
        assert_eq!(parse("none"), Ok(vec![]));
        assert_eq!(parse("zstd"), Ok(vec![codec::zstd(3)]));
        assert_eq!(parse("zstd:-5"), Ok(vec![codec::zstd(-5)]));
        assert_eq!(
            parse("gzip:9,crc32c"),
            Ok(vec![codec::gzip(9), codec::crc32c()])
        );
        assert_eq!(
            parse("transpose:1:0, xz"),
            Ok(vec![codec::transpose([1, 0]), codec::xz(6)])
        );
        let blosc = codec::blosc(BloscCname::Zstd, 7, BloscShuffle::Bit);
        assert_eq!(parse("blosc:zstd:7:bitshuffle"), Ok(vec![blosc]));
        for wrong in [
            "",
            "lz5",
            "zstd:x",
            "zstd:1:2",
            "lz4:1",
            "blosc:zip",
            "xz:-1",
            "transpose:a",
            "blosc:lz4:5:s",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
