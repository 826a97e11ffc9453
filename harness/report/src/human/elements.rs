//! Elements that differ, side by side.

use crate::event::Element;

/// The elements side by side, columns as wide as they need to be.
pub fn render_elements(baseline: &str, engine: &str, elements: &[Element]) -> String {
    if elements.is_empty() {
        return String::new();
    }
    let mut rows = vec![[
        String::new(),
        baseline.to_owned(),
        engine.to_owned(),
        String::new(),
    ]];
    for element in elements {
        rows.push([
            place(element),
            render_cell(&element.values[0], &element.bits[0]),
            render_cell(&element.values[1], &element.bits[1]),
            match (&element.accepted, element.unwritten) {
                (Some([low, high]), _) => format!("accepted {low} to {high}"),
                (None, true) => "must not be written".to_owned(),
                (None, false) => String::new(),
            },
        ]);
    }
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2)];
    let mut text = String::new();
    for [place, left, right, note] in &rows {
        let line = format!(
            "    {place:0$}  {left:1$}  {right:2$}  {note}",
            widths[0], widths[1], widths[2]
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A value with its bits, which are all there is to say of bytes that have no dtype.
fn render_cell(value: &str, bits: &str) -> String {
    if value == bits {
        bits.to_owned()
    } else {
        format!("{value}  {bits}")
    }
}

/// The position of an element: `left[1, 0] f32 (original, byte 24)`.
fn place(element: &Element) -> String {
    let storage = &element.storage;
    if !element.guard.is_empty() {
        return format!("{} {storage}, guard byte {}", element.guard, element.byte);
    }
    if element.tensor.is_empty() {
        return format!("{storage}, byte {}", element.byte);
    }
    let at: Vec<String> = element.at.iter().map(ToString::to_string).collect();
    let home = if element.tensor == *storage {
        String::new()
    } else {
        format!("{storage}, ")
    };
    format!(
        "{}[{}] {} ({home}byte {})",
        element.tensor,
        at.join(", "),
        element.dtype,
        element.byte
    )
}
