//! Several threads and processes on one value: nothing is lost, nothing torn, and a killed writer
//! does no harm.
#![forbid(unsafe_code)]

#[cfg(unix)]
mod unix;

fn main() -> std::process::ExitCode {
    #[cfg(unix)]
    {
        unix::main()
    }
    #[cfg(not(unix))]
    {
        std::process::ExitCode::SUCCESS
    }
}
