//! A server on a free port of the loopback interface, and the settings of its clients.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::install;
use crate::python;

/// A server of another make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Kind {
    /// S3, in Python.
    Moto,
    /// Azure, in JavaScript.
    Azurite,
    /// HTTP.
    Nginx,
    /// HTTP without `If-Match`.
    Lighttpd,
    /// HTTP without ranges and ETags: what people try first.
    Python,
    /// S3 over files, where writers of one value lose some: a control.
    S3sFs,
}

/// The bucket or container of each server.
const BUCKET: &str = "bucket";
/// The account that azurite has, and its published key.
const ACCOUNT: &str = "devstoreaccount1";
const ACCOUNT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

impl Kind {
    pub(super) const USUAL: [Self; 5] = [
        Self::Moto,
        Self::Azurite,
        Self::Nginx,
        Self::Lighttpd,
        Self::Python,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Moto => "moto",
            Self::Azurite => "azurite",
            Self::Nginx => "nginx",
            Self::Lighttpd => "lighttpd",
            Self::Python => "python",
            Self::S3sFs => "s3s-fs",
        }
    }

    /// The command that runs it in the foreground, as one process.
    fn command(self, port: u16, folder: &Path, served: &Path) -> Result<Command, String> {
        let host = Ipv4Addr::LOCALHOST.to_string();
        let port = port.to_string();
        let configured = |text: String| {
            let path = folder.join("server.conf");
            fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
            Ok::<_, String>(path)
        };
        Ok(match self {
            Self::Moto => {
                let mut command = Command::new(python::interpreter("remote")?);
                command.arg(python::scripts().join("remote").join("moto_server.py"));
                command.args(["-H", &host, "-p", &port]);
                command
            }
            Self::Azurite => {
                let mut command = Command::new("node");
                command
                    .arg(install::azurite()?)
                    .args(["--blobHost", &host, "--blobPort", &port]);
                command.args(["--skipApiVersionCheck", "--silent", "--inMemoryPersistence"]);
                command
            }
            Self::Nginx => {
                let program = install::debian("nginx")?;
                let path = configured(nginx(&port, served))?;
                let mut command = Command::new(program);
                command
                    .args(["-e", "stderr", "-p"])
                    .arg(folder)
                    .arg("-c")
                    .arg(path);
                command
            }
            Self::Lighttpd => {
                let program = install::debian("lighttpd")?;
                let modules = program.with_file_name("../lib/lighttpd");
                let path = configured(lighttpd(&host, &port, served))?;
                let mut command = Command::new(program);
                command.arg("-D").arg("-m").arg(modules).arg("-f").arg(path);
                command
            }
            Self::Python => {
                let mut command = Command::new(python::interpreter("remote")?);
                command
                    .args(["-m", "http.server", &port, "--bind", &host, "--directory"])
                    .arg(served);
                command
            }
            Self::S3sFs => {
                fs::create_dir_all(served.join(BUCKET)).map_err(|e| e.to_string())?;
                let mut command = Command::new(install::s3s_fs()?);
                command.args(["--access-key", "an-id", "--secret-key", "a-secret"]);
                command.args(["--host", &host, "--port", &port]).arg(served);
                command
            }
        })
    }
}

fn nginx(port: &str, served: &Path) -> String {
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|what| format!("  {what}_temp_path temporary;\n"))
        .collect();
    format!(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n  access_log off;\n{temporary}  default_type application/octet-stream;\n\
         \x20 server {{ listen 127.0.0.1:{port}; root \"{}\"; }}\n}}\n",
        served.display()
    )
}

fn lighttpd(host: &str, port: &str, served: &Path) -> String {
    format!(
        "server.document-root = \"{}\"\nserver.bind = \"{host}\"\nserver.port = {port}\n\
         mimetype.assign = ( \"\" => \"application/octet-stream\" )\n\
         server.stat-cache-engine = \"disable\"\n",
        served.display()
    )
}

/// A server that runs. It is killed when this is dropped.
pub(crate) struct Server {
    kind: Kind,
    child: Child,
    address: SocketAddr,
    served: PathBuf,
    log: PathBuf,
}

impl Server {
    /// Starts a server in a folder of its own, with an empty bucket.
    pub(super) fn start(kind: Kind, folder: &Path) -> Result<Self, String> {
        let served = folder.join("served");
        fs::create_dir(&served).map_err(|e| format!("{}: {e}", served.display()))?;
        let free =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let address = free.map_err(|e| format!("a free port: {e}"))?;
        let log = folder.join("log");
        let unwritable = |e: std::io::Error| format!("{}: {e}", log.display());
        let output = File::create(&log).map_err(unwritable)?;
        let mut command = kind.command(address.port(), folder, &served)?;
        command
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(unwritable)?)
            .stderr(output);
        let child = command
            .spawn()
            .map_err(|e| format!("{}: {e}", command.get_program().display()))?;
        let mut server = Self {
            kind,
            child,
            address,
            served,
            log,
        };
        server
            .wait()
            .map_err(|what| format!("{what}, see {}", server.log.display()))?;
        if matches!(kind, Kind::Moto | Kind::Azurite) {
            let mut make = Command::new(python::interpreter("remote")?);
            make.arg(python::scripts().join("remote").join("bucket.py"))
                .arg(BUCKET);
            python::succeed(server.configure(&mut make))?;
        }
        Ok(server)
    }

    /// Waits until it accepts connections.
    fn wait(&mut self) -> Result<(), String> {
        let start = Instant::now();
        while TcpStream::connect(self.address).is_err() {
            if let Some(status) = self.child.try_wait().map_err(|e| e.to_string())? {
                return Err(format!("it ended: {status}"));
            }
            if start.elapsed() > Duration::from_secs(120) {
                return Err("it does not accept connections".to_owned());
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// The folder that it serves, if it serves one.
    pub(super) fn served(&self) -> &Path {
        &self.served
    }

    /// The number of requests in its log whose lines contain `part`.
    ///
    /// # Errors
    ///
    /// It has no log.
    pub(super) fn n_requests(&self, part: &str) -> Result<usize, String> {
        let log = fs::read(&self.log).map_err(|e| format!("{}: {e}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&log)
            .lines()
            .filter(|line| line.contains(part))
            .count())
    }

    /// Sets the environment of a client, so that it uses this server without a proxy.
    pub(crate) fn configure<'c>(&self, client: &'c mut Command) -> &'c mut Command {
        for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            client.env_remove(name);
        }
        client
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1");
        let endpoint = format!("http://{}", self.address);
        match self.kind {
            Kind::Moto | Kind::S3sFs => client
                .env("NDZARR_REMOTE", format!("s3://{BUCKET}/tests"))
                .env("AWS_ENDPOINT_URL", endpoint)
                .env("AWS_REGION", "us-east-1")
                .env("AWS_ACCESS_KEY_ID", "an-id")
                .env("AWS_SECRET_ACCESS_KEY", "a-secret")
                .env_remove("AWS_SESSION_TOKEN"),
            Kind::Azurite => client
                .env("NDZARR_REMOTE", format!("az://{BUCKET}/tests"))
                .env("AZURE_STORAGE_ENDPOINT", format!("{endpoint}/{ACCOUNT}"))
                .env("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
                .env("AZURE_STORAGE_ACCOUNT_KEY", ACCOUNT_KEY),
            Kind::Nginx | Kind::Lighttpd | Kind::Python => client.env("NDZARR_REMOTE", endpoint),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
