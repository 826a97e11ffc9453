//! Fuzzes the readers of part files and data archives; the collector gets the accepted ones.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::recording::check(data)));
