//! The structure of a call's result: values in sequences and dicts. See `cerith_triton/structure.py`.

use serde::Deserialize;

/// The structure of a result.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Structure {
    /// `None`.
    None,
    /// The value with this number.
    Leaf(usize),
    /// A list or a tuple. Callers unpack and index both in the same way, so they are equal.
    Sequence(Vec<Self>),
    /// A dict or a dataclass: the `repr` of each key, and its value. The order has no meaning.
    Named(Vec<(String, Self)>),
}

impl Structure {
    /// The numbers of the values that belong to those of the reference, in its order.
    ///
    /// # Errors
    /// The structures differ: the difference, for the user.
    pub fn match_leaves(&self, reference: &Self) -> Result<Vec<usize>, String> {
        let mut pairs = Vec::new();
        match_at(self, reference, "output", &mut pairs)?;
        pairs.sort_unstable();
        Ok(pairs.into_iter().map(|(_, own)| own).collect())
    }

    fn describe(&self) -> String {
        let count = |kind: &str, items: usize, one: &str| {
            format!("a {kind} of {items} {one}{}", if items == 1 { "" } else { "s" })
        };
        match self {
            Self::None => "`None`".to_owned(),
            Self::Leaf(_) => "a single value".to_owned(),
            Self::Sequence(items) => count("sequence", items.len(), "item"),
            Self::Named(items) => count("dict", items.len(), "key"),
        }
    }
}

/// Adds the number in the reference and the own one of each value.
fn match_at(
    own: &Structure,
    reference: &Structure,
    path: &str,
    pairs: &mut Vec<(usize, usize)>,
) -> Result<(), String> {
    match (own, reference) {
        (Structure::None, Structure::None) => Ok(()),
        (Structure::Leaf(own), Structure::Leaf(reference)) => {
            pairs.push((*reference, *own));
            Ok(())
        }
        (Structure::Sequence(own), Structure::Sequence(reference)) if own.len() == reference.len() => own
            .iter()
            .zip(reference)
            .enumerate()
            .try_for_each(|(at, (own, reference))| match_at(own, reference, &format!("{path}[{at}]"), pairs)),
        (Structure::Named(own), Structure::Named(reference)) => {
            for (key, reference) in reference {
                let found = own.iter().find(|(other, _)| other == key);
                let (_, own) = found.ok_or_else(|| format!("`{path}` has no key `{key}`"))?;
                match_at(own, reference, &format!("{path}[{key}]"), pairs)?;
            }
            let known = |key: &String| reference.iter().any(|(other, _)| other == key);
            match own.iter().find(|(key, _)| !known(key)) {
                Some((key, _)) => Err(format!(
                    "`{path}` has the key `{key}`, which the reference's does not have"
                )),
                None => Ok(()),
            }
        }
        _ => Err(format!(
            "`{path}` is {}, and the reference's is {}",
            own.describe(),
            reference.describe()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Structure {
        serde_json::from_str(text).expect("a structure")
    }

    #[track_caller]
    fn check(own: &str, reference: &str, expected: Result<&[usize], &str>) {
        let matched = read(own).match_leaves(&read(reference));
        assert_eq!(matched.as_deref(), expected.map_err(str::to_owned).as_deref());
    }

    const DICT: &str = r#"{"named": [["'a'", {"leaf": 0}], ["'b'", {"leaf": 1}]]}"#;

    #[test]
    fn values_are_matched_by_key_and_position() {
        check(r#"{"leaf": 0}"#, r#"{"leaf": 0}"#, Ok(&[0]));
        let pair = r#"{"sequence": [{"leaf": 0}, "none", {"leaf": 1}]}"#;
        check(pair, pair, Ok(&[0, 1]));
        check(
            r#"{"named": [["'b'", {"leaf": 0}], ["'a'", {"leaf": 1}]]}"#,
            DICT,
            Ok(&[1, 0]),
        );
    }

    #[test]
    fn differences_are_located() {
        let single = r#"{"leaf": 0}"#;
        check(
            r#"{"sequence": [{"leaf": 0}]}"#,
            single,
            Err("`output` is a sequence of 1 item, and the reference's is a single value"),
        );
        check(
            r#"{"sequence": [{"leaf": 0}, {"leaf": 1}]}"#,
            r#"{"sequence": [{"leaf": 0}, "none"]}"#,
            Err("`output[1]` is a single value, and the reference's is `None`"),
        );
        check(
            r#"{"named": [["'a'", {"leaf": 0}], ["'c'", {"leaf": 1}]]}"#,
            DICT,
            Err("`output` has no key `'b'`"),
        );
        check(
            r#"{"named": [["'a'", {"leaf": 0}], ["'b'", {"leaf": 1}], ["0", "none"]]}"#,
            DICT,
            Err("`output` has the key `0`, which the reference's does not have"),
        );
        check(
            r#"{"sequence": [{"leaf": 0}, {"leaf": 1}]}"#,
            DICT,
            Err("`output` is a sequence of 2 items, and the reference's is a dict of 2 keys"),
        );
    }
}
