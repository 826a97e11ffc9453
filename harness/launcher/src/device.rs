//! The properties of the stand-in GPU that launchers ask for: those of an H100, except for the number of multiprocessors.

use super::value::Value;

/// Few multiprocessors, so that persistent programs have more than one block each.
pub(super) const MULTIPROCESSORS: i64 = 3;

/// Names of their number in the properties.
const COUNTS: [&str; 3] = ["multi_processor_count", "multiprocessor_count", "num_sms"];

const PROPERTIES: [(&str, i64); 8] = [
    ("max_shared_mem", 232_448),
    ("max_num_regs", 65_536),
    ("warpSize", 32),
    ("warp_size", 32),
    ("major", 9),
    ("minor", 0),
    ("total_memory", 80 << 30),
    ("L2_cache_size", 50 << 20),
];

/// The result of a function with this name, if it asks for a property.
pub fn ask_device<'a>(function: &str, multiprocessors: i64) -> Option<Value<'a>> {
    Some(match function {
        "get_device_properties" => {
            let counts = COUNTS.map(|name| (name, multiprocessors));
            let all = PROPERTIES.into_iter().chain(counts);
            Value::build_object(all.map(|(name, value)| (name, Value::int(value))).collect())
        }
        "get_device_capability" => Value::tuple(vec![Value::int(9), Value::int(0)]),
        "num_sms"
        | "get_num_sms"
        | "get_sm_count"
        | "get_device_core_count"
        | "get_npu_core_count"
        | "get_multiprocessor_count"
        | "get_device_sm_count" => Value::int(multiprocessors),
        "current_device" => Value::int(0),
        "device_count" => Value::int(1),
        _ => return None,
    })
}
