//! Shared parts of the tests of workers: the versions, kernels, storages, requests.
// Each test file uses its part of this.
#![allow(dead_code)]

use std::path::PathBuf;
use std::time::Duration;

use cerith_tile::DType;
use cerith_tile::releases::latest_patches;
use cerith_tile::rules::Version;
use cerith_toolchain::request::{Grid, Launch, Module, Storage, Tensor, Value};
use cerith_toolchain::response::Raised;
use cerith_toolchain::{Limits, Pool, Request, Response, Toolchain};

/// A toolchain of each minor version of Triton since this one.
pub fn tritons_since(major: u16, minor: u16) -> Vec<String> {
    let tritons = latest_patches(Version::new(major, minor, 0));
    tritons.iter().map(ToString::to_string).collect()
}

pub fn kernels_folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "kernels"].iter().collect()
}

pub fn read_module(name: &str) -> Module {
    let path = kernels_folder().join(name);
    let text = std::fs::read_to_string(&path).expect("a kernel file");
    Module {
        path,
        text: text.into(),
    }
}

/// The 1-based line that a kernel file's text is on.
pub fn line_of(module: &Module, text: &str) -> u32 {
    module
        .text
        .lines()
        .position(|line| line.trim() == text)
        .expect("in the file") as u32
        + 1
}

pub const GUARD: usize = 16;

pub fn build_storage(words: &[i32]) -> Storage {
    let guard = [0xA5; GUARD];
    let body = words.iter().flat_map(|word| word.to_le_bytes());
    Storage {
        bytes: guard.into_iter().chain(body).chain(guard).collect(),
        front: GUARD,
        back: GUARD,
        ..Storage::default()
    }
}

pub fn read_words(bytes: &[u8]) -> Vec<i32> {
    let body = &bytes[GUARD..bytes.len() - GUARD];
    body.chunks_exact(4)
        .map(|word| i32::from_le_bytes(word.try_into().expect("4")))
        .collect()
}

pub fn tensor(storage: usize, shape: &[i64], strides: &[i64], offset: i64) -> Value {
    build_tensor(DType::I32, storage, shape, strides, offset)
}

pub fn build_tensor(dtype: DType, storage: usize, shape: &[i64], strides: &[i64], offset: i64) -> Value {
    Value::Tensor(Tensor {
        storage,
        dtype,
        shape: shape.to_vec(),
        strides: strides.to_vec(),
        offset,
    })
}

pub fn launch(kernel: &str, args: Vec<Value>) -> Launch {
    Launch {
        kernel: kernel.to_owned(),
        grid: Grid::Fixed(vec![1]),
        args,
        kwargs: vec![],
        options: vec![],
        host: None,
    }
}

pub fn request(module: &str, storages: Vec<Storage>, launches: Vec<Launch>) -> Request {
    Request {
        storages,
        launches,
        ..Request::import(read_module(module))
    }
}

/// A request for one of the kernels that take one tensor.
pub fn simple_request(kernel: &str) -> Request {
    request(
        "behaviour.py",
        vec![build_storage(&[5; 4])],
        vec![launch(kernel, vec![tensor(0, &[4], &[1], 0)])],
    )
}

pub fn open_pool(toolchain: &Toolchain) -> Pool {
    Pool::new(toolchain.clone(), 1)
        .expect("a pool")
        .with_readable(&kernels_folder())
}

pub fn time_limit(milliseconds: u64) -> Limits {
    Limits {
        time: Duration::from_millis(milliseconds),
        ..Limits::default()
    }
}

#[track_caller]
pub fn expect_finished(pool: &Pool, request: &Request) -> Response {
    let response = pool.request(request, time_limit(30_000)).expect("an answer");
    assert_eq!(response.result, Ok(()), "{}", pool.toolchain().id);
    response
}

#[track_caller]
pub fn expect_raised(pool: &Pool, request: &Request) -> Raised {
    *pool
        .request(request, time_limit(30_000))
        .expect("an answer")
        .result
        .expect_err("it raises")
}

/// The pool still works.
#[track_caller]
pub fn assert_goes_on(pool: &Pool) {
    assert_eq!(
        read_words(&expect_finished(pool, &simple_request("empty_kernel")).storages[0].bytes),
        [5; 4]
    );
}
