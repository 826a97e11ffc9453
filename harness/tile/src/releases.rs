//! The releases of Triton, and those of torch with the Triton that each pins. A new release is added here. Its changes of the
//! language are added to `rules`.

use crate::rules::Version;

/// Every release of Triton on `PyPI`, oldest first. Source: `pip index versions triton`.
pub const TRITON: [Version; 18] = [
    Version::new(2, 0, 0),
    Version::new(2, 1, 0),
    Version::new(2, 2, 0),
    Version::new(2, 3, 0),
    Version::new(2, 3, 1),
    Version::new(3, 0, 0),
    Version::new(3, 1, 0),
    Version::new(3, 2, 0),
    Version::new(3, 3, 0),
    Version::new(3, 3, 1),
    Version::new(3, 4, 0),
    Version::new(3, 5, 0),
    Version::new(3, 5, 1),
    Version::new(3, 6, 0),
    Version::new(3, 7, 0),
    Version::new(3, 7, 1),
    Version::new(3, 8, 0),
    Version::new(3, 9, 0),
];

/// The releases of torch that have `torch.compile` and pin a Triton older than those that Cerith installs, oldest first.
pub const OLD_TORCH: [Version; 10] = [
    Version::new(2, 0, 0),
    Version::new(2, 0, 1),
    Version::new(2, 1, 0),
    Version::new(2, 1, 1),
    Version::new(2, 1, 2),
    Version::new(2, 2, 0),
    Version::new(2, 2, 1),
    Version::new(2, 2, 2),
    Version::new(2, 3, 0),
    Version::new(2, 3, 1),
];

/// The later releases of torch, oldest first, each with the Triton that it pins. Source: `Requires-Dist` of torch's wheels for x86-64.
pub const TORCH: [(Version, Version); 18] = [
    (Version::new(2, 4, 0), Version::new(3, 0, 0)),
    (Version::new(2, 4, 1), Version::new(3, 0, 0)),
    (Version::new(2, 5, 0), Version::new(3, 1, 0)),
    (Version::new(2, 5, 1), Version::new(3, 1, 0)),
    (Version::new(2, 6, 0), Version::new(3, 2, 0)),
    (Version::new(2, 7, 0), Version::new(3, 3, 0)),
    (Version::new(2, 7, 1), Version::new(3, 3, 1)),
    (Version::new(2, 8, 0), Version::new(3, 4, 0)),
    (Version::new(2, 9, 0), Version::new(3, 5, 0)),
    (Version::new(2, 9, 1), Version::new(3, 5, 1)),
    (Version::new(2, 10, 0), Version::new(3, 6, 0)),
    (Version::new(2, 11, 0), Version::new(3, 6, 0)),
    (Version::new(2, 12, 0), Version::new(3, 7, 0)),
    (Version::new(2, 12, 1), Version::new(3, 7, 1)),
    (Version::new(2, 13, 0), Version::new(3, 7, 1)),
    (Version::new(2, 14, 0), Version::new(3, 8, 0)),
    (Version::new(2, 14, 1), Version::new(3, 8, 0)),
    (Version::new(2, 15, 0), Version::new(3, 9, 0)),
];

/// Every release of torch, oldest first.
pub const ALL_TORCH: [Version; OLD_TORCH.len() + TORCH.len()] = {
    let mut all = [Version::NEWEST; OLD_TORCH.len() + TORCH.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < OLD_TORCH.len() {
            OLD_TORCH[at]
        } else {
            TORCH[at - OLD_TORCH.len()].0
        };
        at += 1;
    }
    all
};

/// The newest release of torch.
pub const NEWEST_TORCH: Version = TORCH[TORCH.len() - 1].0;

/// The releases of Triton from a version on, oldest first.
pub fn triton_since(first: Version) -> &'static [Version] {
    let before = TRITON.iter().take_while(|release| **release < first).count();
    TRITON.get(before..).unwrap_or_default()
}

/// The last patch of each minor version of Triton from a version on, oldest first.
pub fn latest_patches(first: Version) -> Vec<Version> {
    let releases = triton_since(first);
    let is_latest = |(at, release): &(usize, &Version)| {
        let next = releases.get(at + 1);
        next.is_none_or(|next| (next.major, next.minor) != (release.major, release.minor))
    };
    let latest = releases.iter().enumerate().filter(is_latest);
    latest.map(|(_, release)| *release).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_in_order_and_pins_are_releases() {
        assert!(TRITON.is_sorted());
        assert!(ALL_TORCH.is_sorted());
        assert!(TORCH.iter().all(|(_, triton)| TRITON.contains(triton)));
    }

    #[test]
    fn the_last_patch_stands_for_a_minor_version() {
        let latest: Vec<String> = latest_patches(Version::new(3, 3, 0))
            .iter()
            .take(4)
            .map(ToString::to_string)
            .collect();
        assert_eq!(latest, ["3.3.1", "3.4.0", "3.5.1", "3.6.0"]);
        assert_eq!(triton_since(Version::new(9, 0, 0)), []);
    }
}
