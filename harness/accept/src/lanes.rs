//! The lanes of a value. See `lane` for one lane, and `wide` for blocks of floats.

use std::rc::Rc;

use super::lane::Lane;
use super::wide::Wide;

/// The lanes of a value.
#[derive(Clone, Debug)]
pub(crate) enum Lanes {
    /// One value for all lanes.
    Uniform(Lane),
    /// A value for each lane.
    Each(Vec<Lane>),
    /// Floats, an array for each part of a lane.
    Wide(Rc<Wide>),
    /// All lanes are exact: the plain machine has them in its slot of the same number.
    Plain,
}

impl Lanes {
    pub(crate) fn lane_at(&self, lane: usize) -> Lane {
        match self {
            Self::Uniform(all) => *all,
            Self::Each(lanes) => lanes.get(lane).copied().unwrap_or(Lane::Unknown),
            Self::Wide(wide) => wide.lane_at(lane),
            Self::Plain => Lane::Unknown,
        }
    }

    /// The size of the lanes in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Uniform(_) | Self::Plain => 0,
            Self::Each(lanes) => size_of_val(lanes.as_slice()),
            Self::Wide(wide) => wide.bytes(),
        }
    }

    /// Expands it to a value for each lane.
    pub(crate) fn to_vec(&self, count: usize) -> Vec<Lane> {
        match self {
            Self::Uniform(all) => vec![*all; count],
            Self::Each(lanes) => lanes.clone(),
            Self::Wide(wide) => (0..count).map(|lane| wide.lane_at(lane)).collect(),
            Self::Plain => vec![Lane::Unknown; count],
        }
    }
}
