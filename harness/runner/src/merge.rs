//! `cerith report merge`: merges the streams of a run's shards. See `cerith_report::Merge` for the conditions under which streams
//! belong together.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use cerith_report::event::Event;
use cerith_report::{Human, KnownDetail, Merge, Merged, Writer, read_event, safe};

use crate::corpus::ReportFolder;
use crate::exit::Exit;
use crate::host::Console;
use crate::options::{PrintFormat, ReportOptions};
use crate::output::{Output, STREAM};
use crate::part::{Part, PartError};

/// Options for merging streams.
#[derive(Clone, Debug)]
pub struct MergeOptions {
    /// The streams: `events.jsonl` of each shard.
    pub streams: Vec<PathBuf>,
    /// The path of the merged stream.
    pub output: Option<PathBuf>,
    /// A folder for the merged stream and the reports made of it.
    pub out: Option<PathBuf>,
    /// How much is printed about known differences.
    pub known_detail: KnownDetail,
}

/// How much is printed at once.
const PRINTED: usize = 1 << 16;

/// The reason why the merged stream cannot be written. Fits after "failed to ".
#[derive(Debug, thiserror::Error)]
enum MergeError {
    #[error(transparent)]
    Part(#[from] PartError),
    #[error("write the stream: {0}")]
    Print(io::Error),
}

/// Merges, and returns the exit code.
pub fn merge(options: &MergeOptions, console: &dyn Console) -> Exit {
    if let Some(lost) = find_overwritten(options) {
        console.note(&format!(
            "error: {} is one of the streams, and would be overwritten\n  = help: name another file for the \
             merged stream",
            lost.display()
        ));
        return Exit::Wrong;
    }
    let streams = options.streams.iter().map(|path| {
        let input = cerith_files::open(path).map(|file| BufReader::with_capacity(1 << 18, file));
        (path.display().to_string(), input)
    });
    let merge = match Merge::open(streams) {
        Ok(merge) => merge,
        Err(nothing) => {
            for fault in &nothing.faults {
                console.note(&safe::escape_lines(&fault.rendered));
            }
            console.note(&format!("error: {nothing}, so there is nothing to merge"));
            return Exit::Wrong;
        }
    };
    let merged = match (&options.out, &options.output) {
        (Some(folder), _) => return write_folder(merge, options, folder, console),
        (None, Some(file)) => write_file(merge, file),
        (None, None) => print_stream(merge, console),
    };
    let merged = match merged {
        Ok(merged) => merged,
        Err(error) => {
            console.note(&format!("error: failed to {error}"));
            return Exit::Wrong;
        }
    };
    for fault in &merged.faults {
        console.note(&safe::escape_lines(&fault.rendered));
    }
    let exit = Exit::from(merged.summary.exit);
    if let Some(file) = &options.output {
        let mut human = Human::new(console.palette());
        console.print(&human.render_event(&Event::Summary(merged.summary)));
        console.print(&format!("stream: {}\n", file.display()));
    }
    exit
}

/// An input stream that the result would overwrite.
fn find_overwritten(options: &MergeOptions) -> Option<PathBuf> {
    let into = match (&options.out, &options.output) {
        (Some(folder), _) => folder.join(STREAM),
        (None, Some(file)) => file.clone(),
        (None, None) => return None,
    };
    let into = into.canonicalize().ok()?;
    let same = |path: &&PathBuf| path.canonicalize().is_ok_and(|path| path == into);
    options.streams.iter().find(same).cloned()
}

/// The stream alone.
fn write_file(merge: Merge<BufReader<File>>, path: &Path) -> Result<Merged, MergeError> {
    let part = Part::create(path)?;
    let mut writer = Writer::new(Unflushed(BufWriter::with_capacity(1 << 18, part.file())));
    let merged = merge
        .run(|event, line| write_event_line(&mut writer, event, line))
        .and_then(|merged| writer.into_parts().0.0.flush().map(|()| merged))
        .map_err(PartError::write(path))?;
    part.keep()?;
    Ok(merged)
}

fn print_stream(merge: Merge<BufReader<File>>, console: &dyn Console) -> Result<Merged, MergeError> {
    let mut writer = Writer::new(Vec::with_capacity(2 * PRINTED));
    let print = |writer: &mut Writer<Vec<u8>>| {
        console.print(&String::from_utf8_lossy(&writer.take()));
    };
    let merged = merge.run(|event, line| {
        write_event_line(&mut writer, event, line)?;
        if writer.waiting() >= PRINTED {
            print(&mut writer);
        }
        Ok(())
    });
    print(&mut writer);
    merged.map_err(MergeError::Print)
}

fn write_event_line(writer: &mut Writer<impl Write>, event: &Event, line: Option<&[u8]>) -> io::Result<()> {
    match line {
        Some(line) => writer.copy(line),
        None => writer.write_event(event),
    }
}

/// A buffer that is flushed at the end, not after every line: the file gets its name only when it is whole.
struct Unflushed<W>(W);

impl<W: Write> Write for Unflushed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the stream and the reports made from it, with the messages of a run.
fn write_folder(
    merge: Merge<BufReader<File>>,
    options: &MergeOptions,
    folder: &Path,
    console: &dyn Console,
) -> Exit {
    let reports = ReportOptions {
        format: PrintFormat::Human,
        out: Some(folder.to_owned()),
        verbose: false,
        known_detail: options.known_detail,
    };
    let nowhere = ReportFolder {
        path: folder.to_owned(),
        cerith_folder: None,
    };
    let mut output = match Output::new(&reports, &nowhere, false, console) {
        Ok(output) => output,
        Err(blocked) => {
            console.note(&format!("error: {blocked}"));
            return Exit::Wrong;
        }
    };
    let merged = merge.run(|event, line| {
        // The line has the exhibit, which the reports show.
        match line.map(read_event) {
            Some(Ok(whole)) => output.emit_event(&whole),
            _ if matches!(event, Event::Summary(_)) => {}
            _ => output.emit_event(event),
        }
        Ok(())
    });
    match merged {
        Ok(merged) => output.finish_after(merged.summary.seconds, merged.summary.interrupted),
        Err(error) => {
            console.note(&format!("error: failed to merge: {error}"));
            Exit::Wrong
        }
    }
}
