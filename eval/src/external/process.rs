//! An engine's process: lines to it, lines from it with a deadline, and a transcript of both.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// The longest line taken in; what is longer comes in parts.
const LINE_BYTES: u64 = 1 << 16;
/// Lines that wait to be read; then the engine has to wait.
const LINES: usize = 1024;
/// The longest transcript.
const TRANSCRIPT_BYTES: u64 = 64 << 20;
/// How often a wait looks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long an engine may take to end after it was told to.
const FAREWELL: Duration = Duration::from_secs(1);

/// What came of waiting for a line.
pub(super) enum Heard {
    /// A line, without its end.
    Line(String),
    /// None before the deadline.
    Nothing,
    /// There will be no more.
    Ended,
    /// Told to stop.
    Stopped,
}

/// A running engine. Dropped, it is killed at once, with all processes it has started.
pub(super) struct Process {
    child: Child,
    /// `None` once its input is closed.
    input: Option<Sender<String>>,
    output: Receiver<String>,
    transcript: Transcript,
    ended: bool,
}

impl Process {
    /// Starts a program with a transcript in `folder`.
    pub(super) fn start(command: &[String], folder: &Path, keep_transcript: bool) -> std::io::Result<Process> {
        let transcript = Transcript::new(&command[0], folder, keep_transcript)?;
        let mut program = Command::new(&command[0]);
        program.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(transcript.file.try_clone()?);
        // A group of its own: Ctrl-C reaches this program alone, which ends the engine in order, and all of the group.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut program, 0);
        let mut child = program.spawn().inspect_err(|_| transcript.remove())?;
        let (mut stdin, stdout) = match (child.stdin.take(), child.stdout.take()) {
            (Some(stdin), Some(stdout)) => (stdin, stdout),
            _ => return Err(std::io::Error::other("no pipes to the engine")),
        };
        // Both ways have a thread, so that nothing an engine does or leaves undone holds up this one.
        let (input, lines) = mpsc::channel::<String>();
        std::thread::spawn(move || {
            for line in lines {
                if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        let (lines, output) = mpsc::sync_channel(LINES);
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = Vec::new();
            loop {
                line.clear();
                match stdout.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
                    Ok(1..) if lines.send(String::from_utf8_lossy(&line).trim().to_string()).is_ok() => {}
                    _ => return,
                }
            }
        });
        Ok(Process { child, input: Some(input), output, transcript, ended: false })
    }

    pub(super) fn send(&mut self, line: &str) {
        self.transcript.write('>', line);
        // That it does not listen any more shows where an answer is missing.
        if let Some(input) = &self.input {
            input.send(format!("{line}\n")).ok();
        }
    }

    /// Waits for the next line.
    pub(super) fn receive(&mut self, deadline: Instant, stop: &dyn Fn() -> bool) -> Heard {
        loop {
            if stop() {
                return Heard::Stopped;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(line) => {
                    self.transcript.write('<', &line);
                    // Also where lines never stop.
                    return if left.is_zero() { Heard::Nothing } else { Heard::Line(line) };
                }
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Heard::Nothing,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Heard::Ended,
            }
        }
    }

    /// Forgets games before this one in the transcript, unless all is kept.
    pub(super) fn new_game(&mut self) {
        self.transcript.new_game();
    }

    pub(super) fn transcript(&self) -> &Path {
        &self.transcript.path
    }

    /// The transcript stays, for there is something to see in it.
    pub(super) fn keep_transcript(&mut self) {
        self.transcript.keep = true;
    }

    /// Lets the engine end, after a command that tells it to.
    pub(super) fn quit(mut self, command: &str) {
        self.send(command);
        self.wait(FAREWELL);
    }

    /// Closes its input and waits for its end.
    pub(super) fn wait(&mut self, most: Duration) -> Option<ExitStatus> {
        self.input = None;
        let deadline = Instant::now() + most;
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                self.ended = true;
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            // What it still says must not hold it up.
            while self.output.try_recv().is_ok() {}
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.ended {
            #[cfg(unix)]
            if let Ok(group) = i32::try_from(self.child.id()) {
                let group = nix::unistd::Pid::from_raw(group);
                nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).ok();
            }
            self.child.kill().ok();
            self.child.wait().ok();
        }
        if !self.transcript.keep {
            self.transcript.remove();
        }
    }
}

/// Everything said to (`>`) and by (`<`) an engine, with seconds since its start; what it writes to its standard error
/// stands between.
struct Transcript {
    path: PathBuf,
    file: File,
    keep: bool,
    start: Instant,
    /// Bytes in the file, and how many of them belong to no game.
    length: u64,
    preface: Option<u64>,
}

impl Transcript {
    fn new(program: &str, folder: &Path, keep: bool) -> std::io::Result<Transcript> {
        static NUMBER: AtomicUsize = AtomicUsize::new(1);
        std::fs::create_dir_all(folder)?;
        let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{name}-{}-{number}.txt", std::process::id()));
            match File::options().append(true).create_new(true).open(&path) {
                Ok(file) => {
                    return Ok(Transcript { path, file, keep, start: Instant::now(), length: 0, preface: None });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn write(&mut self, direction: char, line: &str) {
        if self.length >= TRANSCRIPT_BYTES {
            return;
        }
        let text = format!("{:9.3} {direction} {line}\n", self.start.elapsed().as_secs_f64());
        self.length += text.len() as u64;
        let end = if self.length >= TRANSCRIPT_BYTES { "(more is not written down)\n" } else { "" };
        // A disk that is full ends no game.
        self.file.write_all((text + end).as_bytes()).ok();
    }

    fn new_game(&mut self) {
        let preface = *self.preface.get_or_insert(self.length);
        if !self.keep && self.file.set_len(preface).is_ok() {
            self.length = preface;
        }
    }

    fn remove(&self) {
        std::fs::remove_file(&self.path).ok();
    }
}
