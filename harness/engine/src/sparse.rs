//! Rejects cases with sparse storages for engines that hold all bytes of a storage in memory.

use cerith_case::Case;
use cerith_memory::MAX_BYTES;

use crate::Complaint;

/// The kind of complaint about a storage that is too large for an engine.
pub const TOO_LARGE: &str = "too-large";

/// The reason why a case cannot be executed with all bytes in memory, if there is one.
pub fn reject_sparse(case: &Case) -> Option<Box<Complaint>> {
    let storage = case.storages.first_sparse()?;
    let message = format!(
        "storage `{}` has {} bytes; this engine holds all bytes in memory: at most {}",
        storage.name(),
        group_digits(storage.size() as u64),
        group_digits(MAX_BYTES)
    );
    Some(Box::new(Complaint::new(TOO_LARGE, message)))
}

/// Formats a number like `8,589,934,592`.
fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::group_digits;

    #[test]
    fn digits_are_in_groups_of_three() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (8_589_934_592, "8,589,934,592"),
        ] {
            assert_eq!(group_digits(number), expected);
        }
    }
}
