//! The laws of files: valid files are read, invalid ones are rejected with a message, and a changed file is detected.

use cerith_gen::{Ended, TrialResult};
use cerith_laws::{bundle, event_stream, recording};

#[track_caller]
fn check_ended(trial: TrialResult, expected: Ended) {
    assert_eq!(trial.unwrap_or_else(|fault| panic!("{fault}")), expected);
}

const OPENING: &str = r#"{"opening":{"cerith":"0.1.0","seconds":1,"provenance":null}}"#;

#[test]
fn sections_are_packed_as_the_writer_packs_them() {
    let good = bundle::encode_sections(1, &[(OPENING, b""), (r#"{"end":{"entries":0}}"#, b"")]);
    check_ended(bundle::check(&good), Ended::Finished);
    let more = bundle::encode_sections(1, &[(OPENING, b""), (r#"{"end":{"entries":7}}"#, b"")]);
    check_ended(bundle::check(&more), Ended::Refused);
    let mut raw = vec![0];
    raw.extend(bundle::pack_sections(&good[1..]));
    check_ended(bundle::check(&raw), Ended::Finished);
    for cut in 0..raw.len() {
        check_ended(bundle::check(&raw[..cut]), Ended::Refused);
    }
}

#[test]
fn part_files_become_corpora() {
    let process = r#"{"frame":"process","format":2,"pid":1,"argv":["a"],"python":"3.12","triton":"3.6.0","torch":null,"numpy":"2","platform":"x"}"#;
    let kernel = r#"{"frame":"kernel","kernel":0,"function":"k","files":[{"name":"k.py","text":"import triton\n\n\n@triton.jit\ndef k(n):\n    pass\n"}],"inspectable":true,"origin":"a.py:4"}"#;
    let launch = r#"{"frame":"launch","launch":0,"kernel":0,"engine":"interpret+host","target":null,"grid":[4],"storages":[],"args":[["n",["i","7"]]],"options":[]}"#;
    let good = recording::encode_frames(&[(process, b""), (kernel, b""), (launch, b"")]);
    check_ended(recording::check(&good), Ended::Finished);
    check_ended(recording::check(&good[..good.len() - 1]), Ended::Stopped);
    check_ended(
        recording::check(&recording::encode_frames(&[("7", b"")])),
        Ended::Refused,
    );
    let mut archive = vec![b'z'];
    archive.extend(cerith_gen::case_file::ARCHIVE);
    check_ended(recording::check(&archive), Ended::Finished);
    check_ended(recording::check(&archive[..40]), Ended::Refused);
}

#[test]
fn numbers_in_a_part_file_are_not_believed() {
    let process = r#"{"frame":"process","format":2,"pid":1,"argv":["a"],"python":"3.12","triton":"3.6.0","torch":null,"numpy":"2","platform":"x"}"#;
    let kernel = r#"{"frame":"kernel","kernel":0,"function":"k","files":[{"name":"k.py","text":"import triton\n\n\n@triton.jit\ndef k(n):\n    pass\n"}],"inspectable":true,"origin":"a.py:4"}"#;
    let most = u64::MAX;
    let storage =
        format!(r#"{{"size":{most},"name":"x","before":"0123456789abcdef0123456789abcdef","why":null}}"#);
    // In 64 bits both together are 1 byte.
    let other = r#"{"size":2,"name":"y","before":null,"why":"max-bytes"}"#;
    let launch = format!(
        r#"{{"frame":"launch","launch":0,"kernel":0,"engine":"interpret+host","target":null,"grid":[4],"storages":[{storage},{other}],"args":[["n",["i","7"]]],"options":[]}}"#
    );
    let bytes = format!(r#"{{"frame":"bytes","hash":"0123456789abcdef0123456789abcdef","size":{most}}}"#);
    let input = recording::encode_frames(&[
        (process, b""),
        (kernel, b""),
        (bytes.as_str(), b"?"),
        (launch.as_str(), b""),
    ]);
    check_ended(recording::check(&input), Ended::Stopped);
}

#[test]
fn streams_are_printed_by_every_printer() {
    let stream = concat!(
        r#"{"event":"verdict","case":"a/b","engines":["reference"],"verdict":"differ","blame":["x"],"expected":false,"seconds":{"x":1e-7}}"#,
        "\n",
        r#"{"event":"summary","cases":1,"agree":0,"differ":1,"undefined":0,"inconclusive":0,"unexpected":1,"seconds":0.1,"exit":1}"#,
        "\n"
    );
    check_ended(event_stream::check(stream.as_bytes()), Ended::Finished);
    check_ended(
        event_stream::check(&stream.as_bytes()[..stream.len() - 9]),
        Ended::Stopped,
    );
    check_ended(event_stream::check(b"{\"event\":1}\n"), Ended::Refused);
}
