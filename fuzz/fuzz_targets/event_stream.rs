//! Streams of events to their reader; what it takes, to every printer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| conch_fuzz::hold(conch_laws::event_stream::check(data)));
