//! Which bytes of a storage each tensor covers, drawn in characters.

use std::fmt::Write as _;

use cerith_memory::{NamedTensor, StorageId, Tensor};

/// Cells in a row of the picture.
const COLUMNS: usize = 64;

/// Rows of a picture at most; a larger storage gets larger cells.
const ROWS: usize = 8;

/// Draws a storage of so many bytes and the tensors over it. A cell is `#` where every byte is covered, `+` where some
/// are, `.` where none is.
pub fn draw_storage(storage: StorageId, bytes: usize, tensors: &[NamedTensor]) -> String {
    let shown: Vec<&NamedTensor> = tensors
        .iter()
        .filter(|named| named.tensor.storage == storage)
        .collect();
    let unit = shown
        .iter()
        .map(|named| named.tensor.element_size())
        .min()
        .unwrap_or(1);
    let mut cell = unit;
    while bytes.div_ceil(cell) > COLUMNS * ROWS {
        cell *= 2;
    }
    let cells = bytes.div_ceil(cell);
    let width = shown
        .iter()
        .map(|named| named.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = format!(
        "    one cell is {cell} {}\n",
        if cell == 1 { "byte" } else { "bytes" }
    );
    for row in 0..cells.div_ceil(COLUMNS) {
        let first = row * COLUMNS;
        let last = (first + COLUMNS).min(cells);
        let _ = writeln!(text, "    {:width$}  byte {}", "", first * cell);
        for named in &shown {
            let covered = cover(&named.tensor, bytes);
            let line: String = (first..last)
                .map(|at| {
                    let part = covered
                        .get(at * cell..((at + 1) * cell).min(bytes))
                        .unwrap_or(&[]);
                    match part.iter().filter(|&&byte| byte).count() {
                        0 => '.',
                        count if count == part.len() => '#',
                        _ => '+',
                    }
                })
                .collect();
            let _ = writeln!(text, "    {:width$}  {line}", named.name);
        }
    }
    text
}

/// The bytes that a tensor covers.
fn cover(tensor: &Tensor, bytes: usize) -> Vec<bool> {
    let mut covered = vec![false; bytes];
    let size = tensor.element_size();
    let mut starts = vec![tensor.offset];
    for (&extent, &stride) in tensor.shape.iter().zip(&tensor.strides) {
        // A dimension that moves nowhere shows the same elements again.
        let steps = if stride == 0 { extent.min(1) } else { extent };
        starts = starts
            .iter()
            .flat_map(|start| (0..steps).map(move |step| start + step * stride))
            .collect();
        starts.sort_unstable();
        starts.dedup();
    }
    for start in starts {
        let Ok(start) = usize::try_from(start) else {
            continue;
        };
        if let Some(slots) = covered.get_mut(start * size..(start + 1) * size) {
            slots.fill(true);
        }
    }
    covered
}

#[cfg(test)]
mod tests {
    use cerith_tile::DType;

    use super::*;

    fn build_tensor(name: &str, shape: &[i64], strides: &[i64], offset: i64, dtype: DType) -> NamedTensor {
        let mut tensor = Tensor::new_contiguous(StorageId(0), dtype, shape);
        tensor.strides = strides.into();
        tensor.offset = offset;
        NamedTensor {
            name: name.to_owned(),
            tensor,
        }
    }

    #[test]
    fn each_tensor_is_drawn_over_the_bytes_that_it_covers() {
        let tensors = [
            build_tensor("original", &[4, 6], &[6, 1], 0, DType::F16),
            build_tensor("left", &[4, 2], &[6, 1], 0, DType::F16),
            build_tensor("right", &[4, 4], &[6, 1], 2, DType::F16),
            build_tensor("wide", &[2], &[3], 1, DType::F32),
            build_tensor("row", &[3, 6], &[0, 1], 6, DType::F16),
            build_tensor("none", &[0], &[1], 0, DType::F16),
        ];
        insta::assert_snapshot!(draw_storage(StorageId(0), 48, &tensors), @r"
        one cell is 2 bytes
                  byte 0
        original  ########################
        left      ##....##....##....##....
        right     ..####..####..####..####
        wide      ..##....##..............
        row       ......######............
        none      ........................
        ");
    }

    #[test]
    fn a_large_storage_gets_larger_cells() {
        let tensors = [
            build_tensor("x", &[100_000], &[1], 0, DType::I8),
            build_tensor("y", &[3], &[1], 0, DType::I8),
        ];
        let drawn = draw_storage(StorageId(0), 100_000, &tensors);
        assert!(drawn.starts_with("    one cell is 256 bytes\n"), "{drawn}");
        assert!(drawn.lines().count() <= 1 + ROWS * 3, "{drawn}");
        assert!(drawn.contains("y  +..."), "{drawn}");
    }
}
