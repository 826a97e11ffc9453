//! How long a recording takes to be read, and its cases to be made. Reading must not depend on what its archives hold.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use cerith_case::Corpus;
use divan::Bencher;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const KERNELS: usize = 40;
const LAUNCHES: usize = 250;

fn main() {
    divan::main();
}

fn render_case(kernel: usize, launch: usize) -> String {
    format!(
        "about: Launch {launch} of add_kernel, recorded from `python train.py`.\n\
         origin: \"recorded: Triton 3.6.0, torch 2.11.0, interpret+host, train.py:12\"\n\
         kernel: k{kernel}.py:add_kernel\n\
         storages:\n  \
           x_ptr: {{ dtype: f32, shape: [256], fill: {{ bytes: data.zip/x{launch} }} }}\n  \
           y_ptr: {{ dtype: f32, shape: [256], fill: {{ bytes: data.zip/y{launch} }} }}\n  \
           out_ptr: {{ dtype: f32, shape: [256], fill: {{ bytes: data.zip/zeros }} }}\n\
         tensors:\n  \
           x: x_ptr.as_strided([16, 16], [16, 1], 0)\n\
         launches:\n  \
           - grid: [4]\n    \
             args: {{ x_ptr: x, y_ptr: y_ptr, output_ptr: out_ptr, n_elements: 256, BLOCK_SIZE: 64 }}\n    \
             options: {{ num_warps: 4 }}\n\
         recorded:\n  \
           engine: interpret@3.6.0+host\n  \
           after: {{ out_ptr: data.zip/x{launch} }}\n"
    )
}

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)
";

/// A recording of so many launches of each of so many kernels.
fn write_recording(root: &Path) {
    for kernel in 0..KERNELS {
        let folder = root.join(format!("k{kernel}"));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(format!("k{kernel}.py")), KERNEL).expect("a file");
        let mut zip = ZipWriter::new(File::create(folder.join("data.zip")).expect("a file"));
        let mut entry = |name: String, seed: u32| {
            let mut state = seed;
            let mut bytes = vec![0u8; 1024];
            for byte in bytes.iter_mut().filter(|_| seed > 0) {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                *byte = (state >> 24) as u8;
            }
            zip.start_file(name, SimpleFileOptions::default())
                .expect("a new entry");
            zip.write_all(&bytes).expect("a file");
        };
        entry("zeros".to_owned(), 0);
        for launch in 0..LAUNCHES {
            entry(format!("x{launch}"), launch as u32 * 2 + 1);
            entry(format!("y{launch}"), launch as u32 * 2 + 2);
            fs::write(
                folder.join(format!("{launch:04}.yaml")),
                render_case(kernel, launch),
            )
            .expect("a file");
        }
        zip.finish().expect("a file");
    }
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn read_10_000_case_files(bencher: Bencher<'_, '_>) {
    let folder = TempDir::new().expect("a folder");
    write_recording(folder.path());
    bencher.bench_local(|| {
        let corpus = Corpus::read(folder.path()).expect("a folder");
        assert_eq!(
            (corpus.files().len(), corpus.problems().len()),
            (KERNELS * LAUNCHES, 0)
        );
        corpus
    });
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn make_10_000_cases(bencher: Bencher<'_, '_>) {
    let folder = TempDir::new().expect("a folder");
    write_recording(folder.path());
    let corpus = Corpus::read(folder.path()).expect("a folder");
    bencher.bench_local(|| corpus.entries().filter(|entry| entry.resolve().is_ok()).count());
}
