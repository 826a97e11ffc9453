//! Panics of Cerith itself, turned into words: a bug of ours costs one outcome and never the run.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside of [`catch_panic`], and where the last panic was.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

static HOOK: Once = Once::new();

/// Does something that must not panic. A panic comes back as its message and place, and is not printed.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if INSIDE.get() {
                PLACE.set(info.location().map(|at| format!("{}:{}", at.file(), at.line())));
            } else {
                usual(info);
            }
        }));
    });
    let outer = INSIDE.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(outer);
    result.map_err(|payload| {
        let message = describe_payload(payload.as_ref());
        PLACE
            .take()
            .map_or_else(|| message.clone(), |place| format!("{message}, at {place}"))
    })
}

fn describe_payload(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_words_with_its_place() {
        assert_eq!(catch_panic(|| 1), Ok(1));
        let words = catch_panic(|| panic!("no {}", "way"))
            .map(|()| 0)
            .expect_err("it panicked");
        assert!(
            words.starts_with("no way, at ") && words.contains("panics.rs:"),
            "{words}"
        );
        let nested = catch_panic(|| catch_panic(|| panic!("inner")).map(|()| 0));
        assert!(nested.is_ok_and(|inner| inner.is_err_and(|words| words.starts_with("inner"))));
    }
}
