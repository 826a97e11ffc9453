//! The same bytes under another dtype: `x.view(torch.int32)`.

use cerith_tile::DType;
use cerith_tile::fault::{Fault, is_planted};

use crate::error::TorchError;
use crate::tensor::Tensor;

/// The name of a dtype in torch's messages (`c10::toString(ScalarType)`).
pub(crate) const fn scalar_name(dtype: DType) -> &'static str {
    match dtype {
        DType::I1 => "Bool",
        DType::I8 => "Char",
        DType::I16 => "Short",
        DType::I32 => "Int",
        DType::I64 => "Long",
        DType::U8 => "Byte",
        DType::U16 => "UInt16",
        DType::U32 => "UInt32",
        DType::U64 => "UInt64",
        DType::F16 => "Half",
        DType::BF16 => "BFloat16",
        DType::F32 => "Float",
        DType::F64 => "Double",
        DType::F8E4NV => "Float8_e4m3fn",
        DType::F8E5 => "Float8_e5m2",
        DType::F8E4B8 => "Float8_e4m3fnuz",
        DType::F8E5B16 => "Float8_e5m2fnuz",
        // torch has no such type.
        DType::F8E4B15 => "Float8_e4b15",
    }
}

/// The name of a CPU tensor's type in torch's messages (`at::DeprecatedTypeProperties::toString`).
pub(crate) fn type_name(dtype: DType) -> String {
    let name = scalar_name(dtype);
    match dtype {
        DType::U8
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::I64
        | DType::F16
        | DType::F32
        | DType::F64 => format!("torch.{name}Tensor"),
        _ => format!("CPU{name}Type"),
    }
}

impl Tensor {
    /// `x.view(dtype)`. Between dtypes of different sizes the last dimension grows or shrinks.
    pub fn view_dtype(&self, dtype: DType) -> Result<Self, TorchError> {
        let (old, new) = (self.element_size() as i64, dtype.size() as i64);
        let mut out = self.clone();
        out.dtype = dtype;
        if old == new {
            return Ok(out);
        }
        let pair = format!(
            "to view {} as {} (different element sizes)",
            scalar_name(self.dtype),
            scalar_name(dtype)
        );
        let (Some(size), Some(stride)) = (out.shape.last_mut(), self.strides.last()) else {
            return TorchError::raise_runtime(format!("self.dim() cannot be 0 {pair}"));
        };
        let not_dense =
            || TorchError::raise_runtime(format!("self.stride(-1) must be 1 {pair}, but got {stride}"));
        let outer = self.dim() - 1;
        if old > new {
            if *stride != 1 {
                return not_dense();
            }
            let ratio = old / new;
            *size = size.saturating_mul(ratio);
            out.offset = out.offset.saturating_mul(ratio);
            for stride in &mut out.strides[..outer] {
                *stride = stride.saturating_mul(ratio);
            }
            return out.with_layout(out.shape.clone(), out.strides.clone(), out.offset);
        }
        let ratio = new / old;
        if *size % ratio != 0 {
            return TorchError::raise_runtime(format!(
                "self.size(-1) must be divisible by {ratio} {pair}, but got {size}"
            ));
        }
        if out.offset % ratio != 0 {
            return TorchError::raise_runtime(format!(
                "self.storage_offset() must be divisible by {ratio} {pair}, but got {}",
                out.offset
            ));
        }
        if *stride != 1 {
            return not_dense();
        }
        *size /= ratio;
        out.offset /= if is_planted(Fault::DtypeViewForgetsOffset) {
            1
        } else {
            ratio
        };
        for (dim, stride) in out.strides[..outer].iter_mut().enumerate() {
            if *stride % ratio != 0 {
                return TorchError::raise_runtime(format!(
                    "self.stride({dim}) must be divisible by {ratio} {pair}, but got {stride}"
                ));
            }
            *stride /= ratio;
        }
        Ok(out)
    }
}
