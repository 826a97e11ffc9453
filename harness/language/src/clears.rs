//! The tensors that a tuner sets to zero.

/// The tensors that a tuner sets to zero before launches, by parameter (`Autotuner.run` in `runtime/autotuner.py`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clears {
    /// Before every launch: by the `pre_hook` of the configuration.
    pub always: Vec<String>,
    /// Before the launch that tunes: `reset_to_zero`. Measuring changes nothing else: its launches are not part of a case.
    pub when_tuning: Vec<String>,
    /// The parameters in the key: the first launch with other values of them tunes.
    pub key: Vec<String>,
}

impl Clears {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.always.is_empty() && self.when_tuning.is_empty()
    }
}
