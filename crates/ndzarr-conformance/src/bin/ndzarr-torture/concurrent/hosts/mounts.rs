//! Two mounts of one folder, which stand for two hosts. Unless they are given, they are of sshfs:
//! the kernel keeps file locks for each of them separately.

use std::env;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::layout::Layout;
use crate::common::torture::Outcome;

/// The folder, its two mounts, and the programs that serve them, which end when this is dropped.
pub(super) struct Mounts {
    data: PathBuf,
    hosts: [PathBuf; 2],
    /// For keys and the like.
    folder: PathBuf,
    /// None if the mounts are the caller's.
    programs: Vec<Child>,
    layouts: &'static [Layout],
}

/// How long a program has to begin its work.
const PATIENCE: Duration = Duration::from_secs(20);

const SSHD: &str = "/usr/sbin/sshd";

impl Mounts {
    /// Mounts a new folder twice.
    ///
    /// # Errors
    /// There is no FUSE, sshfs or sshd here, or this user may not use them.
    pub(super) fn new(folder: &Path) -> Outcome<Self> {
        for needed in ["/dev/fuse", SSHD] {
            if !Path::new(needed).exists() {
                return Err(format!("there is no {needed}").into());
            }
        }
        for name in ["data", "keys", "host0", "host1"] {
            fs::create_dir_all(folder.join(name))?;
        }
        let mut mounts = Self {
            data: folder.join("data"),
            hosts: [folder.join("host0"), folder.join("host1")],
            folder: folder.to_owned(),
            programs: Vec::new(),
            layouts: &Layout::ALL,
        };
        let port = mounts.start_server()?;
        for host in 0..2 {
            mounts.mount(host, port)?;
        }
        mounts.with_boot_id()
    }

    /// The mounts of a folder that two hosts have mounted over the network. They are slow.
    ///
    /// # Errors
    /// This user may not unshare mounts.
    pub(super) fn given(folder: &Path, data: &Path, hosts: [&Path; 2]) -> Outcome<Self> {
        let mounts = Self {
            data: data.to_owned(),
            hosts: hosts.map(Path::to_owned),
            folder: folder.to_owned(),
            programs: Vec::new(),
            layouts: &[Layout::V3, Layout::V3Shards, Layout::N5],
        };
        mounts.with_boot_id()
    }

    /// Lets programs of the second host see a machine of their own.
    fn with_boot_id(self) -> Outcome<Self> {
        fs::write(
            self.folder.join("boot_id"),
            "00000000-aaaa-bbbb-cccc-000000000001\n",
        )?;
        if !self.command(1, Path::new("true")).status()?.success() {
            return Err("a process cannot be given another boot id".into());
        }
        Ok(self)
    }

    /// The folder itself.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// The folder as a host sees it.
    pub(super) fn on(&self, host: usize) -> &Path {
        &self.hosts[host]
    }

    /// The layouts of the arrays that are made.
    pub(super) fn layouts(&self) -> &'static [Layout] {
        self.layouts
    }

    /// A program to be started on a host.
    pub(super) fn command(&self, host: usize, program: &Path) -> Command {
        if host == 0 {
            return Command::new(program);
        }
        const OTHER_HOST: &str =
            r#"mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@""#;
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", OTHER_HOST])
            .arg(self.folder.join("boot_id"))
            .arg(program);
        command
    }

    fn start_server(&mut self) -> Outcome<u16> {
        let keys = self.folder.join("keys");
        for name in ["host", "user"] {
            let mut command = Command::new("ssh-keygen");
            command
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(keys.join(name));
            run(&mut command)?;
        }
        // The server needs it.
        let _ = fs::create_dir_all("/run/sshd");
        // Free at this moment.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let show = |name: &str| keys.join(name).display().to_string();
        let settings = [
            format!("Port {port}"),
            "ListenAddress 127.0.0.1".to_owned(),
            format!("HostKey {}", show("host")),
            format!("AuthorizedKeysFile {}", show("user.pub")),
            "StrictModes no".to_owned(),
            "PermitRootLogin yes".to_owned(),
            "PasswordAuthentication no".to_owned(),
            "UsePAM no".to_owned(),
            "PidFile none".to_owned(),
            "Subsystem sftp internal-sftp".to_owned(),
        ];
        fs::write(keys.join("settings"), settings.join("\n"))?;
        let mut server = Command::new(SSHD);
        server.arg("-D").arg("-f").arg(keys.join("settings"));
        self.programs.push(quiet(&mut server).spawn()?);
        until(|| TcpStream::connect(("127.0.0.1", port)).is_ok())
            .then_some(port)
            .ok_or_else(|| "sshd".into())
    }

    fn mount(&mut self, host: usize, port: u16) -> Outcome {
        let user = run(Command::new("id").arg("-un"))?;
        let at = self.on(host).to_owned();
        let mut command = Command::new("sshfs");
        command.arg("-f").args(["-p", &port.to_string()]);
        command.arg(format!(
            "-oIdentityFile={}",
            self.folder.join("keys/user").display()
        ));
        // It must not answer from its cache what the other host has changed.
        command.arg("-odir_cache=no");
        command.args([
            "-oStrictHostKeyChecking=no",
            "-oUserKnownHostsFile=/dev/null",
            "-oBatchMode=yes",
        ]);
        command
            .arg(format!(
                "{}@127.0.0.1:{}",
                user.trim(),
                self.data().display()
            ))
            .arg(&at);
        self.programs.push(quiet(&mut command).spawn()?);
        fs::write(self.data().join("seen"), "")?;
        if until(|| at.join("seen").exists()) {
            Ok(())
        } else {
            Err("sshfs does not mount".into())
        }
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        if self.programs.is_empty() {
            return;
        }
        for host in 0..2 {
            for unmount in ["fusermount3", "fusermount"] {
                let _ = quiet(Command::new(unmount).args(["-u", "-z"]).arg(self.on(host))).status();
            }
        }
        for program in self.programs.iter_mut().rev() {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// This program, to be started on a host.
pub(super) fn this_program() -> Outcome<PathBuf> {
    Ok(env::current_exe()?)
}

fn quiet(command: &mut Command) -> &mut Command {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
}

fn run(command: &mut Command) -> Outcome<String> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn until(mut ready: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if ready() {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}
