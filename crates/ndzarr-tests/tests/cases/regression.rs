//! Inputs of earlier fuzzing findings (`testdata/regression/`): each is a trial, named by its
//! folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use libtest_mimic::Trial;
use ndzarr_tests::TARGETS;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The trials, which must run one at a time: memory is counted for the whole process.
pub(crate) fn trials() -> io::Result<Vec<Trial>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/regression");
    let mut trials = vec![Trial::test("every target takes an empty input", || {
        TARGETS.iter().for_each(|(_, check, _)| check(&[]));
        Ok(())
    })];
    for case in folders(&root)? {
        let name = case
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        trials.push(Trial::test(name, move || check(&case).map_err(Into::into)));
    }
    Ok(trials)
}

fn folders(root: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.path())).collect(),
    }
}

/// Runs the target that `case.toml` names in the line `target = "…"` on the file `input`.
fn check(case: &Path) -> Result<(), String> {
    let text = fs::read_to_string(case.join("case.toml"))
        .map_err(|error| format!("case.toml: {error}"))?;
    let target = text
        .lines()
        .find_map(|line| line.strip_prefix("target = \"")?.strip_suffix('"'))
        .ok_or("case.toml names no target")?;
    let (_, check, max_bytes) = TARGETS
        .iter()
        .find(|(name, ..)| *name == target)
        .ok_or_else(|| format!("there is no target {target}"))?;
    let input = fs::read(case.join("input")).map_err(|error| format!("input: {error}"))?;
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    check(&input);
    let taken = ALLOCATOR.peak_usage().saturating_sub(before);
    if taken > *max_bytes {
        Err(format!("{taken} bytes of memory were taken"))
    } else {
        Ok(())
    }
}
