//! A value for the masked-off lanes of a load, if its only use decides it: `0.0` for a sum, `-float("inf")` for a maximum.

/// The text with `other=` in the load of this line, from 1. `None` unless the load is assigned to a name on one line, and one kind of
/// reduction takes this name.
pub fn add_other(text: &str, line: u32) -> Option<String> {
    let at = usize::try_from(line).ok()?.checked_sub(1)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let load = lines.get(at)?;
    let (name, value) = load.trim().split_once(" = tl.load(")?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let arguments = value.get(..find_end(value)?)?;
    if !is_name || arguments.contains("other=") || !arguments.contains("mask=") {
        return None;
    }
    let rest: String = lines
        .iter()
        .skip(at + 1)
        .take_while(|line| line.starts_with([' ', '\t', '\n', '\r']))
        .copied()
        .collect();
    let is_changed = rest.lines().any(|line| {
        line.trim()
            .split_once(" = ")
            .is_some_and(|(target, _)| target == name)
    });
    let is_reduced = |by: &str| {
        let call = format!("tl.{by}({name}");
        rest.match_indices(&call).any(|(at, _)| {
            let after = rest.get(at + call.len()..).and_then(|after| after.chars().next());
            matches!(after, Some(',' | ')'))
        })
    };
    let other = match (is_reduced("sum"), is_reduced("max")) {
        (true, false) => "0.0",
        // The exponentials of these lanes are 0.
        (false, true) if rest.contains("tl.exp(") => "-float(\"inf\")",
        _ => return None,
    };
    if is_changed || is_reduced("min") {
        return None;
    }
    let edited = load.replacen(arguments, &format!("{arguments}, other={other}"), 1);
    let before = lines.iter().take(at).copied();
    let after = lines.iter().skip(at + 1).copied();
    Some(
        before
            .chain(std::iter::once(edited.as_str()))
            .chain(after)
            .collect(),
    )
}

/// The parenthesis that closes a call. The text starts after the opening one.
fn find_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            '"' | '\'' | '#' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::add_other;

    fn check(body: &str, expected: Option<&str>) {
        let text = format!("def k():\n{body}\n\nx = 1\n");
        let edited = add_other(&text, 2);
        let expected = expected.map(|expected| text.replacen("mask=m", expected, 1));
        assert_eq!(edited, expected);
    }

    #[test]
    fn one_kind_of_reduction_decides_the_value() {
        check(
            "    a = tl.load(p, mask=m)\n    tl.store(q, tl.sum(a, axis=0))",
            Some("mask=m, other=0.0"),
        );
        check(
            "    a = tl.load(p + f(i), mask=m).to(tl.float32)\n    b = tl.exp(a - tl.max(a))",
            Some("mask=m, other=-float(\"inf\")"),
        );
        check("    a = tl.load(p, mask=m)\n    tl.store(q, tl.max(a))", None);
        check(
            "    a = tl.load(p, mask=m)\n    b = tl.sum(a) + tl.exp(tl.max(a))",
            None,
        );
        check(
            "    a = tl.load(p, mask=m)\n    a = a * 2\n    tl.store(q, tl.sum(a))",
            None,
        );
        check(
            "    a = tl.load(p, mask=m, other=1)\n    tl.store(q, tl.sum(a))",
            None,
        );
        check("    a = tl.load(p, mask=m)\n    tl.store(q, tl.sum(ab))", None);
    }
}
