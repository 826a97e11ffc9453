//! Splits a run into equal parts: `--shard 2/4`.

/// One of several equal parts of a run: `2/4` holds every fourth case from the second on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    index: usize,
    count: usize,
}

/// The text is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a shard: write `I/N` with I from 1 to N")]
pub struct BadShard(pub String);

impl Shard {
    /// All there is.
    pub const ALL: Self = Self { index: 0, count: 1 };

    /// Whether the case of this number, counted from 0 after filtering, belongs to the shard.
    pub const fn holds(self, number: usize) -> bool {
        number % self.count == self.index
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self::ALL
    }
}

impl std::str::FromStr for Shard {
    type Err = BadShard;

    fn from_str(text: &str) -> Result<Self, BadShard> {
        let bad = || BadShard(text.to_owned());
        let (index, count) = text.split_once('/').ok_or_else(bad)?;
        let (index, count): (usize, usize) = (
            index.parse().map_err(|_| bad())?,
            count.parse().map_err(|_| bad())?,
        );
        if index == 0 || index > count {
            return Err(bad());
        }
        Ok(Self {
            index: index - 1,
            count,
        })
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_split_without_overlap() {
        for wrong in ["", "1", "0/2", "3/2", "a/b", "1/0", "-1/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
        let shards: Vec<Shard> = ["1/3", "2/3", "3/3"]
            .iter()
            .map(|text| text.parse().expect(text))
            .collect();
        for number in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.holds(number)).count(), 1);
        }
        assert_eq!(shards[1].to_string(), "2/3");
    }
}
