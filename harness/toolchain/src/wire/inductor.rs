//! The frames of an Inductor worker: the request, the launches that come before the answer, and the answer. The Python side is
//! `cerith_worker/inductor.py`.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::error::BadLaunch;
use super::value::{Wired, check_value, read};
use super::{BadAnswer, BadRequest, MemoryHeader, RaisedHeader, check, header_of, raised_by, split_memories};
use crate::conversation::frame;
use crate::inductor::{CompileMode, Compiled, Emitted, Induction, InductorRequest, Undefined};
use crate::pool::Limits;
use crate::request::Value;

/// The key of a request that asks for it.
#[derive(Serialize)]
pub(super) struct InductorHeader<'a> {
    modes: Vec<ModeHeader<'a>>,
    runs: usize,
}

#[derive(Serialize)]
struct ModeHeader<'a> {
    dynamic: Option<bool>,
    mark_dynamic: &'a [(String, usize)],
    maybe_mark_dynamic: &'a [(String, usize)],
    before: Vec<Vec<(&'a str, Wired<'a>)>>,
}

impl<'a> ModeHeader<'a> {
    fn new(way: &'a CompileMode) -> Self {
        let named = |call: &'a Vec<(String, Value)>| {
            call.iter()
                .map(|(name, value)| (name.as_str(), Wired(value)))
                .collect()
        };
        Self {
            dynamic: way.dynamic,
            mark_dynamic: &way.mark_dynamic,
            maybe_mark_dynamic: &way.maybe_mark_dynamic,
            before: way.before.iter().map(named).collect(),
        }
    }
}

/// The frame of a request, or the problem of the request.
pub(crate) fn encode_request(asked: &InductorRequest, limits: Limits) -> Result<Vec<u8>, BadRequest> {
    let request = &asked.request;
    check(request)?;
    let mut header = header_of(request, limits)?;
    header.device = "cuda";
    header.driver = true;
    header.inductor = Some(InductorHeader {
        modes: asked.modes.iter().map(ModeHeader::new).collect(),
        runs: asked.runs,
    });
    Ok(frame::encode_frame(
        &header,
        request.storages.iter().map(|storage| &*storage.bytes),
    )?)
}

#[derive(Deserialize)]
struct Question {
    launch: LaunchFrame,
}

#[derive(Deserialize)]
struct LaunchFrame {
    run: usize,
    mode: usize,
    name: String,
    source: String,
    grid: [i64; 3],
    args: Vec<(String, Json)>,
    options: Vec<(String, Json)>,
    storages: Vec<usize>,
}

#[derive(Serialize)]
struct Go {
    go: bool,
}

/// Answers a frame that reports a launch; `None` for other frames.
pub(crate) fn answer_between(
    header: &[u8],
    blobs: &[u8],
    asked: &InductorRequest,
    execute: &mut dyn FnMut(Emitted) -> Option<Vec<Vec<u8>>>,
) -> Result<Option<Vec<u8>>, BadAnswer> {
    if !header.starts_with(b"{\"launch\":") {
        return Ok(None);
    }
    let emitted = decode_emitted(header, blobs, asked)?;
    let sizes: Vec<usize> = emitted.storages.iter().map(|storage| storage.len()).collect();
    let after = execute(emitted);
    if let Some(after) = &after
        && !after.iter().map(Vec::len).eq(sizes)
    {
        return Err(BadAnswer::OtherStorages);
    }
    let blobs = after.iter().flatten().map(Vec::as_slice);
    Ok(Some(frame::encode_frame(&Go { go: after.is_some() }, blobs)?))
}

fn decode_emitted(header: &[u8], blobs: &[u8], asked: &InductorRequest) -> Result<Emitted, BadLaunch> {
    let Question { launch } = serde_json::from_slice(header)?;
    if launch.mode >= asked.modes.len() || launch.run >= asked.runs {
        return Err(BadLaunch::Unasked);
    }
    let mut rest = blobs;
    let mut storages: Vec<Arc<[u8]>> = Vec::with_capacity(launch.storages.len());
    for &size in &launch.storages {
        let (these, others) = rest.split_at_checked(size).ok_or(BadLaunch::Short)?;
        rest = others;
        storages.push(these.into());
    }
    let values = |all: Vec<(String, Json)>| {
        all.into_iter()
            .map(|(name, json)| {
                let value = read(&json).ok_or(BadLaunch::Value(json))?;
                Ok((name, value))
            })
            .collect::<Result<Vec<_>, BadLaunch>>()
    };
    let args = values(launch.args)?;
    for (_, value) in &args {
        check_value(value, &launch.storages)?;
    }
    Ok(Emitted {
        run: launch.run,
        mode: launch.mode,
        kernel: launch.name,
        source: launch.source,
        grid: launch.grid,
        args,
        options: values(launch.options)?,
        storages,
    })
}

#[derive(Deserialize)]
struct InductionAnswer {
    raised: Option<RaisedHeader>,
    mode: Option<usize>,
    undefined: Vec<UndefinedHeader>,
    modes: Vec<ModeAnswer>,
    seconds: f64,
    stdout: String,
    worn: bool,
}

#[derive(Deserialize)]
struct UndefinedHeader {
    module: String,
    line: u32,
    symbol: String,
    parameter: Option<String>,
    kernel: Option<String>,
    text: String,
}

#[derive(Deserialize)]
struct ModeAnswer {
    runs: Vec<Option<Vec<MemoryHeader>>>,
    launches: usize,
}

/// Reads an answer; with it, whether the worker asks to be replaced.
pub(crate) fn decode_induction(
    header: &[u8],
    blobs: &[u8],
    asked: &InductorRequest,
) -> Result<(Induction, bool), BadAnswer> {
    let answer: InductionAnswer = serde_json::from_slice(header).map_err(BadAnswer::Header)?;
    let request = &asked.request;
    if answer.modes.len() > asked.modes.len() || answer.mode.is_some_and(|mode| mode >= asked.modes.len()) {
        return Err(BadAnswer::Unasked);
    }
    if answer.raised.is_none() && answer.modes.len() < asked.modes.len() {
        return Err(BadAnswer::Parts);
    }
    let mut rest = blobs;
    let mut ways = Vec::with_capacity(answer.modes.len());
    for mode in answer.modes {
        if mode.runs.len() != asked.runs {
            return Err(BadAnswer::Runs {
                received: mode.runs.len(),
                requested: asked.runs,
            });
        }
        let runs = mode
            .runs
            .into_iter()
            .map(|run| run.map(|run| split_memories(run, &mut rest, request)).transpose())
            .collect::<Result<_, BadAnswer>>()?;
        ways.push(Compiled {
            runs,
            launches: mode.launches,
        });
    }
    let result = match answer.raised {
        None => Ok(()),
        Some(raised) => Err(Box::new(raised_by(raised, &request.module, &request.launches)?)),
    };
    let undefined = answer.undefined.into_iter().map(|one| Undefined {
        symbol: one.symbol,
        parameter: one.parameter,
        kernel: one.kernel,
        module: one.module,
        line: one.line,
        text: one.text,
    });
    let induction = Induction {
        result,
        mode: answer.mode,
        undefined: undefined.collect(),
        finished: ways,
        stdout: answer.stdout,
        seconds: Duration::try_from_secs_f64(answer.seconds).unwrap_or_default(),
    };
    Ok((induction, answer.worn))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::Request;
    use crate::request::{Module, Storage};

    /// Two runs of two ways over one storage of eight bytes with guard zones of four.
    fn sample_request() -> InductorRequest {
        let module = Module {
            path: PathBuf::from("/k.py"),
            text: "".into(),
        };
        let storage = Storage {
            bytes: (0..16).collect(),
            front: 4,
            back: 4,
            ..Storage::default()
        };
        let way = CompileMode {
            dynamic: Some(true),
            mark_dynamic: vec![("x".into(), 1)],
            maybe_mark_dynamic: Vec::new(),
            before: vec![vec![("n".into(), Value::Int(5))]],
        };
        InductorRequest {
            request: Request {
                storages: vec![storage],
                ..Request::import(module)
            },
            modes: vec![CompileMode::default(), way],
            runs: 2,
        }
    }

    fn read_header(frame: &[u8]) -> Json {
        let start = frame::LENGTHS;
        let head = u32::from_le_bytes(*frame.first_chunk().expect("a length")) as usize;
        serde_json::from_slice(&frame[start..start + head]).expect("JSON")
    }

    #[test]
    fn a_request_says_how_to_compile() {
        let frame = encode_request(&sample_request(), Limits::default()).expect("a frame");
        let header = read_header(&frame);
        assert_eq!(
            (&header["target"], &header["device"]),
            (&Json::Null, &"cuda".into())
        );
        assert_eq!(
            header["inductor"].to_string(),
            r#"{"modes":[{"before":[],"dynamic":null,"mark_dynamic":[],"maybe_mark_dynamic":[]},"#.to_owned()
                + r#"{"before":[[["n",5]]],"dynamic":true,"mark_dynamic":[["x",1]],"maybe_mark_dynamic":[]}],"#
                + r#""runs":2}"#
        );
        let plain = super::super::encode_request(
            &sample_request().request,
            super::super::Group::File,
            Limits::default(),
        )
        .expect("a frame");
        assert_eq!(read_header(&plain).get("inductor"), None);
    }

    const LAUNCH: &str = r#"{"launch":{"run":1,"mode":0,"name":"k","source":"text","grid":[2,1,1],
        "args":[["x",["t",0,"float32",[2],[1],0]],["n",2]],"options":[["num_warps",4]],"storages":[8]}}"#;

    #[test]
    fn a_launch_is_answered_and_another_frame_is_not() {
        let asked = sample_request();
        let mut seen = Vec::new();
        let mut execute = |emitted: Emitted| {
            let after = emitted
                .storages
                .iter()
                .map(|bytes| bytes.iter().rev().copied().collect());
            let after = Some(after.collect()).filter(|_| seen.is_empty());
            seen.push(emitted);
            after
        };
        let sent: Vec<u8> = (0..8).collect();
        let text = LAUNCH.replace(char::is_whitespace, "");
        let mut ask = || {
            answer_between(text.as_bytes(), &sent, &asked, &mut execute)
                .expect("no problem")
                .expect("an answer")
        };
        let (done, given_up) = (ask(), ask());
        assert_eq!(read_header(&done).to_string(), r#"{"go":true}"#);
        assert_eq!(done[done.len() - 8..], [7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(read_header(&given_up).to_string(), r#"{"go":false}"#);
        let launch = &seen[0];
        assert_eq!((launch.run, launch.mode, launch.kernel.as_str()), (1, 0, "k"));
        assert_eq!((launch.grid, &*launch.storages[0]), ([2, 1, 1], &sent[..]));
        assert_eq!(launch.args[1], ("n".to_owned(), Value::Int(2)));
        assert_eq!(launch.options, [("num_warps".to_owned(), Value::Int(4))]);
        let answer = br#"{"raised":null}"#;
        let other = answer_between(answer, &[], &asked, &mut |_| panic!("no launch"));
        assert!(matches!(other, Ok(None)), "{other:?}");
    }

    #[test]
    fn malformed_launches_are_refused() {
        let check = |from: &str, to: &str, expected: &str| {
            let text = LAUNCH.replace(char::is_whitespace, "").replacen(from, to, 1);
            let answer = answer_between(text.as_bytes(), &[0; 8], &sample_request(), &mut |_| {
                Some(vec![vec![0; 8]])
            });
            let problem = answer.expect_err("it is refused").to_string();
            assert!(problem.starts_with(expected), "{problem}");
        };
        check(
            r#""run":1"#,
            r#""run":2"#,
            "a launch: of a run that was not requested",
        );
        check(
            r#""storages":[8]"#,
            r#""storages":[9]"#,
            "a launch: it is cut short",
        );
        check(r#"["t",0"#, r#"["t",1"#, "a launch: there is no storage 1");
        check(
            "[2],[1],0",
            "[2],[1],1",
            "a launch: a view outside of its storage",
        );
        check(
            r#""storages":[8]"#,
            r#""storages":[4,4]"#,
            "a launch: a view outside",
        );
        check(r#"["n",2]"#, r#"["n",["q"]]"#, "a launch: no such value");
    }

    #[test]
    fn an_answer_has_a_memory_for_every_run() {
        let asked = sample_request();
        let text = |modes: &str| {
            format!(
                r#"{{"raised":null,"mode":null,"undefined":[{{"module":"c.py","line":3,"symbol":"s0",
                "parameter":"K","kernel":"k","text":"3: s0"}}],"modes":[{modes}],"seconds":0.5,"stdout":"",
                "stdout_cut":false,"worn":false}}"#
            )
        };
        let whole = r#"{"runs":[[[16,[]]],null],"launches":1},{"runs":[[[null,[]]],[[16,[]]]],"launches":1}"#;
        let mut blobs = vec![1; 16];
        blobs.extend([2; 16]);
        let (answer, worn) = decode_induction(text(whole).as_bytes(), &blobs, &asked).expect("an answer");
        assert!(!worn && answer.result.is_ok());
        let first = |way: usize, run: usize| {
            let memory = answer.finished[way].runs[run].as_ref()?;
            Some(memory[0].bytes[0])
        };
        assert_eq!([first(0, 0), first(0, 1)], [Some(1), None]);
        assert_eq!([first(1, 0), first(1, 1)], [Some(0), Some(2)]);
        let undefined = &answer.undefined[0];
        assert_eq!(
            (undefined.symbol.as_str(), undefined.parameter.as_deref()),
            ("s0", Some("K"))
        );
        for (modes, blobs) in [
            (whole, &blobs[..16]),
            (r#"{"runs":[null,null],"launches":1}"#, &[][..]),
            (
                r#"{"runs":[null],"launches":1},{"runs":[null,null],"launches":1}"#,
                &[][..],
            ),
        ] {
            assert!(
                decode_induction(text(modes).as_bytes(), blobs, &asked).is_err(),
                "{modes}"
            );
        }
    }
}
