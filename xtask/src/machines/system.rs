//! The systems: how each is built, and what runs its programs.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

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
const PURE: &str = "bz2,crc32c,deflate,pcodec";

/// Runs the example in Chromium.
const BROWSER: &str = "xtask/src/machines/browser/run.mjs";

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
            Self::Wasm => "WebAssembly (wasm32-unknown-unknown, Chromium; wasm32-wasip1, Node)",
            Self::Darwin => "macOS (aarch64-apple-darwin, type-checked)",
        }
    }

    /// Debian's packages, in steps.
    fn packages(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Windows => &[&["gcc-mingw-w64-x86-64-win32", "wine", "wine64"]],
            Self::I686 => {
                &[&["gcc-i686-linux-gnu", "libc6-dev-i386-cross"], &["libstd-rust-dev:i386", "libc6:i386"]]
            }
            Self::S390x => &[
                &["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross", "qemu-user"],
                &["libstd-rust-dev:s390x", "libc6:s390x"],
            ],
            Self::Wasm => &[&["libstd-rust-dev-wasm32", "lld", "binaryen"], &["nodejs", "chromium"]],
            Self::Darwin => &[],
        }
    }

    /// Builds, and runs what can be run.
    pub(super) fn run(self, folder: &Folder, jobs: Option<usize>) -> Result<Outcome, String> {
        folder.add(&format!("{self:?}").to_lowercase(), self.packages())?;
        let cargo = Cargo { system: self, folder, jobs, profile: "machines" };
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
                let small = Cargo { profile: "browser", ..cargo };
                if !small.passes("build", &["--target=wasm32-unknown-unknown", "-p=browser"])? {
                    return Ok(Outcome::built(false));
                }
                let mut in_chromium = folder.inside();
                in_chromium.args([
                    "node",
                    BROWSER,
                    "/src/target/wasm32-unknown-unknown/browser/browser.wasm",
                ]);
                let (passes, text) = shown(in_chromium)?;
                let in_chromium = Outcome::read(&text).also("the example in Chromium", passes);
                let in_node = cargo.test(&["--target=wasm32-wasip1", "-p=ndzarr-tests", "--test=cases"])?;
                Ok(in_node.joined(in_chromium))
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
#[derive(Clone, Copy)]
struct Cargo<'f> {
    system: System,
    folder: &'f Folder,
    jobs: Option<usize>,
    profile: &'static str,
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
        inside.args(["--profile", self.profile]).args(arguments);
        inside.args(self.jobs.map(|jobs| format!("-j{jobs}")));
        shown(inside)
    }
}

/// Runs a command; returns whether it succeeded, and its output, which is shown too.
fn shown(mut command: Command) -> Result<(bool, String), String> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().map_err(|error| format!("{command:?}: {error}"))?;
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
