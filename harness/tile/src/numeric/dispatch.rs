//! Maps a dtype to its Rust type. See `integer` and `float` for the types.

/// Runs `$body` with the type alias `$ty` standing for an integer dtype's Rust type, `$other` for a float dtype.
macro_rules! with_int {
    ($dtype:expr, $ty:ident => $body:expr, else $other:expr) => {{
        use $crate::DType;
        match $dtype {
            DType::I1 => {
                type $ty = $crate::numeric::integer::Bit;
                $body
            }
            DType::I8 => {
                type $ty = i8;
                $body
            }
            DType::I16 => {
                type $ty = i16;
                $body
            }
            DType::I32 => {
                type $ty = i32;
                $body
            }
            DType::I64 => {
                type $ty = i64;
                $body
            }
            DType::U8 => {
                type $ty = u8;
                $body
            }
            DType::U16 => {
                type $ty = u16;
                $body
            }
            DType::U32 => {
                type $ty = u32;
                $body
            }
            DType::U64 => {
                type $ty = u64;
                $body
            }
            _ => $other,
        }
    }};
}
pub(super) use with_int;

/// Runs `$body` with the type alias `$ty` standing for a float dtype's Rust type, `$other` for an integer dtype.
macro_rules! with_float {
    ($dtype:expr, $ty:ident => $body:expr, else $other:expr) => {{
        use $crate::DType;
        use $crate::numeric::float as e;
        match $dtype {
            DType::F16 => {
                type $ty = e::F16;
                $body
            }
            DType::BF16 => {
                type $ty = e::BF16;
                $body
            }
            DType::F32 => {
                type $ty = f32;
                $body
            }
            DType::F64 => {
                type $ty = f64;
                $body
            }
            DType::F8E4NV => {
                type $ty = e::F8E4NV;
                $body
            }
            DType::F8E5 => {
                type $ty = e::F8E5;
                $body
            }
            DType::F8E4B8 => {
                type $ty = e::F8E4B8;
                $body
            }
            DType::F8E5B16 => {
                type $ty = e::F8E5B16;
                $body
            }
            DType::F8E4B15 => {
                type $ty = e::F8E4B15;
                $body
            }
            _ => $other,
        }
    }};
}
pub(super) use with_float;

/// Runs one of two bodies with the type alias `$ty` standing for a dtype's Rust type.
macro_rules! with_element {
    ($dtype:expr, $ty:ident => int $int:expr, float $float:expr) => {{
        use $crate::DType;
        use $crate::numeric::float as e;
        match $dtype {
            DType::I1 => {
                type $ty = $crate::numeric::integer::Bit;
                $int
            }
            DType::I8 => {
                type $ty = i8;
                $int
            }
            DType::I16 => {
                type $ty = i16;
                $int
            }
            DType::I32 => {
                type $ty = i32;
                $int
            }
            DType::I64 => {
                type $ty = i64;
                $int
            }
            DType::U8 => {
                type $ty = u8;
                $int
            }
            DType::U16 => {
                type $ty = u16;
                $int
            }
            DType::U32 => {
                type $ty = u32;
                $int
            }
            DType::U64 => {
                type $ty = u64;
                $int
            }
            DType::F16 => {
                type $ty = e::F16;
                $float
            }
            DType::BF16 => {
                type $ty = e::BF16;
                $float
            }
            DType::F32 => {
                type $ty = f32;
                $float
            }
            DType::F64 => {
                type $ty = f64;
                $float
            }
            DType::F8E4NV => {
                type $ty = e::F8E4NV;
                $float
            }
            DType::F8E5 => {
                type $ty = e::F8E5;
                $float
            }
            DType::F8E4B8 => {
                type $ty = e::F8E4B8;
                $float
            }
            DType::F8E5B16 => {
                type $ty = e::F8E5B16;
                $float
            }
            DType::F8E4B15 => {
                type $ty = e::F8E4B15;
                $float
            }
        }
    }};
}
pub(super) use with_element;
