//! A kernel's PTX as lines: removed lines, another order of warps, and prints for the trace.
//!
//! Only the kernel itself is edited. A module with another function that uses shared memory is skipped.

use std::fmt::Write as _;

use crate::step::{Step, step};

/// The kind of change of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A `bar.sync` is removed.
    Barrier,
    /// A `cp.async.wait_group` is removed.
    Wait,
    /// A `cp.async.wait_group` leaves one more group in flight.
    Loosened,
}

/// A change of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edit {
    pub kind: Kind,
    /// The line, from 0.
    pub line: usize,
}

/// A module.
pub struct Text<'a> {
    pub lines: Vec<&'a str>,
    /// The line of the kernel's `.entry`, and those of its braces.
    entry: usize,
    open: usize,
    close: usize,
}

/// The variable of formats, and how long each is with its zero.
const FORMATS: [&str; 2] = ["~%d %d %llx\n", "~%d %d %llx %llx %llx\n"];

/// A loop of three instructions this often is more than a warp's turn in `cerith-ptx`.
const SPINS: u32 = 22_000;

impl<'a> Text<'a> {
    /// The module of a kernel, if only the kernel itself has to do with shared memory, and all barriers are of all threads.
    pub fn new(ptx: &'a str, kernel: &str) -> Option<Self> {
        let lines: Vec<&str> = ptx.lines().collect();
        let head = format!(".entry {kernel}(");
        let entry = lines.iter().position(|line| line.contains(&head))?;
        let from = |at: usize, text: &str| {
            let found = lines.iter().skip(at).position(|line| line.trim_end() == text);
            found.map(|nth| at + nth)
        };
        let open = from(entry, "{")?;
        let close = from(open, "}")?;
        let text = Self {
            lines,
            entry,
            open,
            close,
        };
        let fits = text.lines.iter().enumerate().all(|(at, line)| match step(line) {
            None => !line.contains("bar.red") && !line.contains("bar.arrive"),
            Some(Step::Barrier) => text.holds(at) && line.trim_end().ends_with("0;"),
            Some(_) => text.holds(at) || !line.contains(".shared"),
        });
        fits.then_some(text)
    }

    fn holds(&self, line: usize) -> bool {
        (self.open..self.close).contains(&line)
    }

    /// Every change that is tried.
    pub fn edits(&self) -> Vec<Edit> {
        let of = |(line, text): (usize, &&str)| match step(text) {
            Some(Step::Barrier) => vec![Edit {
                kind: Kind::Barrier,
                line,
            }],
            Some(Step::Wait(_)) => [Kind::Wait, Kind::Loosened]
                .map(|kind| Edit { kind, line })
                .to_vec(),
            _ => Vec::new(),
        };
        self.lines.iter().enumerate().flat_map(of).collect()
    }

    /// The module with a change.
    pub fn apply_edit(&self, edit: Edit) -> String {
        self.replace_lines(|at, line| (at == edit.line).then(|| edit_line(edit.kind, line)))
    }

    /// The module with a change, where the last warp goes first: all others wait for their turn at the beginning and after each
    /// barrier.
    pub fn reverse_warps(&self, edit: Edit, warps: u32) -> String {
        let late = |at: usize| {
            let last = warps.saturating_sub(1);
            format!(
                "{{ .reg .pred %late; .reg .b32 %turns; mov.u32 %turns, %tid.x; shr.u32 %turns, %turns, 5; \
                 sub.u32 %turns, {last}, %turns; mul.lo.u32 %turns, %turns, {SPINS};\n\
                 late_{at}: setp.eq.u32 %late, %turns, 0; @%late bra gone_{at}; sub.u32 %turns, %turns, 1; bra late_{at};\n\
                 gone_{at}: }}"
            )
        };
        // Declarations come first, so the code of the beginning goes in front of the first instruction.
        let is_first = |line: &str| {
            line.trim_start()
                .starts_with(|first: char| first.is_ascii_lowercase())
        };
        let lines = self.lines.iter().enumerate().skip(self.open);
        let first = lines
            .into_iter()
            .find(|(_, line)| is_first(line))
            .map(|(at, _)| at);
        self.replace_lines(|at, line| {
            if at == edit.line {
                Some(edit_line(edit.kind, line))
            } else if Some(at) == first {
                Some(format!("{}\n{line}", late(at)))
            } else if step(line) == Some(Step::Barrier) {
                Some(format!("{line}\n{}", late(at)))
            } else {
                None
            }
        })
    }

    /// The module where each step prints its line, its thread, its address and what it stores.
    pub fn traced(&self) -> Option<String> {
        let mut module = String::new();
        if !self.lines.iter().any(|line| line.contains("vprintf")) {
            module += ".extern .func (.param .b32 back) vprintf(.param .b64 format, .param .b64 values);\n";
        }
        for (nth, format) in FORMATS.iter().enumerate() {
            let bytes: Vec<String> = format.bytes().chain([0]).map(|byte| byte.to_string()).collect();
            let (len, bytes) = (bytes.len(), bytes.join(", "));
            let _ = writeln!(
                module,
                ".global .align 1 .b8 cerith_format{nth}[{len}] = {{{bytes}}};"
            );
        }
        let declared = "\n.local .align 16 .b8 cerith_room[32];\n\
             .reg .b32 %cerith_own, %cerith_low;\n.reg .b64 %cerith_at, %cerith_text, %cerith_values;\n.reg .pred %cerith_one;";
        let begun = format!(
            "mov.u32 %cerith_own, %tid.x;\nmov.u64 %cerith_values, cerith_room;\n\
             cvta.local.u64 %cerith_values, %cerith_values;\nsetp.eq.u32 %cerith_one, %cerith_own, 0;\n{}\
             and.b32 %cerith_low, %cerith_own, 31;\nsetp.eq.u32 %cerith_one, %cerith_low, 0;\n",
            emit_print("@%cerith_one ", 0, "", 0)
        );
        let mut missed = false;
        let is_first = |line: &str| {
            line.trim_start()
                .starts_with(|first: char| first.is_ascii_lowercase())
        };
        let first = (self.open..self.close).find(|&at| self.lines.get(at).is_some_and(|line| is_first(line)));
        let text = self.replace_lines(|at, line| {
            let mut before = String::new();
            if at == self.entry {
                before += &module;
            } else if Some(at) == first {
                before += &begun;
            }
            if self.holds(at)
                && let Some(step) = step(line)
            {
                match trace_step(line, step, at) {
                    Some(text) => before += &text,
                    None => missed = true,
                }
            }
            let behind = if at == self.open { declared } else { "" };
            (!before.is_empty() || !behind.is_empty()).then(|| format!("{before}{line}{behind}"))
        });
        (!missed).then_some(text)
    }

    /// The lines, some of them replaced.
    fn replace_lines(&self, mut other: impl FnMut(usize, &str) -> Option<String>) -> String {
        let mut text = String::new();
        for (at, line) in self.lines.iter().enumerate() {
            match other(at, line) {
                Some(other) => text += &other,
                None => text += line,
            }
            text.push('\n');
        }
        text
    }
}

fn edit_line(kind: Kind, line: &str) -> String {
    match (kind, step(line)) {
        (Kind::Loosened, Some(Step::Wait(left))) => format!("cp.async.wait_group {};", left + 1),
        _ => String::new(),
    }
}

/// Emits a print of a line's number, the thread, and the values that `filling` stores after them.
fn emit_print(guard: &str, line: usize, filling: &str, format: usize) -> String {
    format!(
        "{{ .param .b64 cerith_a; .param .b64 cerith_b; .param .b32 cerith_c;\n\
         st.local.u32 [cerith_room], {line};\nst.local.u32 [cerith_room+4], %cerith_own;\n{filling}\
         mov.u64 %cerith_text, cerith_format{format};\nst.param.b64 [cerith_a], %cerith_text;\n\
         st.param.b64 [cerith_b], %cerith_values;\n{guard}call.uni (cerith_c), vprintf, (cerith_a, cerith_b);\n}}\n"
    )
}

/// The printer of a step; `None` if its text is not understood.
fn trace_step(line: &str, step: Step, at: usize) -> Option<String> {
    // Nothing else has the number 0.
    let number = at + 1;
    let Step::Access(access) = step else {
        return Some(emit_print(
            "@%cerith_one ",
            number,
            "st.local.u64 [cerith_room+8], 0;\n",
            0,
        ));
    };
    let line = line.trim();
    let (guard, rest) = match line.strip_prefix('@') {
        Some(rest) => {
            let (guard, rest) = rest.split_once(char::is_whitespace)?;
            (format!("@{guard} "), rest)
        }
        None => (String::new(), line),
    };
    let (before, behind) = rest.split_once('[')?;
    let (address, operands) = behind.split_once(']')?;
    let (base, offset) = match address.split_once('+') {
        Some((base, offset)) => (base.trim(), offset.trim()),
        None => (address.trim(), "0"),
    };
    let mut filling = String::new();
    if access.shared {
        let _ = write!(
            filling,
            "{guard}mov.u32 %cerith_low, {base};\n{guard}add.u32 %cerith_low, %cerith_low, {offset};\n\
             {guard}cvt.u64.u32 %cerith_at, %cerith_low;\n"
        );
    } else {
        let _ = write!(
            filling,
            "{guard}mov.u64 %cerith_at, {base};\n{guard}add.u64 %cerith_at, %cerith_at, {offset};\n"
        );
    }
    let _ = writeln!(filling, "{guard}st.local.u64 [cerith_room+8], %cerith_at;");
    if !access.stores() {
        return Some(emit_print(&guard, number, &filling, 0));
    }
    let parts: Vec<&str> = before.trim().split('.').collect();
    let vector = parts.iter().find(|part| ["v2", "v4"].contains(*part));
    let vector = vector.map_or(String::new(), |vector| format!(".{vector}"));
    let ty = parts.last()?;
    let operands = operands.trim_start_matches([',', ' ', '\t']);
    let value = if operands.starts_with('{') {
        format!("{}}}", operands.split_once('}')?.0)
    } else {
        operands.split([',', ';']).next()?.trim().to_owned()
    };
    let _ = write!(
        filling,
        "st.local.u64 [cerith_room+16], 0;\nst.local.u64 [cerith_room+24], 0;\n\
         {guard}st.local{vector}.{ty} [cerith_room+16], {value};\n"
    );
    Some(emit_print(&guard, number, &filling, 1))
}
