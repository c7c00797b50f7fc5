//! ndzarr in a bucket, through its public calls.

use bench_protocol::Measure;
use bench_remote::control::forget;
use bench_remote::request::{Operation, Request};
use ndzarr::ndarray::ArrayD;
use ndzarr::{Any, Array, Cache, Error, ErrorKind, Group, MemberKind, OpenOptions, s};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let request = Request::from_arguments();
    let root = format!("s3+{}/{}", request.endpoint, request.bucket);
    let url = match request.operation {
        Operation::Archive => format!("{root}/{}|zip:nothing|{}:", request.path, request.format),
        _ => format!("{root}/{}|{}:", request.path, request.format),
    };
    let open = || Array::<u16>::open(&url);
    // The threads of the library and of its requests are started, as those of the other engines
    // are.
    let _ = Array::<Any>::open(format!("{root}/missing|{}:", request.format));
    if let Some(warm) = &request.warm {
        let _: ArrayD<u16> =
            Array::<u16>::open(format!("{root}/{warm}|{}:", request.format))?.read(..)?;
    }
    let start = || {
        forget(&request.control);
        Measure::start()
    };
    match request.operation {
        Operation::Open => {
            let measure = start();
            let array = open()?;
            let report = measure.stop();
            report.print_for_text(&format!("{:?}", array.shape()));
        }
        Operation::Archive => {
            let measure = start();
            // The directory of the archive shows that it does not exist.
            let found = open().map_err(|error: Error| error.kind());
            let report = measure.stop();
            assert!(matches!(found, Err(ErrorKind::NotFound)), "{found:?}");
            report.print_for_text("an archive");
        }
        Operation::OneChunk | Operation::Everything | Operation::Strided => {
            let array = open()?;
            let measure = start();
            let found: ArrayD<u16> = match request.operation {
                Operation::OneChunk => array.read(s![0..1, .., ..])?.into_dyn(),
                Operation::Strided => array.read(s![..;10, .., ..])?.into_dyn(),
                _ => array.read(..)?,
            };
            let report = measure.stop();
            report.print_for([found.as_slice().ok_or("not in standard layout")?]);
        }
        Operation::Batch => {
            let array = open()?;
            let rows: Vec<_> = (0..array.shape()[0])
                .step_by(10)
                .map(|at| s![at..at + 1, .., ..])
                .collect();
            let measure = start();
            let found = array.read_many(&rows)?;
            let report = measure.stop();
            report.print_for(found.iter().filter_map(|row| row.as_slice()));
        }
        Operation::List => {
            let measure = start();
            let children = Group::open(&url)?.children()?.into_iter();
            let arrays = children.filter(|child| child.kind() == Some(MemberKind::Array));
            let line = |child: ndzarr::Child| {
                let name = child.name().to_owned();
                Ok(format!("{name} {:?}", child.array::<Any>()?.shape()))
            };
            let mut found: Vec<String> = arrays.map(line).collect::<ndzarr::Result<_>>()?;
            let report = measure.stop();
            found.sort();
            report.print_for_text(&found.join("\n"));
        }
        Operation::Planes | Operation::PlanesFrozen => {
            let cache = Cache::new(1 << 30);
            let cache = if request.operation == Operation::PlanesFrozen {
                cache.frozen()
            } else {
                cache
            };
            let array = OpenOptions::new().cache(&cache).open_array::<u16>(&url)?;
            let measure = start();
            let planes = (0..array.shape()[0]).map(|at| array.read(s![at..at + 1, .., ..]));
            let planes: Vec<_> = planes.collect::<Result<_, _>>()?;
            let report = measure.stop();
            report.print_for(planes.iter().filter_map(|plane| plane.as_slice()));
        }
    }
    Ok(())
}
