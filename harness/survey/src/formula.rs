//! Numbers of a launch with their formulas in its sizes, so that a case file can vary the sizes in its matrix.

/// Maximum value of a number.
const MAX_VALUE: i64 = i64::MAX;

/// A number, and the expression that gives it, if it depends on a size that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    value: i64,
    words: Option<Words>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Words {
    text: String,
    /// Whether a product can contain it without parentheses.
    is_factor: bool,
}

impl Amount {
    /// A number that depends on nothing.
    pub fn from_number(value: i64) -> Self {
        Self { value, words: None }
    }

    /// The value of a variable.
    pub fn from_variable(name: &str, value: i64) -> Self {
        let words = Words {
            text: name.to_owned(),
            is_factor: true,
        };
        Self {
            value,
            words: Some(words),
        }
    }

    /// The number.
    pub fn value(&self) -> i64 {
        self.value
    }

    /// The expression, or the number.
    pub fn text(&self) -> String {
        self.words
            .as_ref()
            .map_or_else(|| self.value.to_string(), |words| words.text.clone())
    }

    /// The expression as a value of a case file.
    pub fn yaml(&self) -> String {
        match &self.words {
            Some(words) => quote_expression(&words.text),
            None => self.value.to_string(),
        }
    }

    /// The product.
    pub fn times(&self, other: &Self) -> Self {
        match (self.value, &self.words, other.value, &other.words) {
            (1, None, ..) => return other.clone(),
            (_, _, 1, None) => return self.clone(),
            _ => {}
        }
        let value = self.value.checked_mul(other.value).unwrap_or(MAX_VALUE);
        self.combine(other, value, true, || {
            format!("{} * {}", self.factor(), other.factor())
        })
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        match (self.value, &self.words, other.value, &other.words) {
            (0, None, ..) => return other.clone(),
            (_, _, 0, None) => return self.clone(),
            _ => {}
        }
        let value = self.value.saturating_add(other.value);
        self.combine(other, value, false, || {
            format!("{} + {}", self.text(), other.text())
        })
    }

    /// How many blocks of so many elements hold it.
    pub fn blocks_of(&self, lanes: i64) -> Self {
        let whole = self.value.div_euclid(lanes);
        let value = whole + i64::from(self.value.rem_euclid(lanes) != 0);
        if lanes == 1 {
            return self.clone();
        }
        self.combine(&Self::from_number(lanes), value, true, || {
            format!("cdiv({}, {lanes})", self.text())
        })
    }

    /// The whole quotient by a number that is 1 where it would be less.
    pub fn divide_by(&self, other: &Self) -> Self {
        let divisor = other.at_least(1);
        if other.words.is_none() && divisor.value == 1 {
            return self.clone();
        }
        self.combine(&divisor, self.value.div_euclid(divisor.value), false, || {
            format!("{} // {}", self.factor(), divisor.factor())
        })
    }

    /// The larger of it and a number.
    pub fn at_least(&self, least: i64) -> Self {
        self.combine(&Self::from_number(least), self.value.max(least), true, || {
            format!("max({}, {least})", self.text())
        })
    }

    fn factor(&self) -> String {
        match &self.words {
            Some(words) if !words.is_factor => format!("({})", words.text),
            _ => self.text(),
        }
    }

    /// Combines two numbers. The result depends on sizes if one of them does. Products and calls need no parentheses
    /// in a product.
    fn combine(&self, other: &Self, value: i64, is_factor: bool, text: impl FnOnce() -> String) -> Self {
        let words = (self.words.is_some() || other.words.is_some()).then(|| Words {
            text: text(),
            is_factor,
        });
        Self { value, words }
    }
}

/// Quotes an expression as a value of a case file. Names need no quotes, except those that some YAML parsers read as
/// booleans or null.
pub(super) fn quote_expression(text: &str) -> String {
    let is_name = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    let is_word = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word));
    if is_name && !is_word {
        text.to_owned()
    } else {
        format!("\"{text}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(amount: &Amount, value: i64, text: &str) {
        assert_eq!((amount.value(), amount.text().as_str()), (value, text));
    }

    #[test]
    fn what_depends_on_no_size_is_a_number() {
        let five = Amount::from_number(5);
        check(
            &five.times(&Amount::from_number(3)).plus(&Amount::from_number(1)),
            16,
            "16",
        );
        check(&five.blocks_of(2), 3, "3");
        check(&five.at_least(8), 8, "8");
        check(
            &Amount::from_number(i64::MAX).times(&five),
            i64::MAX,
            "9223372036854775807",
        );
    }

    #[test]
    fn what_depends_on_a_size_is_an_expression() {
        let n = Amount::from_variable("n", 33);
        check(&n.blocks_of(32), 2, "cdiv(n, 32)");
        check(
            &n.plus(&Amount::from_number(5)).times(&Amount::from_number(3)),
            114,
            "(n + 5) * 3",
        );
        check(&n.times(&Amount::from_number(1)), 33, "n");
        check(&Amount::from_number(0).plus(&n), 33, "n");
        check(&n.times(&n).at_least(64), 1089, "max(n * n, 64)");
        check(&n.times(&n).divide_by(&n), 33, "n * n // max(n, 1)");
        assert_eq!(n.yaml(), "\"n\"");
        assert_eq!(Amount::from_variable("n_cols", 1).yaml(), "n_cols");
        assert_eq!(n.blocks_of(32).yaml(), "\"cdiv(n, 32)\"");
    }
}
