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
const PURE: &str = "bz2,deflate,pcodec";

/// The cases of testdata, to be run in Node.
const IN_NODE: [&str; 3] = ["--target=wasm32-wasip1", WHOLE, "--test=cases"];

/// Runs the example in Chromium.
const BROWSER: &str = "xtask/src/machines/browser/run.mjs";

/// The packages below those of arrays.
const PARTS: [&str; 6] = [
    "-p=ndzarr-grid",
    "-p=ndzarr-json",
    "-p=ndzarr-model",
    "-p=ndzarr-metadata",
    "-p=ndzarr-codec",
    "-p=ndzarr-store-fs",
];

/// The package that tests all of them through arrays.
const WHOLE: &str = "-p=ndzarr-tests";

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// What takes a few minutes: of i686 the packages below those of arrays, of wasm the cases in
    /// Node. Other systems have no such part.
    Quick,
}

impl System {
    pub(super) const ALL: [Self; 5] = [
        Self::I686,
        Self::Wasm,
        Self::Windows,
        Self::S390x,
        Self::Darwin,
    ];

    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Windows => "Windows (x86_64-pc-windows-gnu, wine)",
            Self::I686 => "32 bits (i686-unknown-linux-gnu)",
            Self::S390x => "big-endian (s390x-unknown-linux-gnu, qemu-user)",
            Self::Wasm => "WebAssembly (wasm32-unknown-unknown, Chromium; wasm32-wasip1, Node)",
            Self::Darwin => {
                "macOS and the BSDs (aarch64-apple-darwin, x86_64-unknown-freebsd, type-checked)"
            }
        }
    }

    /// Debian's packages, in steps.
    fn packages(self, extent: Extent) -> &'static [&'static [&'static str]] {
        match self {
            Self::Wasm if extent == Extent::Quick => {
                &[&["libstd-rust-dev-wasm32", "lld", "nodejs"]]
            }
            Self::Windows => &[&["gcc-mingw-w64-x86-64-win32", "wine", "wine64"]],
            Self::I686 => &[
                &["gcc-i686-linux-gnu", "libc6-dev-i386-cross"],
                &["libstd-rust-dev:i386", "libc6:i386"],
            ],
            Self::S390x => &[
                &["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross", "qemu-user"],
                &["libstd-rust-dev:s390x", "libc6:s390x"],
            ],
            Self::Wasm => &[
                &["libstd-rust-dev-wasm32", "lld", "binaryen"],
                &["nodejs", "chromium"],
            ],
            Self::Darwin => &[],
        }
    }

    /// Builds, and runs what can be run.
    pub(super) fn run(
        self,
        folder: &Folder,
        extent: Extent,
        jobs: Option<usize>,
    ) -> Result<Outcome, String> {
        folder.add(
            &format!("{self:?}-{extent:?}").to_lowercase(),
            self.packages(extent),
        )?;
        let cargo = Cargo {
            system: self,
            folder,
            jobs,
            profile: "machines",
        };
        let tests = ["--lib", "--tests"];
        match self {
            Self::Windows => {
                let target = ["--target", "x86_64-pc-windows-gnu", BUILD_STD];
                let outcome = cargo.test(&[&target[..], &tests, &PARTS, &[WHOLE]].concat())?;
                let run =
                    |arguments: &[&str]| cargo.passes("run", &[&target[..], arguments].concat());
                let tour = outcome.builds && run(&["-p=examples", "tour"])?;
                let torture = [
                    "-p=ndzarr-conformance",
                    "--bin=ndzarr-torture",
                    "--",
                    "--minute",
                ];
                let torture = outcome.builds && run(&torture)?;
                Ok(outcome
                    .also("the tour", tour)
                    .also("the minute of torture", torture))
            }
            Self::I686 => {
                let packages = match extent {
                    Extent::Quick => &PARTS[..],
                    Extent::Whole => &["--workspace", "--exclude=xtask", "--exclude=examples"],
                };
                cargo.test(&[&["--target=i686-unknown-linux-gnu"], &tests[..], packages].concat())
            }
            Self::S390x => {
                let target = ["--target", "s390x-unknown-linux-gnu"];
                cargo.test(&[&target[..], &tests, &PARTS, &[WHOLE]].concat())
            }
            Self::Wasm if extent == Extent::Quick => cargo.test(&IN_NODE),
            Self::Wasm => {
                let small = Cargo {
                    profile: "browser",
                    ..cargo
                };
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
                let in_node = cargo.test(&IN_NODE)?;
                Ok(in_node.joined(in_chromium))
            }
            Self::Darwin => {
                let features = format!("--features=fs,{PURE}");
                let library = ["-p=ndzarr", "--no-default-features", &features];
                let mut passes = true;
                for target in [
                    "--target=aarch64-apple-darwin",
                    "--target=x86_64-unknown-freebsd",
                ] {
                    for what in [&library[..], &["-p=ndzarr-store-fs", "--all-targets"]] {
                        passes &= cargo.passes("check", &[&[target, BUILD_STD], what].concat())?;
                    }
                }
                Ok(Outcome::built(passes))
            }
        }
    }

    /// The environment of cargo: linkers, C compilers, and what runs programs.
    fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Windows => &[
                (
                    "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER",
                    "x86_64-w64-mingw32-gcc",
                ),
                (
                    "CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER",
                    "timeout 2400 wine",
                ),
                ("CC_x86_64_pc_windows_gnu", "x86_64-w64-mingw32-gcc"),
                ("WINEDEBUG", "-all"),
                ("WINEPREFIX", "/src/wine"),
            ],
            Self::I686 => &[
                (
                    "CARGO_TARGET_I686_UNKNOWN_LINUX_GNU_LINKER",
                    "i686-linux-gnu-gcc",
                ),
                ("CC_i686_unknown_linux_gnu", "i686-linux-gnu-gcc"),
            ],
            Self::S390x => &[
                (
                    "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER",
                    "s390x-linux-gnu-gcc",
                ),
                (
                    "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER",
                    "timeout 3000",
                ),
                ("QEMU_LD_PREFIX", "/usr/s390x-linux-gnu"),
                ("CC_s390x_unknown_linux_gnu", "s390x-linux-gnu-gcc"),
            ],
            Self::Wasm => &[
                // Small cases, each run once.
                ("CARGO_PROFILE_MACHINES_OPT_LEVEL", "0"),
                ("CARGO_TARGET_WASM32_WASIP1_LINKER", "wasm-ld"),
                (
                    "CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS",
                    "-Clinker-flavor=wasm-ld",
                ),
                (
                    "CARGO_TARGET_WASM32_WASIP1_RUNNER",
                    "node --no-warnings /src/project/xtask/src/machines/wasi.mjs",
                ),
                ("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld"),
                (
                    "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
                    "-Clinker-flavor=wasm-ld",
                ),
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
    /// True if the command succeeds.
    fn passes(&self, command: &str, arguments: &[&str]) -> Result<bool, String> {
        self.output(command, arguments).map(|(passes, _)| passes)
    }

    fn test(&self, arguments: &[&str]) -> Result<Outcome, String> {
        if !self.passes("test", &[&["--no-run"], arguments].concat())? {
            return Ok(Outcome::built(false));
        }
        self.output("test", &[&["--no-fail-fast"], arguments].concat())
            .map(|(_, text)| Outcome::read(&text))
    }

    /// Runs cargo inside the folder. Returns true if it succeeded, and both of its outputs, which
    /// are shown too.
    fn output(&self, command: &str, arguments: &[&str]) -> Result<(bool, String), String> {
        let mut inside = match self.system {
            System::S390x => self.folder.inside_with_emulator(),
            _ => self.folder.inside(),
        };
        // The standard library is built by a stable compiler, and a lock file is not written.
        inside
            .env("RUSTC_BOOTSTRAP", "1")
            .envs(self.system.environment().iter().copied());
        // One for all systems: they share macros and build scripts.
        inside.env("CARGO_TARGET_DIR", "/src/target");
        inside.args([
            "sh",
            "-c",
            r#"exec "$@" 2>&1"#,
            "sh",
            "cargo",
            command,
            "--locked",
        ]);
        inside
            .args(["--profile", self.profile])
            .args(self.jobs.map(|jobs| format!("-j{jobs}")));
        inside.args(arguments);
        shown(inside)
    }
}

/// Runs a command. Returns true if it succeeded, and its output, which is shown too.
fn shown(mut command: Command) -> Result<(bool, String), String> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{command:?}: {error}"))?;
    let mut text = String::new();
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut line = Vec::new();
    while lines
        .read_until(b'\n', &mut line)
        .map_err(|error| error.to_string())?
        > 0
    {
        let shown = String::from_utf8_lossy(&line);
        eprint!("{shown}");
        text.push_str(&shown);
        line.clear();
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    Ok((status.success(), text))
}
