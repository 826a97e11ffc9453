//! Fuzzes the reader of case files.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_gen::case_file::check(data)));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed.is_multiple_of(4) {
        return fuzzer_mutate(data, size, max_size);
    }
    cerith_fuzz::change(data, size, max_size, seed, cerith_gen::case_file::mutate)
});
