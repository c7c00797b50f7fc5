//! The README's picture: what users do, as the time that the best peer takes for it.

use std::fmt::Write as _;

use super::record::Record;
use super::remote::Measured;
use super::table::Done;
use super::verdict::Time;

/// What is shown: rows by their titles, and what a user calls them. Chosen by what users do, not by who is faster.
const ROWS: [(&str, &str); 8] = [
    ("W2 read", "Read a volume of 256 MiB, zstd"),
    ("W14 planes", "Read it plane by plane, chunks of 64³"),
    ("W10 as a batch", "Read 1,000 random small chunks of shards"),
    ("W4 write", "Write it in shards, zstd"),
    ("W7 read", "Read it from N5, gzip"),
    ("W17 copy to shards", "Copy 1 GiB into shards, in 192 MiB of memory"),
    ("W13 plain", "Open 1,000 arrays in a hierarchy"),
    ("W16 append", "Append a frame of 512² (acquire-zarr shows it later)"),
];

/// The row from a bucket, at the first latency.
const REMOTE: (&str, &str) = ("1,000 chunks", "Read 1,000 chunks from S3, 10 ms away");

const WIDTH: f64 = 640.0;
const MARGIN: f64 = 16.0;
const TOP: f64 = 62.0;
/// From one workload to the next: a line of text and a bar.
const STEP: f64 = 42.0;
/// Greater ratios end here, with an arrow.
const MOST: f64 = 3.0;

/// A workload: the times of ndzarr and of the best peer, in milliseconds.
struct Workload {
    name: &'static str,
    ms: f64,
    peer: String,
    peer_ms: f64,
    /// The median over rounds of the peer's time to ndzarr's.
    factor: f64,
}

/// The picture, as SVG.
///
/// # Errors
/// The record lacks a row, or a peer of it.
pub(super) fn svg(record: &Record<Done>, remote: &Record<Measured>) -> Result<String, String> {
    let mut workloads = Vec::new();
    for (title, name) in ROWS {
        let row = record.rows.iter().find(|row| row.title == title);
        let workload = row.and_then(|row| local(row, name));
        workloads.push(workload.ok_or_else(|| format!("the record has no {title} with a peer"))?);
    }
    let (title, name) = REMOTE;
    let row = remote.rows.iter().find(|row| row.name == title);
    let workload = row.and_then(|row| in_bucket(row, name));
    workloads.push(workload.ok_or_else(|| format!("the record has no {title} with a peer"))?);
    let height = TOP + STEP * workloads.len() as f64 + 40.0;
    let mut body = String::new();
    for (at, workload) in workloads.iter().enumerate() {
        bar(workload, TOP + STEP * at as f64, &mut body);
    }
    let bottom = TOP + STEP * workloads.len() as f64;
    let about = format!(
        "{}, {}; S3 {}. Medians; of frames the 99th percentile.",
        record.date,
        record.machine.split(", Linux").next().unwrap_or_default(),
        remote.date
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"-apple-system,Segoe UI,Helvetica,Arial,sans-serif\" font-size=\"14\">\n{STYLE}"
    );
    let _ = writeln!(svg, "<title>The time that the best peer takes; ndzarr takes 1</title>");
    let _ = writeln!(
        svg,
        r#"<text x="{MARGIN}" y="22" class="head">Time of the best peer (ndzarr = 1, longer is slower)</text>"#
    );
    for tick in 0..=MOST as u32 {
        let at = x(f64::from(tick));
        let _ = writeln!(svg, r#"<text x="{at}" y="43" class="small" text-anchor="middle">{tick}</text>"#);
    }
    svg += &body;
    let _ = writeln!(svg, r#"<text x="{MARGIN}" y="{}" class="small">{about}</text>"#, bottom + 22.0);
    svg += "</svg>\n";
    Ok(svg)
}

const STYLE: &str = "<style>\n\
    text{fill:#1f2328}.head{font-weight:600}.small{font-size:12px;fill:#59636e}\n\
    .slower{fill:#2f6fb3}.faster{fill:#d4711a}.grid{stroke:#d1d9e0}.one{stroke:#1f2328;stroke-width:2}\n\
    @media (prefers-color-scheme:dark){text{fill:#f0f6fc}.small{fill:#9198a1}\n\
    .slower{fill:#4c8fd6}.faster{fill:#e08a3c}.grid{stroke:#3d444d}.one{stroke:#f0f6fc}}\n\
    </style>\n";

fn local(row: &Done, name: &'static str) -> Option<Workload> {
    let best = row.verdict.best_peer.as_ref()?;
    let ms = |engine: &str| row.verdict.engines.get(engine).map(|medians| medians.time_ms(Time::Wall));
    Some(Workload {
        name,
        ms: ms("ndzarr")?,
        peer: best.to.clone(),
        peer_ms: ms(&best.to)?,
        factor: 1.0 / best.median,
    })
}

fn in_bucket(row: &Measured, name: &'static str) -> Option<Workload> {
    let best = row.best_peer.as_ref()?;
    Some(Workload { name, ms: row.ms, peer: best.name.clone(), peer_ms: best.ms, factor: 1.0 / best.ratio })
}

/// Where a factor is on the axis.
fn x(factor: f64) -> f64 {
    MARGIN + factor.min(MOST) / MOST * (WIDTH - 2.0 * MARGIN)
}

/// A workload with its bar, below `y`.
fn bar(workload: &Workload, y: f64, out: &mut String) {
    let Workload { name, ms, peer, peer_ms, factor } = workload;
    // What rounding calls 1.0 is as fast.
    let class = if *factor < 0.95 { "faster" } else { "slower" };
    let _ = writeln!(out, r#"<text x="{MARGIN}" y="{}">{name}</text>"#, y + 12.0);
    let _ = writeln!(
        out,
        r#"<text x="{}" y="{}" class="small" text-anchor="end">{peer} {peer_ms:.0} ms, ndzarr {ms:.0} ms: {factor:.1}</text>"#,
        WIDTH - MARGIN,
        y + 12.0
    );
    let _ = writeln!(
        out,
        r#"<rect x="{MARGIN}" y="{}" width="{:.1}" height="12" rx="2" class="{class}"/>"#,
        y + 18.0,
        x(*factor) - MARGIN
    );
    // Beside the bar alone, so that no line crosses the text.
    for tick in 0..=MOST as u32 {
        let class = if tick == 1 { "one" } else { "grid" };
        let at = x(f64::from(tick));
        let _ = writeln!(
            out,
            r#"<line x1="{at}" x2="{at}" y1="{}" y2="{}" class="{class}"/>"#,
            y + 15.0,
            y + 33.0
        );
    }
}
