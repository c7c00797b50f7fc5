//! The workload `machine`: a virtual machine of QEMU with Debian's kernel, in which
//! `xtask/python/torture/virtual_machine.py` cuts the power and mounts folders by the network.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::machines::folder::{Contents, Folder, need};
use crate::python;

/// The beginning of its name, and of the names of its parts.
pub(super) const NAME: &str = "machine";

/// The system of the virtual machine. Its C library must be as new as that of the program's
/// builder.
const SYSTEM: Contents = Contents {
    suite: "trixie",
    architectures: &[],
    packages: &[
        "btrfs-progs",
        "cifs-utils",
        "dmsetup",
        "e2fsprogs",
        "iproute2",
        "kmod",
        "linux-image-amd64",
        "nfs-common",
        "nfs-kernel-server",
        "python3",
        "samba",
        "util-linux",
        "xfsprogs",
    ],
};

/// The program that runs first in the virtual machine: it unpacks the second disk, an archive.
const START: &str = "#!/bin/sh
mkdir -p /opt/torture
tar -xf /dev/vdb -C /opt/torture
exec python3 /opt/torture/virtual_machine.py
";

/// The name of the program in the virtual machine.
const PROGRAM: &str = "ndzarr-torture";

/// The most seconds that it may take.
const PATIENCE: &str = "7200";

/// Runs a part of it with the program, or, if the part has no name, all.
///
/// # Errors
///
/// The machine cannot be made, or a figure is not what it must be.
#[allow(clippy::print_stdout)]
pub(super) fn run(program: &Path, part: &str, minute: bool) -> Result<(), String> {
    need("qemu-system-x86_64", "qemu-system-x86")?;
    let target = python::target();
    let folder = Folder::at(&target.join("machine"), &SYSTEM)?;
    let disk = system_disk(&folder, &target.join("machine-system.img"))?;
    let name = format!("{NAME}-work-{}", if part.is_empty() { "all" } else { part });
    let arguments = if minute {
        format!("{part} --minute")
    } else {
        part.to_owned()
    };
    let archive = archive(program, &arguments, &target.join(&name))?;
    let console = target.join(format!("{name}.log"));
    let mut qemu = Command::new("timeout");
    qemu.args([
        PATIENCE,
        "qemu-system-x86_64",
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        "max",
        "-smp",
        "2",
    ]);
    qemu.args([
        "-m",
        "4096",
        "-nodefaults",
        "-display",
        "none",
        "-nic",
        "none",
        "-no-reboot",
    ]);
    qemu.arg("-kernel").arg(boot_file(&folder, "vmlinuz-")?);
    qemu.arg("-initrd").arg(boot_file(&folder, "initrd.img-")?);
    // A busy host is late with the timer by which the kernel would check it, and then it gives up.
    let words = "root=/dev/vda rw console=ttyS0 quiet no_timer_check panic=-1 init=/start";
    qemu.args(["-append", words]);
    for image in [&disk, &archive] {
        // What the machine writes to it is forgotten.
        qemu.arg("-drive").arg(format!(
            "file={},format=raw,if=virtio,snapshot=on",
            image.display()
        ));
    }
    qemu.arg("-serial")
        .arg(format!("file:{}", console.display()))
        .args(["-serial", "stdio"]);
    let mut child = qemu
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{qemu:?}: {error}"))?;
    let output = child.stdout.take().ok_or("its output is piped")?;
    let mut last = String::new();
    for line in BufReader::new(output).lines() {
        last = line.map_err(|error| error.to_string())?;
        println!("{last}");
    }
    child.wait().map_err(|error| error.to_string())?;
    if last.contains("figures, 0 missed") {
        return Ok(());
    }
    Err(format!(
        "the virtual machine ended with {last:?}; its console is {}",
        console.display()
    ))
}

/// A file system with the folder, which is made once.
fn system_disk(folder: &Folder, image: &Path) -> Result<PathBuf, String> {
    if image.exists() {
        return Ok(image.to_owned());
    }
    let say = |error: std::io::Error| format!("{}: {error}", folder.root().display());
    fs::write(folder.root().join("start"), START).map_err(say)?;
    python::succeed(
        Command::new("chmod")
            .arg("+x")
            .arg(folder.root().join("start")),
    )?;
    let unfinished = image.with_extension("unfinished");
    python::succeed(
        Command::new("mke2fs")
            .args(["-q", "-t", "ext4", "-F", "-d"])
            .arg(folder.root())
            .arg(&unfinished)
            .arg("3G"),
    )?;
    fs::rename(&unfinished, image).map_err(say)?;
    Ok(image.to_owned())
}

/// An archive of the program, the scripts, and the words that say what they do.
fn archive(program: &Path, words: &str, folder: &Path) -> Result<PathBuf, String> {
    let say = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(say)?;
    fs::copy(program, folder.join(PROGRAM)).map_err(say)?;
    fs::write(folder.join("arguments"), words).map_err(say)?;
    for script in fs::read_dir(python::scripts().join("torture")).map_err(say)? {
        let script = script.map_err(say)?;
        if script.path().extension().is_some_and(|it| it == "py") {
            fs::copy(script.path(), folder.join(script.file_name())).map_err(say)?;
        }
    }
    let archive = folder.with_extension("tar");
    python::succeed(
        Command::new("tar")
            .arg("-cf")
            .arg(&archive)
            .arg("-C")
            .arg(folder)
            .arg("."),
    )?;
    Ok(archive)
}

/// The kernel, or the disk that it begins with.
fn boot_file(folder: &Folder, begin: &str) -> Result<PathBuf, String> {
    let boot = folder.root().join("boot");
    let entries = fs::read_dir(&boot).map_err(|error| format!("{}: {error}", boot.display()))?;
    let mut paths = entries.filter_map(Result::ok);
    let found = paths.find(|entry| entry.file_name().to_string_lossy().starts_with(begin));
    found
        .map(|entry| entry.path())
        .ok_or_else(|| format!("{}: no {begin}", boot.display()))
}
