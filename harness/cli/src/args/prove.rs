//! Arguments of `cerith prove`.

use clap::{Args, ValueEnum};

/// Output format of `cerith prove`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProveFormat {
    /// Text.
    #[default]
    Human,
    /// A line of JSON for each kernel.
    Jsonl,
}

/// Arguments of `cerith prove`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cerith prove softmax.py                 every kernel of the file
  cerith prove softmax.py:softmax_kernel -v

Proves for all sizes that loads, stores and atomics stay inside of their tensors, that no integer that an address or a mask \
depends on wraps, that divisors and the steps of loops are positive. It assumes the relations that hold in all launches that `cerith check` \
would try: the arguments that are sizes or strides of tensors, and how the grid follows from sizes. They are listed. An access that is \
not proved may still be right.

Exit codes: 0 everything is proved, for tensors of fewer than 2^31 elements at least; 1 something is not; 2 the input is bad; 3 \
nothing was looked at; 130 interrupted.")]
pub struct ProveArgs {
    /// A file with kernels, `FILE.py`, one of its kernels, `FILE.py:KERNEL`, or a folder.
    #[arg(required = true, value_name = "FILE[:KERNEL]|DIR")]
    pub kernels: Vec<String>,

    /// List each obligation, also those that are proved.
    #[arg(long, short)]
    pub verbose: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: ProveFormat,
}
