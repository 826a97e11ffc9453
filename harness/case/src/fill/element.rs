//! Elements and addresses, which all fills share, and errors in them.

use cerith_memory::StorageId;
use cerith_tile::DType;
use cerith_tile::diagnostic::Diagnostic;
use cerith_tile::source::Span;

use cerith_expression::Value;

/// Rejects addresses in a storage whose dtype can't hold them.
pub(super) fn takes_addresses(dtype: DType, span: Span) -> Result<(), Diagnostic> {
    if matches!(dtype, DType::I64 | DType::U64) {
        return Ok(());
    }
    let message = format!("addresses in a storage of {dtype}");
    Err(Diagnostic::error("wrong-dtype", span, message).help("give the storage the dtype i64 or u64"))
}

/// The address that a value points to: `Some(None)` for the null pointer, `None` if the value is not an address.
#[allow(clippy::option_option, reason = "no address differs from the null pointer")]
pub(super) fn to_address(value: &Value) -> Option<Option<(StorageId, i64)>> {
    match value {
        Value::Tensor(tensor) => Some(Some((tensor.storage, tensor.byte_offset()))),
        Value::Address(address) => Some(Some((address.storage, address.offset))),
        Value::None => Some(None),
        _ => None,
    }
}

/// Reports a value of the wrong type.
pub(super) fn reject_type(span: Span, value: &Value, wanted: &str) -> Diagnostic {
    Diagnostic::error(
        "wrong-type",
        span,
        format!("{value}, of type {}, where {wanted} belongs", value.kind()),
    )
    .help(format!("write {wanted}"))
}

/// More or fewer values than the storage has elements.
pub(super) fn count_problem(span: Span, found: usize, shape: &[i64], count: usize) -> Diagnostic {
    Diagnostic::error(
        "wrong-count",
        span,
        format!("{found} values for a storage of shape {shape:?}"),
    )
    .help(format!("give {count} values, flat or as nested as the shape"))
}

/// Adds an element's bits to the bytes of a storage.
pub(super) fn push(bytes: &mut Vec<u8>, dtype: DType, bits: u64) {
    let all = bits.to_le_bytes();
    bytes.extend_from_slice(all.get(..dtype.size()).unwrap_or(&all));
}

/// Adds `count` elements, whose bits `make_bits` returns in their order.
pub(super) fn append(bytes: &mut Vec<u8>, dtype: DType, count: usize, make_bits: impl FnMut() -> u64) {
    match dtype.size() {
        1 => append_sized::<1>(bytes, count, make_bits),
        2 => append_sized::<2>(bytes, count, make_bits),
        4 => append_sized::<4>(bytes, count, make_bits),
        _ => append_sized::<8>(bytes, count, make_bits),
    }
}

/// The size is a constant, so that no element is bounds-checked or copied by a call.
fn append_sized<const SIZE: usize>(bytes: &mut Vec<u8>, count: usize, mut make_bits: impl FnMut() -> u64) {
    let start = bytes.len();
    bytes.resize(start.saturating_add(count.saturating_mul(SIZE)), 0);
    let (elements, _) = bytes.get_mut(start..).unwrap_or_default().as_chunks_mut::<SIZE>();
    for element in elements {
        for (byte, from) in element.iter_mut().zip(make_bits().to_le_bytes()) {
            *byte = from;
        }
    }
}
