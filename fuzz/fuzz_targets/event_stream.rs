//! Streams of events to their reader; what it takes, to every printer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| cerith_fuzz::hold(cerith_laws::event_stream::check(data)));
