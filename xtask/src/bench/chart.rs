//! The picture: bars per row, peers next to each other, on a logarithmic scale.

use std::fmt::Write as _;

use super::table::Done;

const ENGINES: [(&str, &str); 7] = [
    ("floor", "#9aa0a6"),
    ("ndzarr", "#d1495b"),
    ("tensorstore", "#30638e"),
    ("zarrs", "#edae49"),
    ("zarr-python-zarrs", "#a06cd5"),
    ("zarr-python", "#66a182"),
    ("z5py", "#8d6a4f"),
];
const LEFT: f64 = 190.0;
const WIDTH: f64 = 560.0;
const BAR: f64 = 9.0;

/// The picture of the rows, as SVG.
pub(super) fn svg(rows: &[Done], date: &str) -> String {
    let times = || rows.iter().flat_map(|row| row.verdict.engines.values().map(|medians| medians.wall_ms));
    let least = times().fold(f64::INFINITY, f64::min).max(0.01).log10().floor();
    let most = times().fold(0.0, f64::max).max(1.0).log10().ceil().max(least + 1.0);
    let x = |ms: f64| LEFT + (ms.max(0.01).log10() - least) / (most - least) * WIDTH;
    let mut body = String::new();
    let mut y = 64.0;
    for row in rows {
        let bars: Vec<_> = ENGINES
            .iter()
            .filter_map(|(name, colour)| {
                row.verdict.engines.get(*name).map(|medians| (name, colour, medians))
            })
            .collect();
        let height = bars.len() as f64 * BAR;
        let _ = writeln!(
            body,
            r#"<text x="{:.0}" y="{:.1}" text-anchor="end">{}</text>"#,
            LEFT - 8.0,
            y + height / 2.0 + 4.0,
            row.title
        );
        for (name, colour, medians) in bars {
            let end = x(medians.wall_ms);
            let _ = writeln!(
                body,
                r#"<rect x="{LEFT}" y="{y:.1}" width="{:.1}" height="{:.1}" fill="{colour}"><title>{} {name}: {:.1} ms</title></rect><text class="n" x="{:.1}" y="{:.1}">{:.0}</text>"#,
                (end - LEFT).max(1.0),
                BAR - 1.0,
                row.title,
                medians.wall_ms,
                end + 3.0,
                y + BAR - 2.0,
                medians.wall_ms
            );
            y += BAR;
        }
        y += 7.0;
    }
    let mut grid = String::new();
    for decade in least as i32..=most as i32 {
        let at = x(10f64.powi(decade));
        let _ = writeln!(
            grid,
            r##"<line x1="{at:.1}" x2="{at:.1}" y1="52" y2="{y:.0}" stroke="#ddd"/><text class="n" x="{at:.1}" y="48" text-anchor="middle">{} ms</text>"##,
            10f64.powi(decade)
        );
    }
    let mut legend = String::new();
    let mut at = LEFT - 120.0;
    for (name, colour) in ENGINES {
        let _ = writeln!(
            legend,
            r#"<rect x="{at:.0}" y="14" width="10" height="10" fill="{colour}"/><text x="{:.0}" y="23">{name}</text>"#,
            at + 14.0
        );
        at += 30.0 + name.len() as f64 * 6.6;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{:.0}\" font-family=\"sans-serif\" font-size=\"12\">\n<style>.n{{font-size:8px;fill:#555}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<title>Median times of {date}, logarithmic; shorter is better</title>\n{legend}{grid}{body}</svg>\n",
        LEFT + WIDTH + 60.0,
        y + 12.0
    )
}
