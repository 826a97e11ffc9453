//! Texts to the reader of Triton's IR; what it takes, to the interpreter.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::mlir::check(data)));
