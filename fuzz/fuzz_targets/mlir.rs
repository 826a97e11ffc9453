//! Fuzzes the parser of Triton's IR, and interprets accepted modules.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::mlir::check(data)));
