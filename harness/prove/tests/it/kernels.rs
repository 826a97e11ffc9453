//! The obligations of kernels, a line for each, with the answers.

use std::fmt::Write as _;
use std::sync::Arc;

use cerith_frontend::{Request, RequestArg, Traced, trace};
use cerith_prove::{Answer, Contract, ObligationKind, Reason, Size, Sizes, prove};
use cerith_tile::DType;
use cerith_tile::ir::Elem;
use cerith_tile::rules::{Rules, Version};
use cerith_tile::source::SourceFile;

/// A kernel that is traced. `signature` names the parameters: `*f32`, `i32`, or a number for a `constexpr`.
pub fn trace_body(body: &str, signature: &[(&str, &str)]) -> Traced {
    let parameters: Vec<String> = signature
        .iter()
        .map(|(name, ty)| {
            let is_constant = ty.parse::<i64>().is_ok();
            if is_constant {
                format!("{name}: tl.constexpr")
            } else {
                (*name).to_owned()
            }
        })
        .collect();
    let text = format!(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef kernel({}):\n{body}",
        parameters.join(", ")
    );
    let arguments = signature.iter().map(|&(name, ty)| {
        let argument = match ty {
            "*f32" => RequestArg::Pointer(Elem::Num(DType::F32)),
            "*i32" => RequestArg::Pointer(Elem::Num(DType::I32)),
            "i32" => RequestArg::Int(1009),
            "i64" => RequestArg::Int(1 << 40),
            number => RequestArg::Int(number.parse().expect("a number")),
        };
        (name.to_owned(), argument)
    });
    let request = Request {
        file: Arc::new(SourceFile::new("kernel.py", text)),
        modules: Vec::new(),
        kernel: "kernel".to_owned(),
        positional: Vec::new(),
        keyword: arguments.collect(),
        options: Vec::new(),
        rules: Rules::from_version(Version::new(3, 6, 0)),
    };
    match trace(&request) {
        Ok(traced) => traced,
        Err(refused) => panic!("{:?}", refused.refusal),
    }
}

/// A kernel's obligations.
fn list(body: &str, signature: &[(&str, &str)], contract: &Contract) -> String {
    let traced = trace_body(body, signature);
    let function = &traced.function;
    let line = |loc| {
        let span = function.span(loc);
        let file = function.sources.get(span.source);
        file.map_or(0, |file| file.line_column(span.start).0) - 5
    };
    let mut out = String::new();
    for one in &prove(function, contract).obligations {
        let kind = match one.kind {
            ObligationKind::InBounds(access) => {
                format!("{access:?} {}", one.tensor.as_deref().unwrap_or("?"))
            }
            other => format!("{other:?}"),
        };
        let answer = match &one.answer {
            Answer::Proved(_) => match one.proved() {
                Some(Sizes::All) => "proved".to_owned(),
                Some(Sizes::Below2Pow31) => "proved below 2^31 elements".to_owned(),
                None => "proved unless it wraps".to_owned(),
            },
            Answer::Unknown(reason) => match reason {
                Reason::Loaded(loc) => format!("unknown: loaded in line {}", line(*loc)),
                Reason::Carried(loc) | Reason::Computed(loc) => format!("unknown: line {}", line(*loc)),
                other => format!("unknown: {other:?}"),
            },
        };
        let _ = writeln!(out, "{}: {kind}: {answer}", line(one.loc));
    }
    out
}

pub fn name(name: &str) -> Size {
    Size::Name(name.to_owned())
}

/// `(rows - 1) * stride + columns`.
pub fn matrix(rows: &str, stride: &str, columns: &str) -> Size {
    let last = Size::Sum(vec![name(rows), Size::Number(-1)]);
    Size::Sum(vec![Size::Product(vec![last, name(stride)]), name(columns)])
}

pub fn cdiv(size: &str, by: i64) -> Size {
    Size::Cdiv(Box::new(name(size)), Box::new(Size::Number(by)))
}

/// Sizes from 1, strides from 0, all of them far enough from the end of `i32` that a block fits behind.
pub fn contract(
    tensors: &[(&str, Size)],
    grid: [Option<Size>; 3],
    sizes: &[&str],
    strides: &[&str],
) -> Contract {
    let most = i64::from(i32::MAX) - 65_536;
    let sizes = sizes.iter().map(|&size| (size.to_owned(), (1, most)));
    let strides = strides
        .iter()
        .map(|&stride| (stride.to_owned(), (0, i64::from(i32::MAX))));
    Contract {
        elements: tensors
            .iter()
            .map(|(name, size)| ((*name).to_owned(), size.clone()))
            .collect(),
        grid,
        ranges: sizes.chain(strides).collect(),
        ..Contract::default()
    }
}

const ADD: &str = "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x + 1, mask=i < n)
";

#[test]
fn a_mask_bounds_an_access() {
    let signature = [
        ("x_ptr", "*f32"),
        ("y_ptr", "*f32"),
        ("n", "i32"),
        ("BLOCK", "64"),
    ];
    let tensors = [("x_ptr", name("n")), ("y_ptr", name("n"))];
    let grid = [Some(cdiv("n", 64)), None, None];
    let contract = contract(&tensors, grid, &["n"], &[]);
    insta::assert_snapshot!(list(ADD, &signature, &contract));
    let wrong = ADD.replace(", mask=i < n)\n    tl.store", ")\n    tl.store");
    insta::assert_snapshot!("no_mask", list(&wrong, &signature, &contract));
    let wrong = ADD.replace("mask=i < n)\n    tl.store", "mask=i <= n)\n    tl.store");
    insta::assert_snapshot!("one_too_many", list(&wrong, &signature, &contract));
}

#[test]
fn rows_of_a_matrix_need_products_of_facts() {
    let body = "    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + i, mask=i < n, other=0.0)
    wide = row.to(tl.int64)
    tl.store(y_ptr + wide * stride + i, x, mask=i < n)
";
    let signature = [
        ("x_ptr", "*f32"),
        ("y_ptr", "*f32"),
        ("stride", "i32"),
        ("n", "i32"),
        ("BLOCK", "128"),
    ];
    let tensors = [
        ("x_ptr", matrix("m", "stride", "n")),
        ("y_ptr", matrix("m", "stride", "n")),
    ];
    let contract = contract(&tensors, [Some(name("m")), None, None], &["n", "m"], &["stride"]);
    insta::assert_snapshot!(list(body, &signature, &contract));
}

#[test]
fn a_matrix_product_moves_its_pointers() {
    let body = "    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = a_ptr + m[:, None] * stride_am + k[None, :]
    b = b_ptr + k[:, None] * stride_bk + n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, tl.cdiv(K, BK)):
        x = tl.load(a, mask=(m[:, None] < M) & (k[None, :] < K - i * BK), other=0.0)
        y = tl.load(b, mask=(k[:, None] < K - i * BK) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, y)
        a += BK
        b += BK * stride_bk
    c = c_ptr + m[:, None] * stride_cm + n[None, :]
    tl.store(c, acc, mask=(m[:, None] < M) & (n[None, :] < N))
";
    let signature = [
        ("a_ptr", "*f32"),
        ("b_ptr", "*f32"),
        ("c_ptr", "*f32"),
        ("M", "i32"),
        ("N", "i32"),
        ("K", "i32"),
        ("stride_am", "i32"),
        ("stride_bk", "i32"),
        ("stride_cm", "i32"),
        ("BM", "32"),
        ("BN", "64"),
        ("BK", "16"),
    ];
    let tensors = [
        ("a_ptr", matrix("M", "stride_am", "K")),
        ("b_ptr", matrix("K", "stride_bk", "N")),
        ("c_ptr", matrix("M", "stride_cm", "N")),
    ];
    let strides = ["stride_am", "stride_bk", "stride_cm"];
    let contract = contract(
        &tensors,
        [Some(cdiv("M", 32)), Some(cdiv("N", 64)), None],
        &["M", "N", "K"],
        &strides,
    );
    insta::assert_snapshot!(list(body, &signature, &contract));
    // One row of A too few.
    let wrong = body.replace("m[:, None] < M) & (k[None", "m[:, None] <= M) & (k[None");
    insta::assert_snapshot!("a_row_too_many", list(&wrong, &signature, &contract));
}

#[test]
fn indices_from_memory_are_bounded_by_masks_alone() {
    let body = "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    at = tl.load(index_ptr + i, mask=i < n, other=0)
    x = tl.load(x_ptr + at, mask=i < n)
    y = tl.load(x_ptr + at, mask=(at >= 0) & (at < m))
    tl.store(y_ptr + i, x + y, mask=i < n)
";
    let signature = [
        ("x_ptr", "*f32"),
        ("index_ptr", "*i32"),
        ("y_ptr", "*f32"),
        ("n", "i32"),
        ("m", "i32"),
        ("BLOCK", "64"),
    ];
    let tensors = [
        ("x_ptr", name("m")),
        ("index_ptr", name("n")),
        ("y_ptr", name("n")),
    ];
    let grid = [Some(cdiv("n", 64)), None, None];
    insta::assert_snapshot!(list(
        body,
        &signature,
        &contract(&tensors, grid, &["n", "m"], &[])
    ));
}

#[test]
fn a_grouped_order_of_programs_stays_inside() {
    let body = "    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BM)
    num_pid_n = tl.cdiv(N, BN)
    in_group = GROUP * num_pid_n
    group = pid // in_group
    first = group * GROUP
    size = min(num_pid_m - first, GROUP)
    pid_m = first + (pid % in_group) % size
    pid_n = (pid % in_group) // size
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    tl.store(c_ptr + m[:, None] * stride + n[None, :], 1.0, mask=(m[:, None] < M) & (n[None, :] < N))
";
    let signature = [
        ("c_ptr", "*f32"),
        ("M", "i32"),
        ("N", "i32"),
        ("stride", "i32"),
        ("BM", "32"),
        ("BN", "64"),
        ("GROUP", "8"),
    ];
    let grid = Size::Product(vec![cdiv("M", 32), cdiv("N", 64)]);
    let contract = contract(
        &[("c_ptr", matrix("M", "stride", "N"))],
        [Some(grid), None, None],
        &["M", "N"],
        &["stride"],
    );
    insta::assert_snapshot!(list(body, &signature, &contract));
}

#[test]
fn a_loop_over_a_row_stays_in_it() {
    let body = "    row = tl.program_id(0)
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + row * n + i, mask=i < n, other=0.0))
    tl.store(y_ptr + row, total)
";
    let signature = [
        ("x_ptr", "*f32"),
        ("y_ptr", "*f32"),
        ("n", "i32"),
        ("BLOCK", "64"),
    ];
    let tensors = [
        ("x_ptr", Size::Product(vec![name("m"), name("n")])),
        ("y_ptr", name("m")),
    ];
    let contract = contract(&tensors, [Some(name("m")), None, None], &["n", "m"], &[]);
    insta::assert_snapshot!(list(body, &signature, &contract));
}
