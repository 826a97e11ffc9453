//! A JSON schema (draft 7) of case files, for editors. Descriptions of keys come from the text.

use cerith_tile::DType;
use cerith_tile::quirk::Quirk;
use serde_json::{Map, Value, json};

use super::find_description;
use crate::discovery::{Finder, FoundState};
use crate::expectation::{EnginePattern, OutcomeKind, VerdictKind};
use crate::fill::{ARANGE_KEYS, RANDOM_KEYS, WORDS};
use crate::schema::{
    CASE_KEYS, COMPILE_KEYS, DESCRIPTOR_KEYS, EXPECT_KEYS, FOUND_KEYS, LAUNCH_KEYS, MAX_TIMEOUT, NEW,
    OPTIONS, RAISED_KEYS, RECORDED_KEYS, STORAGE_KEYS,
};
use crate::variant::Axis;

/// The pattern of an identifier of Python's.
const NAME: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

/// The schema of a case file. Every good case file is good by it; a file that is good by it may still have mistakes that only
/// `cerith` finds.
pub fn json_schema() -> Value {
    let mut schema = build_mapping("Files", &CASE_KEYS, &["about"], build_case_key);
    let program = json!([{ "required": ["kernel", "launches"] }, { "required": ["import"] }]);
    add(
        &mut schema,
        json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "A case file of Cerith",
            "oneOf": program,
            "definitions": {
                "value": build_value(),
                "argument": build_argument(),
                "fill": build_fill(),
                "elements": build_elements(),
                "bytes": build_bytes(),
                "engine": build_engine(),
            },
        }),
    );
    schema
}

fn build_case_key(key: &str) -> Value {
    match key {
        "about" | "origin" => build_text(),
        "kernel" => json!({ "type": "string", "pattern": "\\.py:|\\{" }),
        "import" => json!({ "type": "string", "pattern": "\\.py$|\\{" }),
        "inspectable" => json!({ "type": "boolean" }),
        "found" => build_mapping(
            "found",
            &FOUND_KEYS,
            &["by", "upstream", "state"],
            build_found_key,
        ),
        "matrix" => build_matrix(),
        "storages" => build_name_map(&build_mapping(
            "storages",
            &STORAGE_KEYS,
            &STORAGE_KEYS,
            build_storage_key,
        )),
        "tensors" => build_name_map(&json!({ "type": "string" })),
        "launches" => json!({ "type": "array", "items": build_launch() }),
        "compile" => build_mapping("compile", &COMPILE_KEYS, &[], build_compile_key),
        "timeout" => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": MAX_TIMEOUT }),
        "recorded" => build_mapping("recorded", &RECORDED_KEYS, &["engine"], build_recorded_key),
        "gives" => build_name_map(&build_ref("fill")),
        "like" => json!({ "type": "string", "pattern": "\\.py:|\\." }),
        "expect" => json!({ "type": "array", "items": build_expectation() }),
        _ => Value::Null,
    }
}

fn build_found_key(key: &str) -> Value {
    match key {
        "by" => build_enum(Finder::ALL.iter().map(|finder| finder.name())),
        "engine" => one_or_more(&build_ref("engine")),
        "upstream" => json!({ "anyOf": [{ "const": NEW }, build_text()] }),
        "state" => build_enum(FoundState::ALL.iter().map(|state| state.name())),
        _ => Value::Null,
    }
}

fn build_storage_key(key: &str) -> Value {
    match key {
        "dtype" => build_dtype(),
        "shape" => build_ref("value"),
        "fill" => build_ref("fill"),
        _ => Value::Null,
    }
}

fn build_launch() -> Value {
    let mut launch = build_mapping("launches", &LAUNCH_KEYS, &["grid"], |key| match key {
        "grid" => build_ref("value"),
        "args" => {
            let named = build_name_map(&build_ref("argument"));
            json!({ "anyOf": [
                named,
                { "type": "array", "items": { "anyOf": [build_ref("argument"), named] } },
                { "type": "null" },
            ] })
        }
        "options" => {
            let known: Map<String, Value> = OPTIONS
                .iter()
                .map(|&option| (option.to_owned(), build_ref("value")))
                .collect();
            json!({ "type": "object", "properties": known, "additionalProperties": build_ref("value") })
        }
        "kernel" | "host" => json!({ "type": "string" }),
        "unchecked" => json!({ "type": "boolean" }),
        _ => Value::Null,
    });
    let known =
        json!({ "properties": { "options": { "propertyNames": build_enum(OPTIONS.iter().copied()) } } });
    let unchecked = json!({ "properties": { "unchecked": { "const": true } }, "required": ["unchecked"] });
    add(&mut launch, json!({ "if": unchecked, "else": known }));
    launch
}

fn build_compile_key(key: &str) -> Value {
    match key {
        "dynamic" => build_ref("value"),
        "mark_dynamic" | "maybe_mark_dynamic" => build_name_map(&build_ref("value")),
        "before" => json!({ "type": "array", "items": build_name_map(&build_ref("value")) }),
        _ => Value::Null,
    }
}

fn build_recorded_key(key: &str) -> Value {
    match key {
        "engine" => build_ref("engine"),
        "after" => build_name_map(&build_ref("bytes")),
        "raised" => {
            let mut raised = build_mapping("recorded", &RAISED_KEYS, &["kind"], |key| match key {
                "kind" => build_text(),
                "message" => json!({ "type": ["string", "number", "null"] }),
                "compiling" => json!({ "type": "boolean" }),
                _ => Value::Null,
            });
            add(&mut raised, json!({ "additionalProperties": false }));
            raised
        }
        _ => Value::Null,
    }
}

fn build_expectation() -> Value {
    let mut expectation = build_mapping("expect", &EXPECT_KEYS, &["engine"], |key| match key {
        "engine" => one_or_more(&build_ref("engine")),
        "versions" => one_or_more(&build_text()),
        "axis" => one_or_more(&build_enum(Axis::ALL.iter().map(|axis| axis.name()))),
        "verdict" => build_enum(VerdictKind::ALL.iter().map(|kind| kind.name())),
        "outcome" => build_enum(OutcomeKind::ALL.iter().map(|kind| kind.name())),
        "quirk" => one_or_more(&build_enum(Quirk::ALL.iter().map(|quirk| quirk.name()))),
        "when" => json!({ "type": "string" }),
        "message" | "why" | "link" => build_text(),
        _ => Value::Null,
    });
    let said = json!([
        { "required": ["quirk"] },
        { "required": ["verdict", "why"] },
        { "required": ["outcome", "why"] },
    ]);
    add(&mut expectation, json!({ "anyOf": said }));
    expectation
}

/// Variables and their values, with `include` and `exclude`.
fn build_matrix() -> Value {
    let point = json!({ "type": "object" });
    json!({
        "type": "object",
        "minProperties": 1,
        "properties": {
            "include": { "type": "array", "minItems": 1, "items": point },
            "exclude": { "type": "array", "items": { "anyOf": [point, { "type": "string" }] } },
        },
        "propertyNames": { "pattern": NAME },
        "additionalProperties": { "anyOf": [
            { "type": "array", "minItems": 1 },
            { "type": "object", "minProperties": 1 },
        ] },
    })
}

/// A number, a word, an expression, or a list of such.
fn build_value() -> Value {
    json!({ "anyOf": [
        { "type": ["null", "boolean", "number", "string"] },
        { "type": "array", "items": build_ref("value") },
    ] })
}

/// A value, a tensor descriptor, a name of the kernel's module, a constexpr, a named tuple, or a list with such.
fn build_argument() -> Value {
    let mut descriptor = build_mapping(
        "Tensor descriptors",
        &DESCRIPTOR_KEYS,
        &["descriptor", "block_shape"],
        |key| match key {
            "padding" => {
                json!({ "anyOf": [build_enum(["zero", "nan"]), { "type": "string", "pattern": "\\{" }] })
            }
            _ => build_ref("value"),
        },
    );
    add(
        &mut descriptor,
        json!({ "description": "A tensor descriptor that Python makes before the launch." }),
    );
    let single = |key: &str, holds: Value, about: &str| {
        json!({
            "type": "object",
            "properties": { key: holds },
            "required": [key],
            "additionalProperties": false,
            "description": about,
        })
    };
    json!({ "anyOf": [
        build_ref("value"),
        descriptor,
        single("global", json!({ "type": "string" }), "Something that the kernel's module defines, by its dotted name."),
        single("constexpr", build_ref("argument"), "`tl.constexpr(…)`: known at compile time wherever it is passed."),
        single(
            "namedtuple",
            json!({ "type": "object", "additionalProperties": build_ref("argument") }),
            "A named tuple: its fields and what is in them.",
        ),
        { "type": "array", "items": build_ref("argument") },
    ] })
}

fn build_fill() -> Value {
    let settings = |keys: &[&str], holds: &Value| {
        let properties: Map<String, Value> =
            keys.iter().map(|&key| (key.to_owned(), holds.clone())).collect();
        json!({ "type": "object", "properties": properties, "additionalProperties": false })
    };
    let scalar = json!({ "type": ["null", "boolean", "number", "string"] });
    let rule = json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {
            "full": build_ref("value"),
            "arange": { "anyOf": [scalar, settings(&ARANGE_KEYS, &build_ref("value"))] },
            "random": { "anyOf": [scalar, settings(&RANDOM_KEYS, &build_ref("value"))] },
            "addresses": { "type": "array", "items": build_ref("value") },
        },
        "additionalProperties": false,
    });
    json!({ "anyOf": [
        build_enum(WORDS),
        { "type": "string", "pattern": "[^A-Za-z0-9_]", "description": "An expression that gives a list of values." },
        build_ref("elements"),
        rule,
        build_ref("bytes"),
    ] })
}

/// Elements as nested as the shape, or flat.
fn build_elements() -> Value {
    json!({ "type": "array", "items": { "anyOf": [
        { "type": ["null", "boolean", "number", "string"] },
        build_ref("elements"),
    ] } })
}

/// Bytes of a data archive.
fn build_bytes() -> Value {
    let place = json!({ "type": "string", "pattern": "\\.zip/|\\{" });
    json!({ "anyOf": [
        place,
        {
            "type": "object",
            "properties": { "bytes": place, "addresses": { "type": "object", "additionalProperties": build_ref("value") } },
            "required": ["bytes"],
            "additionalProperties": false,
        },
    ] })
}

/// An engine's id, or a pattern for some.
fn build_engine() -> Value {
    let names = EnginePattern::NAMES;
    json!({ "anyOf": [
        build_enum(names.iter().copied()),
        { "type": "string", "pattern": format!("^({})[@+:]", names.join("|")) },
    ] })
}

/// Every name of every dtype, or a text with placeholders.
fn build_dtype() -> Value {
    let mut known: Vec<String> = DType::ALL.iter().map(|dtype| dtype.name().to_owned()).collect();
    for dtype in DType::ALL {
        let triton = dtype.triton_name();
        known.extend([triton.to_owned(), format!("tl.{triton}")]);
        known.extend(dtype.torch_name().map(|name| format!("torch.{name}")));
    }
    known.extend(
        ["half", "float", "double", "char", "short", "int", "long"].map(|name| format!("torch.{name}")),
    );
    known.extend(["bool", "fp16", "fp32", "fp64", "bf16"].map(str::to_owned));
    let mut once: Vec<String> = Vec::new();
    for name in known {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    json!({ "anyOf": [{ "enum": once }, { "type": "string", "pattern": "\\{" }] })
}

/// Text that is not an expression; a number is taken as it is written.
fn build_text() -> Value {
    json!({ "type": ["string", "number"] })
}

fn build_enum<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    json!({ "enum": words.into_iter().collect::<Vec<_>>() })
}

fn one_or_more(one: &Value) -> Value {
    json!({ "anyOf": [one, { "type": "array", "items": one }] })
}

/// A mapping of names that the file chooses.
fn build_name_map(each: &Value) -> Value {
    json!({ "type": "object", "propertyNames": { "pattern": NAME }, "additionalProperties": each })
}

fn build_ref(definition: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{definition}") })
}

/// A mapping with known keys, each described by the text's table in a section.
fn build_mapping(section: &str, keys: &[&str], required: &[&str], holds: impl Fn(&str) -> Value) -> Value {
    let mut properties = Map::new();
    for &key in keys {
        let mut property = holds(key);
        if let Some(reference) = property.get("$ref").cloned() {
            // JSON Schema ignores the siblings of `$ref`.
            property = json!({ "allOf": [{ "$ref": reference }] });
        }
        if let Some(about) = find_description(section, key) {
            add(&mut property, json!({ "description": about }));
        }
        properties.insert(key.to_owned(), property);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

/// Adds the keys of one mapping to another.
fn add(to: &mut Value, more: Value) {
    if let (Value::Object(to), Value::Object(more)) = (to, more) {
        to.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every key has a schema for its value, and a description from its table.
    fn complete(schema: &Value, at: &str) {
        for (key, property) in schema["properties"].as_object().expect("properties") {
            assert!(property.is_object(), "{at}.{key} holds nothing");
            assert!(
                property["description"].is_string(),
                "{at}.{key} is not in a table of FORMAT.md"
            );
        }
    }

    #[test]
    fn every_key_is_described() {
        let schema = json_schema();
        complete(&schema, "");
        let top = &schema["properties"];
        for key in ["found", "compile", "recorded"] {
            complete(&top[key], key);
        }
        complete(&top["storages"]["additionalProperties"], "storages");
        complete(&top["launches"]["items"], "launches");
        complete(&top["expect"]["items"], "expect");
        complete(&schema["definitions"]["argument"]["anyOf"][1], "descriptor");
    }

    #[test]
    fn every_dtype_of_the_schema_is_one() {
        for name in build_dtype()["anyOf"][0]["enum"].as_array().expect("names") {
            let name = name.as_str().expect("a name");
            let short = name.trim_start_matches("tl.");
            let torch = name.strip_prefix("torch.").and_then(DType::from_torch_name);
            assert!(torch.is_some() || short.parse::<DType>().is_ok(), "{name}");
        }
    }
}
