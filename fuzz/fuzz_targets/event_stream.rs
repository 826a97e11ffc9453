//! Fuzzes the reader of event streams, and prints accepted streams with every printer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::event_stream::check(data)));
