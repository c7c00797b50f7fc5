//! A bucket in a slow network: `remote-server FOLDER` serves the files of a folder as S3.
//!
//! Prints one line of JSON, the endpoint and the port for control, and ends with its input.

use std::error::Error;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use bench_remote::control;
use bench_remote::proxy::{self, Network, Proxy};
use ndzarr_testkit::object_server::{BUCKET, Dialect, ObjectServer, Objects};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os()
        .nth(1)
        .ok_or("usage: remote-server FOLDER")?;
    let server = ObjectServer::on(proxy::listener()?, Dialect::S3);
    load(server.objects(), Path::new(&folder), "")?;
    let network = Network {
        latency: Duration::ZERO,
        bandwidth: 100e6,
        each: 50e6,
    };
    let (proxy, address) = Proxy::start(server.address(), network)?;
    let control = control::serve(proxy)?;
    let endpoint = format!("http://{address}");
    println!(
        "{}",
        serde_json::json!({ "endpoint": endpoint, "bucket": BUCKET, "control": control })
    );
    std::io::stdin().read_to_end(&mut Vec::new())?;
    // Its threads end with the process.
    std::process::exit(0);
}

fn load(objects: &Objects, folder: &Path, prefix: &str) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!(
            "{prefix}{}",
            entry
                .file_name()
                .to_str()
                .ok_or("a name that is not UTF-8")?
        );
        if entry.file_type()?.is_dir() {
            load(objects, &entry.path(), &format!("{name}/"))?;
        } else {
            objects.put(&name, fs::read(entry.path())?);
        }
    }
    Ok(())
}
