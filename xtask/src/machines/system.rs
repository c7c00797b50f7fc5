//! The systems: how each is built, and what runs its programs.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::folder::Folder;
use super::outcome::Outcome;

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum System {
    Windows,
    I686,
    S390x,
    Wasm,
    Darwin,
}

/// Debian has no standard library for some systems; cargo builds it, with a feature that is not
/// stable.
const BUILD_STD: &str = "-Zbuild-std=std,panic_unwind,test";

/// Everything but what needs a C compiler for that system, which this machine lacks.
const PURE: &str = "crc32c,deflate,pcodec";

/// The packages whose tests need nothing that a foreign system or an emulator lacks.
const LIBRARIES: [&str; 6] =
    ["ndzarr-grid", "ndzarr-model", "ndzarr-metadata", "ndzarr-codec", "ndzarr-store-fs", "ndzarr-tests"];

impl System {
    pub(super) const ALL: [Self; 5] = [Self::I686, Self::Wasm, Self::Windows, Self::S390x, Self::Darwin];

    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Windows => "Windows (x86_64-pc-windows-gnu, wine)",
            Self::I686 => "32 bits (i686-unknown-linux-gnu)",
            Self::S390x => "big-endian (s390x-unknown-linux-gnu, qemu-user)",
            Self::Wasm => "WebAssembly (wasm32-wasip1, Node; wasm32-unknown-unknown, built)",
            Self::Darwin => "macOS (aarch64-apple-darwin, type-checked)",
        }
    }

    /// Builds, and runs what can be run.
    pub(super) fn run(self, folder: &Folder, jobs: Option<usize>) -> Result<Outcome, String> {
        let cargo = Cargo { system: self, folder, jobs };
        let libraries: Vec<&str> = LIBRARIES.iter().flat_map(|package| ["-p", package]).collect();
        match self {
            Self::Windows => {
                let target = ["--target", "x86_64-pc-windows-gnu", BUILD_STD];
                let outcome = cargo.test(&[&target[..], &["--lib", "--tests"], &libraries].concat())?;
                let tour = ["-p", "examples", "tour"];
                let passes = outcome.builds && cargo.passes("run", &[&target[..], &tour].concat())?;
                Ok(outcome.also("cargo run -p examples tour", passes))
            }
            Self::I686 => cargo.test(&[
                "--target=i686-unknown-linux-gnu",
                "--lib",
                "--tests",
                "--workspace",
                "--exclude=xtask",
                "--exclude=examples",
            ]),
            Self::S390x => {
                let tests = ["--target", "s390x-unknown-linux-gnu", "--lib", "--tests"];
                cargo.test(&[&tests, &libraries[..]].concat())
            }
            Self::Wasm => {
                let browser = ["--target", "wasm32-unknown-unknown", "-p", "ndzarr", "--no-default-features"];
                if !cargo
                    .passes("build", &[&browser[..], &["--features", &format!("{PURE},zstd")]].concat())?
                {
                    return Ok(Outcome::built(false));
                }
                cargo.test(&["--target=wasm32-wasip1", "-p=ndzarr-tests", "--test=cases"])
            }
            Self::Darwin => {
                let features = format!("fs,{PURE}");
                let target = ["--target", "aarch64-apple-darwin", BUILD_STD, "-p", "ndzarr"];
                let features = ["--no-default-features", "--features", &features];
                cargo.passes("check", &[&target[..], &features].concat()).map(Outcome::built)
            }
        }
    }

    /// What cargo has to know: linkers, C compilers, and what runs programs.
    fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Windows => &[
                ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", "x86_64-w64-mingw32-gcc"),
                ("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine"),
                ("CC_x86_64_pc_windows_gnu", "x86_64-w64-mingw32-gcc"),
                ("WINEDEBUG", "-all"),
                ("WINEPREFIX", "/src/wine"),
            ],
            Self::I686 => &[
                ("CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_LINKER", "i686-linux-gnu-gcc"),
                ("CC_i686_unknown_linux_gnu", "i686-linux-gnu-gcc"),
            ],
            Self::S390x => &[
                ("CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER", "s390x-linux-gnu-gcc"),
                ("CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER", "timeout 3000"),
                ("QEMU_LD_PREFIX", "/usr/s390x-linux-gnu"),
                ("CC_s390x_unknown_linux_gnu", "s390x-linux-gnu-gcc"),
            ],
            Self::Wasm => &[
                ("CARGO_TARGET_WASM32_WASIP1_LINKER", "wasm-ld"),
                ("CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS", "-Clinker-flavor=wasm-ld"),
                (
                    "CARGO_TARGET_WASM32_WASIP1_RUNNER",
                    "node --no-warnings /src/project/xtask/src/machines/wasi.mjs",
                ),
                ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld"),
                ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", "-Clinker-flavor=wasm-ld"),
            ],
            Self::Darwin => &[],
        }
    }
}

/// Cargo for one system.
struct Cargo<'f> {
    system: System,
    folder: &'f Folder,
    jobs: Option<usize>,
}

impl Cargo<'_> {
    /// Whether the command succeeds.
    fn passes(&self, command: &str, arguments: &[&str]) -> Result<bool, String> {
        self.output(command, arguments).map(|(passes, _)| passes)
    }

    fn test(&self, arguments: &[&str]) -> Result<Outcome, String> {
        if !self.passes("test", &[&["--no-run"], arguments].concat())? {
            return Ok(Outcome::built(false));
        }
        self.output("test", &[&["--no-fail-fast"], arguments].concat()).map(|(_, text)| Outcome::read(&text))
    }

    /// Runs cargo inside the folder; returns whether it succeeded, and both of its outputs, which
    /// are shown too.
    fn output(&self, command: &str, arguments: &[&str]) -> Result<(bool, String), String> {
        let mut inside = match self.system {
            System::S390x => self.folder.inside_with_emulator(),
            _ => self.folder.inside(),
        };
        // The standard library is built by a stable compiler, and a lock file is not written.
        inside.env("RUSTC_BOOTSTRAP", "1").envs(self.system.environment().iter().copied());
        // One for all systems: they share macros and build scripts.
        inside.env("CARGO_TARGET_DIR", "/src/target");
        inside.args(["sh", "-c", r#"exec "$@" 2>&1"#, "sh", "cargo", command, "--locked"]);
        inside.args(["--profile", "machines"]).args(arguments);
        inside.args(self.jobs.map(|jobs| format!("-j{jobs}")));
        let mut child =
            inside.stdout(Stdio::piped()).spawn().map_err(|error| format!("{inside:?}: {error}"))?;
        let mut text = String::new();
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).map_err(|error| error.to_string())? > 0 {
            let shown = String::from_utf8_lossy(&line);
            eprint!("{shown}");
            text.push_str(&shown);
            line.clear();
        }
        let status = child.wait().map_err(|error| error.to_string())?;
        Ok((status.success(), text))
    }
}
