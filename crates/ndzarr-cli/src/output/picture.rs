//! Draws a plane of numbers as a picture in shades of grey: reduces it to pixels, and encodes these
//! as PNG or for a terminal.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::failure::Failure;

/// A plane that is reduced to pixels while it is read: each pixel is the mean of its numbers.
#[derive(Debug)]
pub(crate) struct Canvas {
    /// Rows and columns of the plane.
    rows: u64,
    columns: u64,
    /// Height and width of the picture.
    height: usize,
    width: usize,
    sums: Vec<f64>,
    counts: Vec<u32>,
}

/// Pixels.
#[derive(Debug)]
pub(crate) struct Pixels {
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// By rows; NaN for a pixel without a number.
    pub(crate) values: Vec<f64>,
}

impl Canvas {
    /// A canvas for a plane of at least one element, and a picture of at most this width. The
    /// picture is not wider than the plane.
    pub(crate) fn new(rows: u64, columns: u64, max_width: usize) -> Self {
        let width = columns.min(max_width.max(1) as u64);
        let height = (rows as f64 * width as f64 / columns as f64)
            .round()
            .clamp(1.0, rows as f64);
        // The picture of a narrow plane is at most twice as high as others are wide.
        let height = (height as u64).min(2 * max_width.max(1) as u64);
        let height = height as usize;
        let width = width as usize;
        let n = height * width;
        Self {
            rows,
            columns,
            height,
            width,
            sums: vec![0.0; n],
            counts: vec![0; n],
        }
    }

    /// Adds the numbers of a row, from this column on.
    pub(crate) fn add(&mut self, row: u64, first: u64, numbers: impl IntoIterator<Item = f64>) {
        let y = scaled(row, self.rows, self.height);
        let pixels = y * self.width;
        for (column, number) in (first..).zip(numbers) {
            if !number.is_nan() {
                let at = pixels + scaled(column, self.columns, self.width);
                self.sums[at] += number;
                self.counts[at] += 1;
            }
        }
    }

    pub(crate) fn pixels(self) -> Pixels {
        let mean = |(sum, count): (&f64, &u32)| {
            if *count == 0 {
                f64::NAN
            } else {
                sum / f64::from(*count)
            }
        };
        let values = self.sums.iter().zip(&self.counts).map(mean).collect();
        Pixels {
            height: self.height,
            width: self.width,
            values,
        }
    }
}

/// The index of the pixel of an element, along an axis of `n` elements.
fn scaled(at: u64, n: u64, pixels: usize) -> usize {
    (u128::from(at) * pixels as u128 / u128::from(n)) as usize
}

impl Pixels {
    /// Two percentiles of the finite numbers.
    pub(crate) fn percentiles(&self, [low, high]: [f64; 2]) -> Option<[f64; 2]> {
        let mut finite: Vec<f64> = self
            .values
            .iter()
            .copied()
            .filter(|value| value.is_finite())
            .collect();
        let last = finite.len().checked_sub(1)?;
        Some([low, high].map(|percent| {
            let at = (last as f64 * percent / 100.0).round() as usize;
            *finite
                .select_nth_unstable_by(at.min(last), f64::total_cmp)
                .1
        }))
    }

    /// The shade of each pixel from black to white; `None` for a pixel without a number.
    pub(crate) fn shades(&self, [low, high]: [f64; 2]) -> Vec<Option<u8>> {
        let shade = |value: &f64| {
            if value.is_nan() {
                return None;
            }
            // A constant plane is grey, unless it is outside of the range.
            let part = match value.total_cmp(&low) {
                _ if high > low => (value - low) / (high - low),
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 1.0,
            };
            Some((part.clamp(0.0, 1.0) * 255.0).round() as u8)
        };
        self.values.iter().map(shade).collect()
    }
}

/// The colour of pixels without a number, not a shade of grey.
const NO_NUMBER: [u8; 3] = [60, 80, 140];

/// A PNG file (W3C, third edition) in 8 bits of grey; with a palette if a pixel has no number.
pub(crate) fn png([height, width]: [usize; 2], shades: &[Option<u8>]) -> Result<Vec<u8>, Failure> {
    let side = |n: usize| u32::try_from(n).map_err(|_| Failure::new("the picture is too large"));
    let has_gaps = shades.contains(&None);
    // The last colour of a palette is that of pixels without a number, so that white is one lower.
    let white = if has_gaps { 254 } else { 255 };
    let mut rows = Vec::with_capacity(shades.len() + height);
    for row in shades.chunks(width) {
        // The filter of the row: none.
        rows.push(0);
        rows.extend(
            row.iter()
                .map(|shade| shade.map_or(255, |shade| shade.min(white))),
        );
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let data = encoder.write_all(&rows).and_then(|()| encoder.finish());
    let data =
        data.map_err(|error| Failure::new(format_args!("compressing the picture: {error}")))?;
    let mut header = Vec::new();
    header.extend(side(width)?.to_be_bytes());
    header.extend(side(height)?.to_be_bytes());
    // Bits, colour type, compression, filter, interlace.
    header.extend([8, if has_gaps { 3 } else { 0 }, 0, 0, 0]);
    let mut palette: Vec<u8> = (0..254).chain([255]).flat_map(|grey| [grey; 3]).collect();
    palette.extend(NO_NUMBER);
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let parts = [
        (b"IHDR", &header),
        (b"PLTE", &palette),
        (b"IDAT", &data),
        (b"IEND", &Vec::new()),
    ];
    for (kind, data) in parts
        .into_iter()
        .filter(|(kind, _)| has_gaps || *kind != b"PLTE")
    {
        out.extend(side(data.len())?.to_be_bytes());
        let start = out.len();
        out.extend(kind);
        out.extend(data);
        let checksum = crc32fast::hash(&out[start..]);
        out.extend(checksum.to_be_bytes());
    }
    Ok(out)
}

/// Lines of half blocks, two rows of pixels each, in 24-bit shades; without colours, of characters
/// that are darker and lighter.
pub(crate) fn lines(
    [height, width]: [usize; 2],
    shades: &[Option<u8>],
    color: bool,
) -> Vec<String> {
    let shade = |y: usize, x: usize| {
        if y < height {
            shades[y * width + x]
        } else {
            None
        }
    };
    let mut lines = Vec::new();
    for y in (0..height).step_by(2) {
        if !color {
            lines.push(
                (0..width)
                    .map(|x| character([shade(y, x), shade(y + 1, x)]))
                    .collect(),
            );
            continue;
        }
        let mut line = String::new();
        let mut last = None;
        for x in 0..width {
            let top = shade(y, x).map_or(NO_NUMBER, |shade| [shade; 3]);
            // Nothing is below the last row.
            let bottom =
                (y + 1 < height).then(|| shade(y + 1, x).map_or(NO_NUMBER, |shade| [shade; 3]));
            if last != Some((top, bottom)) {
                let [r, g, b] = top;
                line.push_str(&format!("\x1b[0;38;2;{r};{g};{b}"));
                if let Some([r, g, b]) = bottom {
                    line.push_str(&format!(";48;2;{r};{g};{b}"));
                }
                line.push('m');
                last = Some((top, bottom));
            }
            line.push('▀');
        }
        lines.push(line + "\x1b[0m");
    }
    lines
}

/// A character for two pixels, from dark to light.
fn character(pair: [Option<u8>; 2]) -> char {
    const RAMP: &[u8] = b".:-=+*#%@";
    let known: Vec<usize> = pair.into_iter().flatten().map(usize::from).collect();
    match known.iter().sum::<usize>().checked_div(known.len()) {
        None => ' ',
        Some(mean) => char::from(RAMP[mean * RAMP.len() / 256]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(values: &[f64]) -> Pixels {
        Pixels {
            height: 1,
            width: values.len(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn pixels_are_means_of_numbers() {
        let mut canvas = Canvas::new(4, 4, 2);
        for row in 0..4 {
            canvas.add(row, 0, [1.0, 3.0, f64::NAN, row as f64]);
        }
        let found = canvas.pixels();
        assert_eq!((found.height, found.width), (2, 2));
        assert_eq!(found.values, [2.0, 0.5, 2.0, 2.5]);
        let mut canvas = Canvas::new(1, 3, 100);
        canvas.add(0, 1, [5.0, 6.0]);
        canvas.add(0, 0, [4.0]);
        assert_eq!(canvas.pixels().values, [4.0, 5.0, 6.0]);
    }

    #[test]
    fn cli_15_constant_planes_nan_and_infinities() {
        let constant = pixels(&[7.0, 7.0]);
        assert_eq!(constant.percentiles([1.0, 99.0]), Some([7.0, 7.0]));
        assert_eq!(constant.shades([7.0, 7.0]), [Some(128), Some(128)]);
        let odd = pixels(&[f64::NAN, f64::NEG_INFINITY, 0.0, 10.0, f64::INFINITY]);
        assert_eq!(odd.percentiles([0.0, 100.0]), Some([0.0, 10.0]));
        assert_eq!(
            odd.shades([0.0, 10.0]),
            [None, Some(0), Some(0), Some(255), Some(255)]
        );
        assert_eq!(pixels(&[f64::NAN]).percentiles([1.0, 99.0]), None);
    }

    #[test]
    fn half_blocks_are_two_rows() {
        let shades = [Some(0), Some(255), None, Some(9)];
        assert_eq!(
            lines([2, 2], &shades, true),
            ["\x1b[0;38;2;0;0;0;48;2;60;80;140m▀\x1b[0;38;2;255;255;255;48;2;9;9;9m▀\x1b[0m"]
        );
        assert_eq!(lines([2, 2], &shades, false), [".+"]);
        assert_eq!(
            lines([1, 1], &[Some(7)], true),
            ["\x1b[0;38;2;7;7;7m▀\x1b[0m"]
        );
    }

    /// The file for three pixels, taken apart by hand as the specification says.
    #[test]
    fn pictures_are_png_files() {
        let file = png([1, 3], &[Some(1), Some(255), Some(200)]).expect("it is small");
        assert_eq!(file[..8], [137, 80, 78, 71, 13, 10, 26, 10]);
        assert_eq!(
            file[8..29],
            *b"\0\0\0\x0dIHDR\0\0\0\x03\0\0\0\x01\x08\0\0\0\0"
        );
        let len = u32::from_be_bytes(file[33..37].try_into().expect("four bytes")) as usize;
        assert_eq!(file[37..41], *b"IDAT");
        let mut rows = Vec::new();
        let data = &mut flate2::read::ZlibDecoder::new(&file[41..41 + len]);
        std::io::Read::read_to_end(data, &mut rows).expect("it is zlib");
        assert_eq!(rows, [0, 1, 255, 200]);
        // The checksum of an empty IEND is in every PNG file.
        assert_eq!(file[41 + len + 4..], *b"\0\0\0\0IEND\xae\x42\x60\x82");
        let file = png([1, 2], &[Some(255), None]).expect("it is small");
        assert_eq!((file[25], &file[33..41]), (3, &b"\0\0\x03\0PLTE"[..]));
        assert_eq!(
            file[41 + 3 * 253..41 + 768],
            [253, 253, 253, 255, 255, 255, 60, 80, 140]
        );
    }
}
