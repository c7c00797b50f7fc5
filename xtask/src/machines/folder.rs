//! A folder with Debian: unstable, with its Rust, cross compilers and emulators, or another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python;

/// Debian's mirror, if the machine's own list does not name one.
const MIRROR: &str = "http://deb.debian.org/debian";

/// The suite and the packages of a folder.
pub(crate) struct Contents {
    pub(crate) suite: &'static str,
    /// Architectures besides the machine's own.
    pub(crate) architectures: &'static [&'static str],
    pub(crate) packages: &'static [&'static str],
}

/// The contents that all systems need that are tested in the folder.
pub(crate) const COMPILERS: Contents = Contents {
    suite: "sid",
    architectures: &["i386", "s390x"],
    packages: &[
        "gcc",
        "libc6-dev",
        "make",
        "pkg-config",
        "cargo",
        "rustc",
        "rust-src",
        "libstd-rust-dev",
    ],
};

/// The project inside the folder.
const PROJECT: &str = "/src/project";

/// Where it is, unless the caller says otherwise.
pub(crate) fn usual() -> PathBuf {
    python::target().join("machines")
}

/// The folder, with its contents.
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    /// Makes it, unless it exists already, which a file that is written last shows.
    pub(crate) fn at(path: &Path, contents: &Contents) -> Result<Self, String> {
        let say = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(path).map_err(say)?;
        let folder = Self {
            root: path.canonicalize().map_err(say)?,
        };
        let made = folder.root.join("src/made");
        if !made.exists() {
            folder.make(contents)?;
            fs::write(&made, "").map_err(say)?;
        }
        Ok(folder)
    }

    fn make(&self, contents: &Contents) -> Result<(), String> {
        need("debootstrap", "debootstrap")?;
        eprintln!("making {}", self.root.display());
        let mirror = mirror();
        python::succeed(
            Command::new("debootstrap")
                .args([
                    "--variant=minbase",
                    "--include=ca-certificates",
                    contents.suite,
                ])
                .arg(&self.root)
                .arg(mirror),
        )?;
        for file in [
            "etc/ssl/certs/ca-certificates.crt",
            "etc/resolv.conf",
            "etc/hosts",
        ] {
            let from = Path::new("/").join(file);
            let to = self.root.join(file);
            fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
        }
        for folder in ["src/home", &PROJECT[1..]] {
            fs::create_dir_all(self.root.join(folder))
                .map_err(|error| format!("{folder}: {error}"))?;
        }
        // A mirror of another day has an index whose time is over.
        let old = self.root.join("etc/apt/apt.conf.d/99old");
        fs::write(&old, "Acquire::Check-Valid-Until \"false\";\n")
            .map_err(|error| format!("{}: {error}", old.display()))?;
        for architecture in contents.architectures {
            python::succeed(
                self.inside()
                    .args(["dpkg", "--add-architecture", architecture]),
            )?;
        }
        python::succeed(self.inside().args(["apt-get", "update"]))?;
        self.install(contents.packages)
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Installs the further packages of a system, unless it did so before: in steps that fit
    /// together, since apt gives up on all packages of a step at once.
    pub(crate) fn add(&self, system: &str, steps: &[&[&str]]) -> Result<(), String> {
        let added = self.root.join(format!("src/added-{system}"));
        if added.exists() {
            return Ok(());
        }
        steps
            .iter()
            .try_for_each(|packages| self.install(packages))?;
        fs::write(&added, "").map_err(|error| format!("{}: {error}", added.display()))
    }

    fn install(&self, packages: &[&str]) -> Result<(), String> {
        let mut apt = self.inside();
        apt.env("DEBIAN_FRONTEND", "noninteractive");
        python::succeed(
            apt.args(["apt-get", "install", "-y", "--no-install-recommends"])
                .args(packages),
        )
    }

    /// A command inside the folder, to be followed by its name and arguments. It sees the working
    /// copy, which it cannot change. The mounts are its own and end with it, so that
    /// deleting the folder does not delete the mounted files.
    pub(crate) fn inside(&self) -> Command {
        self.entered_by("exec chroot")
    }

    /// A command inside the folder, for programs of s390x that start others. The kernel runs them
    /// by the emulator, only here: the namespace of users has a table of its own for that.
    pub(super) fn inside_with_emulator(&self) -> Command {
        self.entered_by(
            r#"exec unshare --user --map-root-user --mount sh -ec '
                table=$0/proc/sys/fs/binfmt_misc; mount -t binfmt_misc binfmt_misc "$table"
                magic="\x7fELF\x02\x02\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x16"
                mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff"
                printf %s ":s390x:M::$magic:$mask:/usr/bin/qemu-s390x:" > "$table/register"
                exec chroot "$0" "$@"'"#,
        )
    }

    fn entered_by(&self, chroot: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-ec"]);
        command.arg(format!(
            r#"root=$1 project=$2 inside=$3; shift 3
            mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"
            if [ -d "$root$inside" ]; then
                mount --bind "$project" "$root$inside"; mount -o remount,bind,ro "$root$inside"
            fi
            {chroot} "$root" sh -ec 'cd "$0" 2>/dev/null || cd /; exec "$@"' "$inside" "$@""#,
        ));
        command.args([
            "sh".as_ref(),
            self.root.as_os_str(),
            python::repository().as_os_str(),
            PROJECT.as_ref(),
        ]);
        command.env_clear().envs([
            ("HOME", "/src/home"),
            ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
            ("LANG", "C.UTF-8"),
            ("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"),
        ]);
        command
    }
}

/// Installs a package of Debian on this machine, if its program does not exist.
pub(crate) fn need(program: &str, package: &str) -> Result<(), String> {
    if Command::new(program).arg("--version").output().is_ok() {
        return Ok(());
    }
    let apt = |arguments: &[&str]| python::succeed(Command::new("apt-get").args(arguments));
    let install = || apt(&["install", "-y", "--no-install-recommends", package]);
    // A new machine does not know the packages yet.
    install().or_else(|_| apt(&["update"]).and_then(|()| install()))
}

/// The address of the mirror that this machine uses.
fn mirror() -> String {
    let lists = [
        "/etc/apt/sources.list.d/debian.sources",
        "/etc/apt/sources.list",
    ];
    let text: String = lists
        .iter()
        .filter_map(|list| fs::read_to_string(list).ok())
        .collect();
    let words = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace);
    words
        .filter(|word| word.starts_with("http") && !word.contains("security"))
        .map(str::to_owned)
        .next()
        .unwrap_or_else(|| MIRROR.to_owned())
}
