//! State of one evaluation: the text, the storages that copies are added to, and the budget. See `eval` for the
//! meaning of names.

use std::ops::Range;

use cerith_memory::Storages;

use crate::error::ExprError;

/// How much work an expression may be: values made, items of lists counted one by one.
const BUDGET: usize = 200_000;

/// The state of one evaluation that functions and methods change.
pub(crate) struct Work<'a> {
    text: &'a str,
    storages: &'a mut Storages,
    budget: usize,
}

impl<'a> Work<'a> {
    pub fn new(text: &'a str, storages: &'a mut Storages) -> Self {
        Self {
            text,
            storages,
            budget: BUDGET,
        }
    }

    pub fn storages(&mut self) -> &mut Storages {
        self.storages
    }

    /// The expression's own text, which names the tensor that it creates.
    pub fn name_of(&self, range: &Range<usize>) -> String {
        self.text.get(range.clone()).unwrap_or_default().to_owned()
    }

    /// Takes from the budget.
    pub fn spend(&mut self, amount: usize, range: &Range<usize>) -> Result<(), ExprError> {
        match self.budget.checked_sub(amount) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(ExprError::new(
                range.clone(),
                "the expression makes too many values",
            )),
        }
    }
}
