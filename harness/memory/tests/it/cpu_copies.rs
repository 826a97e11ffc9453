//! Every `.cpu()` of a CUDA tensor that real torch 2.11 made on an H200: strides, offset and size of the copy.

use cerith_memory::{StorageId, Tensor};
use cerith_tile::DType;
use serde::Deserialize;

#[derive(Deserialize)]
struct Line {
    dtype: String,
    shape: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
    cpu_strides: Vec<i64>,
    cpu_offset: i64,
    cpu_storage_bytes: i64,
}

#[test]
fn every_cpu_copy_has_the_strides_that_torch_gave_it() {
    let (mut lines, mut changed) = (0, 0);
    for text in include_str!("../golden/cpu_copies.jsonl").lines() {
        let line: Line = serde_json::from_str(text).expect("a line of the golden file");
        let tensor = Tensor {
            storage: StorageId(0),
            dtype: DType::from_torch_name(&line.dtype).expect("a torch dtype"),
            shape: line.shape.into(),
            strides: line.strides.into(),
            offset: line.offset,
        };
        let copy = Tensor {
            strides: tensor.preserved_strides(),
            offset: 0,
            ..tensor.clone()
        };
        assert_eq!(copy.strides[..], line.cpu_strides[..], "{text}");
        assert_eq!(copy.offset, line.cpu_offset, "{text}");
        assert_eq!(
            copy.byte_range().map_or(0, |(_, end)| end),
            line.cpu_storage_bytes,
            "{text}"
        );
        lines += 1;
        changed += i32::from(copy.strides != tensor.strides);
    }
    assert_eq!((lines, changed), (2861, 561));
}
