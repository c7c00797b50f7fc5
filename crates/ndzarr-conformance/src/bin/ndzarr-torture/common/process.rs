//! Other processes: this program again, or Python.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::common::torture::Outcome;

/// A process that takes commands line by line, and answers each with a line. It is killed when this
/// is dropped.
pub(crate) struct Worker {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts this program as a worker.
    pub(crate) fn start(words: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg("--worker").args(words);
        Self::spawn(command)
    }

    /// Starts a program as a worker.
    pub(crate) fn spawn(mut command: Command) -> Outcome<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().ok_or("its output is piped")?);
        Ok(Self { child, to, from })
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a line.
    pub(crate) fn send(&mut self, line: &str) -> Outcome {
        let to = self.to.as_mut().ok_or("its input is closed")?;
        writeln!(to, "{line}")?;
        Ok(to.flush()?)
    }

    /// Waits for its answer.
    pub(crate) fn receive(&mut self) -> Outcome<String> {
        let mut line = String::new();
        if self.from.read_line(&mut line)? == 0 {
            return Err("a worker ended before its time".into());
        }
        Ok(line.trim_end().to_owned())
    }

    /// Waits for an answer that is a number.
    pub(crate) fn receive_number(&mut self) -> Outcome<u64> {
        let line = self.receive()?;
        line.parse()
            .map_err(|_| format!("a worker said {line:?}").into())
    }

    /// Closes its input and waits for its end.
    pub(crate) fn end(mut self) -> Outcome {
        self.to = None;
        let status = self.child.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("a worker failed: {status}").into())
        }
    }

    /// Kills it, and returns the number of lines it has sent since the last one read.
    pub(crate) fn kill(mut self) -> Outcome<u64> {
        self.child.kill()?;
        self.child.wait()?;
        let mut n = 0;
        let mut line = Vec::new();
        while self.from.read_until(b'\n', &mut line)? > 0 {
            // The last line counts if it is complete.
            n += u64::from(line.ends_with(b"\n"));
            line.clear();
        }
        Ok(n)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Both fail only when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Calls the function for every line of input, and sends the result as the answer.
pub(crate) fn answer_lines(mut answer: impl FnMut(&str) -> Outcome<String>) -> Outcome {
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?)?;
        send_line(&answer)?;
    }
    Ok(())
}

/// Sends a line to the parent process.
pub(crate) fn send_line(line: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
