//! Filter chains of lzma.

use ndzarr_model::LzmaFilter;
use xz2::stream::{Error, Filters, LzmaOptions, MatchFinder, Mode};

use crate::CodecError;

pub(super) const NAME: &str = "lzma";
const LZMA1: u64 = 0x4000_0000_0000_0001;
const LZMA2: u64 = 0x21;
const DELTA: u64 = 3;
/// The preset with the default options.
const PRESET_DEFAULT: u32 = 6;
/// The smallest dictionary that liblzma accepts, in bytes.
const DICT_SIZE_MIN: u32 = 4096;
/// The dictionaries of the presets, in KiB.
const DICT_SIZES: [u32; 10] = [
    256,
    1 << 10,
    2 << 10,
    4 << 10,
    4 << 10,
    8 << 10,
    8 << 10,
    16 << 10,
    32 << 10,
    64 << 10,
];

/// The filters of a chain. For decoding, dictionaries are limited to the decoded size, because no
/// reference can reach further back: otherwise metadata alone could make this machine allocate
/// gigabytes.
pub(super) fn filters(
    list: &[LzmaFilter],
    decoded_len: Option<usize>,
) -> Result<Filters, CodecError> {
    let mut filters = Filters::new();
    let Some((last, rest)) = list.split_last() else {
        return Err(config("the raw format needs filters"));
    };
    if list.len() > 4 {
        return Err(config("more than 4 filters"));
    }
    for filter in rest {
        push_transform(&mut filters, filter)?;
    }
    let options = options(last, decoded_len)?;
    match last.id {
        LZMA1 => filters.lzma1(&options),
        LZMA2 => filters.lzma2(&options),
        id => {
            return Err(config(&format!(
                "the last filter is {id:#x}, not LZMA1 or LZMA2"
            )));
        }
    };
    Ok(filters)
}

/// The options of a chain of just LZMA1, which the legacy format requires.
pub(super) fn single_lzma1(list: &[LzmaFilter]) -> Result<LzmaOptions, CodecError> {
    match list {
        [filter] if filter.id == LZMA1 => options(filter, None),
        _ => Err(CodecError::encode(
            NAME,
            "format 2 (alone) with filters other than LZMA1 alone",
        )),
    }
}

fn push_transform(filters: &mut Filters, filter: &LzmaFilter) -> Result<(), CodecError> {
    if filter.id == DELTA {
        let dist = stated(filter, "dist").unwrap_or(1);
        let dist = dist.checked_sub(1).and_then(|dist| u8::try_from(dist).ok());
        let dist =
            dist.ok_or_else(|| config("a delta filter whose dist is not within 1 to 256"))?;
        filters
            .delta_properties(&[dist])
            .map_err(|error| refused(filter, error))?;
        return Ok(());
    }
    let start = u32::try_from(stated(filter, "start_offset").unwrap_or(0))
        .map_err(|_| config("a start_offset beyond 32 bits"))?
        .to_le_bytes();
    // Without an offset there are no properties.
    let start = if start == [0; 4] { &[][..] } else { &start[..] };
    let pushed = match filter.id {
        4 => filters.x86_properties(start),
        5 => filters.powerpc_properties(start),
        6 => filters.ia64_properties(start),
        7 => filters.arm_properties(start),
        8 => filters.arm_thumb_properties(start),
        9 => filters.sparc_properties(start),
        id => {
            return Err(config(&format!(
                "unknown filter {id:#x} in front of the last"
            )));
        }
    };
    pushed.map(|_| ()).map_err(|error| refused(filter, error))
}

fn options(filter: &LzmaFilter, decoded_len: Option<usize>) -> Result<LzmaOptions, CodecError> {
    let number = |name: &str| -> Result<Option<u32>, CodecError> {
        let too_large = |_| config(&format!("{name} is too large"));
        stated(filter, name)
            .map(|value| u32::try_from(value).map_err(too_large))
            .transpose()
    };
    let preset = number("preset")?.unwrap_or(PRESET_DEFAULT);
    if preset & 0x7fff_ffff > 9 {
        return Err(config(&format!("unknown preset {preset:#x}")));
    }
    let mut options = LzmaOptions::new_preset(preset).map_err(|error| refused(filter, error))?;
    let preset_dict_size = DICT_SIZES[(preset & 0x7fff_ffff) as usize] << 10;
    let mut dict_size = number("dict_size")?.unwrap_or(preset_dict_size);
    if dict_size < DICT_SIZE_MIN {
        return Err(config(&format!("a dictionary of {dict_size} bytes")));
    }
    if let Some(len) = decoded_len {
        dict_size = dict_size.min(u32::try_from(len).unwrap_or(u32::MAX).max(DICT_SIZE_MIN));
    }
    options.dict_size(dict_size);
    let lc = number("lc")?.unwrap_or(3);
    let lp = number("lp")?.unwrap_or(0);
    let pb = number("pb")?.unwrap_or(2);
    if lc > 4 || lp > 4 || lc + lp > 4 || pb > 4 {
        return Err(config(&format!("lc {lc}, lp {lp}, pb {pb}")));
    }
    options
        .literal_context_bits(lc)
        .literal_position_bits(lp)
        .position_bits(pb);
    match number("mode")? {
        None => {}
        Some(1) => drop(options.mode(Mode::Fast)),
        Some(2) => drop(options.mode(Mode::Normal)),
        Some(mode) => return Err(config(&format!("unknown mode {mode}"))),
    }
    match number("mf")? {
        None => {}
        Some(0x03) => drop(options.match_finder(MatchFinder::HashChain3)),
        Some(0x04) => drop(options.match_finder(MatchFinder::HashChain4)),
        Some(0x12) => drop(options.match_finder(MatchFinder::BinaryTree2)),
        Some(0x13) => drop(options.match_finder(MatchFinder::BinaryTree3)),
        Some(0x14) => drop(options.match_finder(MatchFinder::BinaryTree4)),
        Some(mf) => return Err(config(&format!("unknown match finder {mf:#x}"))),
    }
    if let Some(value) = number("nice_len")? {
        options.nice_len(value);
    }
    if let Some(value) = number("depth")? {
        options.depth(value);
    }
    Ok(options)
}

/// An option as stated in the metadata.
fn stated(filter: &LzmaFilter, name: &str) -> Option<u64> {
    filter
        .options
        .iter()
        .find(|(option, _)| option == name)
        .map(|&(_, value)| value)
}

fn refused(filter: &LzmaFilter, error: Error) -> CodecError {
    config(&format!("filter {:#x}: {error}", filter.id))
}

fn config(what: &str) -> CodecError {
    CodecError::config(NAME, what)
}
