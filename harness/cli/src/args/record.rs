//! Arguments of the commands that make cases from programs: `record`, `import`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::bad_value::BadValue;

/// Arguments of `cerith record`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith record -- python train.py
  cerith record --out recordings/attention --filter 'attn_*' -- pytest tests/test_attention.py -q
  TRITON_INTERPRET=1 cerith record --sample data -- python -m pytest tests
  TRITON_INTERPRET=1 cerith record --preflight -- python train.py    an exception in place of a crash
  cerith run recording                      run the recorded cases, and compare with the recorded results

The program runs unchanged, with its own Triton (3.0 or later), interpreted or compiled. The exit code is that of the program. \
A recording holds the text of the kernels and, without --no-data, the bytes of their arguments: look at it before you pass it on. \
Only `cerith run` executes what is in it, in contained workers.")]
pub struct RecordArgs {
    /// The folder for the recording.
    #[arg(long, short, value_name = "DIR", default_value = "recording")]
    pub out: PathBuf,

    /// Only kernels whose names match this pattern (`attn_*`). Repeat for more.
    #[arg(long = "filter", value_name = "KERNEL")]
    pub filter: Vec<String>,

    /// The largest storage whose bytes are kept (`64K`, `16M`, `1G`). Larger ones keep their layout, and seeded values take the
    /// place of their bytes.
    #[arg(long, value_name = "N", default_value = "16M", value_parser = byte_count)]
    pub max_bytes: u64,

    /// The most that each process writes, compressed. After that, only layouts are kept.
    #[arg(long, value_name = "N", default_value = "1G", value_parser = byte_count)]
    pub max_size: u64,

    /// Which launches of a kernel are kept: `layout` (the first of each grid, layout and set of scalars), `data` (also
    /// those with other bytes), `every`, or a number (that many of each kernel). Without it `layout`, with --preflight `data`.
    #[arg(long, value_name = "RULE", value_parser = sample)]
    pub sample: Option<String>,

    /// The configuration that an autotuner uses if there is no GPU to measure them.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub config: u32,

    /// Judge each launch that is kept before it runs. One without a defined meaning raises an exception in the program, in place
    /// of the launch.
    #[arg(long, conflicts_with_all = ["no_data", "collect"])]
    pub preflight: bool,

    /// Keep layouts and seeds only: no bytes, no command line.
    #[arg(long)]
    pub no_data: bool,

    /// Make the recording from part files that an interrupted `cerith record`, or the Python package, left behind.
    #[arg(long, value_name = "PARTS", conflicts_with = "command")]
    pub collect: Option<PathBuf>,

    /// The program and its arguments, after `--`.
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "collect")]
    pub command: Vec<OsString>,
}

/// Arguments of `cerith import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith import cases/mine/softmax.py:softmax_kernel
  cerith import softmax.py:softmax_kernel -o rows.yaml

Parameters are read from the kernel's text. The matrix varies the sizes at and around blocks, the dtypes, and the space between rows. \
Values that the text does not determine are guessed, and marked as guesses. Only the reference runs the cases; the output has the \
number of cases that finish.")]
pub struct ImportArgs {
    /// The kernel: `file.py:function`. The function may be omitted if the file has one kernel. For a case file, it is the kernel
    /// that the file launches.
    #[arg(value_name = "FILE.py[:KERNEL]|FILE.yaml")]
    pub kernel: String,

    /// The case file to write. Without it, a file with the kernel's name beside the kernel's file.
    #[arg(short, long, value_name = "FILE.yaml")]
    pub out: Option<PathBuf>,
}

impl RecordArgs {
    /// The rule by which launches are kept.
    pub fn sample(&self) -> &str {
        let otherwise = if self.preflight { "data" } else { "layout" };
        self.sample.as_deref().unwrap_or(otherwise)
    }
}

/// A number of bytes, with `K`, `M` or `G` for powers of 1024.
fn byte_count(text: &str) -> Result<u64, BadValue> {
    let (digits, shift) = match text.strip_suffix(|c: char| "kKmMgG".contains(c)) {
        None => (text, 0),
        Some(digits) => match text.as_bytes().last() {
            Some(b'k' | b'K') => (digits, 10),
            Some(b'm' | b'M') => (digits, 20),
            _ => (digits, 30),
        },
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or(BadValue::Bytes)
}

/// A rule of [`RecordArgs::sample`].
fn sample(text: &str) -> Result<String, BadValue> {
    let known = ["layout", "data", "every"].contains(&text) || text.parse::<u32>().is_ok_and(|most| most > 0);
    if known {
        Ok(text.to_owned())
    } else {
        Err(BadValue::Sample)
    }
}
