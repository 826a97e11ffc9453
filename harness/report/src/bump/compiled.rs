//! The results of ahead-of-time compilation in two versions: changes of launches, of machine code's size and of compile
//! time, beyond noise. See [`super::change`] for the correctness of the compiled code.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::change::Change;
use super::figure::{Measure, Noise, Shift};
use super::group::{Cause, Changes, Group};
use crate::event::{Compiled, CompiledKernel, Scratch};

/// The compilations of one case in both versions.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) case: String,
    pub(super) old: Compiled,
    pub(super) new: Compiled,
}

/// Adds the compilers' figures to the changes.
pub(super) fn add(changes: &mut Changes, pairs: &[Pair], noise: Noise) {
    if pairs.is_empty() {
        return;
    }
    add_signature_changes(changes, pairs);
    let mut kernels: BTreeMap<String, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| !pair.new.kernels.is_empty()) {
        kernels.entry(build_kernel_key(pair)).or_default().push(pair);
    }
    let code = |compiled: &Compiled| compiled.kernels.iter().map(|one| one.code).sum::<u64>() as f64;
    let time = |compiled: &Compiled| compiled.seconds * 1e6;
    let sizes = Figures::from_kernels(&kernels, code);
    sizes.add(changes, Change::SizeChanged, "code", 1.0, |shift, old, new| {
        (shift.cases > 0).then(|| noise.is_beyond(old, new, noise.bytes))
    });
    let times = Figures::from_kernels(&kernels, time);
    let usual = if times.shifts.len() >= Noise::MIN_KERNELS {
        times.ratio()
    } else {
        1.0
    };
    times.add(changes, Change::TimeChanged, "time", usual, |shift, old, new| {
        let enough = count_compilations(&kernels, &shift.kernel) >= Noise::MIN_COMPILATIONS;
        enough.then(|| noise.is_beyond(old, new, noise.seconds * 1e6))
    });
    changes
        .groups
        .sort_by_key(|group| (group.change, Reverse(group.weight())));
}

/// The kernels of a case, by their file and names.
fn build_kernel_key(pair: &Pair) -> String {
    let mut names: Vec<&str> = pair.new.kernels.iter().map(|one| one.name.as_str()).collect();
    names.dedup();
    format!("{}:{}", pair.new.file, names.join("+"))
}

/// How many compilations a kernel's cases took: cases that look the same to a compiler share one.
fn count_compilations(kernels: &BTreeMap<String, Vec<&Pair>>, kernel: &str) -> usize {
    let pairs = kernels.get(kernel).map_or(&[][..], Vec::as_slice);
    let times: BTreeSet<[u64; 2]> = pairs
        .iter()
        .map(|pair| [&pair.old, &pair.new].map(|one| one.seconds.to_bits()))
        .collect();
    times.len()
}

/// One figure of every kernel.
struct Figures<'p> {
    shifts: Vec<(Shift, Vec<&'p Pair>)>,
}

impl<'p> Figures<'p> {
    /// The medians. A figure that one of the two lacks is omitted.
    fn from_kernels(kernels: &BTreeMap<String, Vec<&'p Pair>>, figure: impl Fn(&Compiled) -> f64) -> Self {
        let shifts = kernels.iter().filter_map(|(kernel, pairs)| {
            let median_of = |side: fn(&Pair) -> &Compiled| {
                compute_median(pairs.iter().map(|pair| figure(side(pair))).collect())
            };
            let most = |side: fn(&Pair) -> &Compiled, of: fn(&CompiledKernel) -> u32| {
                let all = pairs.iter().flat_map(|pair| &side(pair).kernels);
                all.map(of).max().unwrap_or_default()
            };
            let both = |of| [most(|pair| &pair.old, of), most(|pair| &pair.new, of)];
            let (old, new) = (median_of(|pair| &pair.old), median_of(|pair| &pair.new));
            let shift = Shift {
                kernel: kernel.clone(),
                old: old.round() as u64,
                new: new.round() as u64,
                registers: both(|one| one.registers),
                stack: both(|one| one.stack),
                cases: pairs.len() as u64,
            };
            (shift.old > 0 && shift.new > 0).then(|| (shift, pairs.clone()))
        });
        Self {
            shifts: shifts.collect(),
        }
    }

    fn ratio(&self) -> f64 {
        let ratios = self.shifts.iter().map(|(shift, _)| shift.ratio());
        compute_median(ratios.collect())
    }

    /// Adds the kernels that changed, by area: the area of the greatest change first. `usual` is the growth of all kernels'
    /// figures; `is_news` returns `None` for a kernel that is not to be judged.
    fn add(
        self,
        changes: &mut Changes,
        change: Change,
        of: &'static str,
        usual: f64,
        is_news: impl Fn(&Shift, f64, f64) -> Option<bool>,
    ) {
        if self.shifts.is_empty() {
            return;
        }
        let (kernels, ratio) = (self.shifts.len() as u64, self.ratio());
        let mut areas: BTreeMap<String, Vec<(Shift, Vec<&Pair>)>> = BTreeMap::new();
        let (mut changed, mut few) = (0, 0);
        for (shift, pairs) in self.shifts {
            let news = is_news(&shift, shift.old as f64 * usual, shift.new as f64);
            few += u64::from(news.is_none());
            if news == Some(true) {
                changed += 1;
                let case = pairs.first().map_or("", |pair| pair.case.as_str());
                let area = case.split(['/', ':']).next().unwrap_or_default().to_owned();
                areas.entry(area).or_default().push((shift, pairs));
            }
        }
        let mut cases = 0;
        for (area, mut kernels) in areas {
            kernels.sort_by(|(left, _), (right, _)| right.weight().total_cmp(&left.weight()));
            let named: Vec<String> = kernels
                .iter()
                .flat_map(|(_, pairs)| pairs.iter().map(|pair| pair.case.clone()))
                .collect();
            cases += named.len() as u64;
            changes.groups.push(Group {
                change,
                smallest: named.first().cloned().unwrap_or_default(),
                cases: named,
                cause: Cause::Measured {
                    of,
                    area,
                    kernels: kernels.into_iter().map(|(shift, _)| shift).collect(),
                },
            });
        }
        if cases > 0 {
            changes.counts.insert(change, cases);
        }
        changes.measures.push(Measure {
            of,
            kernels,
            few,
            changed,
            ratio,
        });
    }
}

impl Shift {
    /// The new figure by the old one.
    pub fn ratio(&self) -> f64 {
        self.new as f64 / (self.old as f64).max(1.0)
    }

    /// How great a change it is, in either direction.
    fn weight(&self) -> f64 {
        self.ratio().ln().abs()
    }
}

impl Group {
    /// The order of groups of one change: those with more cases first, and of figures the greater change first.
    fn weight(&self) -> u64 {
        match &self.cause {
            Cause::Measured { kernels, .. } => kernels
                .iter()
                .map(|shift| (shift.weight() * 1e6) as u64)
                .max()
                .unwrap_or_default(),
            _ => self.cases.len() as u64,
        }
    }
}

fn compute_median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match (figures.get(middle), figures.len() % 2) {
        (None, _) => 0.0,
        (Some(high), 1) => *high,
        (Some(high), _) => {
            let low = figures.get(middle - 1).unwrap_or(high);
            f64::midpoint(*low, *high)
        }
    }
}

/// Adds what launches are made otherwise: one group for each way in which they are.
fn add_signature_changes(changes: &mut Changes, pairs: &[Pair]) {
    let mut ways: BTreeMap<String, (Vec<&Pair>, Option<[u64; 2]>)> = BTreeMap::new();
    let mut cases = 0;
    for pair in pairs {
        let other = find_launch_changes(&pair.old, &pair.new);
        cases += u64::from(!other.is_empty());
        for (way, amount) in other {
            let (cases, most) = ways.entry(way).or_default();
            let apart = |[old, new]: [u64; 2]| old.abs_diff(new);
            if amount.is_some_and(|amount| most.is_none_or(|most| apart(amount) > apart(most))) {
                *most = amount;
                // The case with the greatest change comes first.
                cases.insert(0, pair);
            } else {
                cases.push(pair);
            }
        }
    }
    if cases > 0 {
        changes.counts.insert(Change::SignatureChanged, cases);
    }
    for (way, (pairs, most)) in ways {
        changes.groups.push(Group {
            change: Change::SignatureChanged,
            smallest: pairs.first().map_or_else(String::new, |pair| pair.case.clone()),
            cases: pairs.iter().map(|pair| pair.case.clone()).collect(),
            cause: Cause::Launch { way, most },
        });
    }
}

/// The changes of a case's launches, each once, with the greatest amounts.
fn find_launch_changes(old: &Compiled, new: &Compiled) -> BTreeMap<String, Option<[u64; 2]>> {
    let mut ways = BTreeMap::new();
    let counts = [old, new].map(|one| one.kernels.len());
    if counts[0] != counts[1] {
        ways.insert(format!("{} kernels instead of {}", counts[1], counts[0]), None);
        return ways;
    }
    for (old, new) in old.kernels.iter().zip(&new.kernels) {
        let mut add = |way: String, amount: Option<[u64; 2]>| {
            ways.entry(way).or_insert(amount);
        };
        if old.params != new.params {
            add(compare_parameters(&old.params, &new.params), None);
        }
        for (name, old, new) in [
            ("launches", old.launches, new.launches),
            ("num_warps", u64::from(old.num_warps), u64::from(new.num_warps)),
            ("num_ctas", u64::from(old.num_ctas), u64::from(new.num_ctas)),
            (
                "cooperative",
                u64::from(old.cooperative),
                u64::from(new.cooperative),
            ),
            ("pdl", u64::from(old.pdl), u64::from(new.pdl)),
        ] {
            if old != new {
                add(format!("{name} {new} instead of {old}"), None);
            }
        }
        if old.num_ctas > 1 && old.cluster != new.cluster && !new.cluster.is_empty() {
            add("clusters lie otherwise".to_owned(), None);
        }
        compare_amounts(
            "shared memory",
            u64::from(old.shared),
            u64::from(new.shared),
            &mut add,
        );
        for (name, old, new) in [
            ("global scratch memory", old.global_scratch, new.global_scratch),
            ("profile scratch memory", old.profile_scratch, new.profile_scratch),
        ] {
            match (old, new) {
                (None, Some(_)) => add(format!("{name} is a parameter"), None),
                (Some(_), None) => add(format!("{name} is no longer a parameter"), None),
                _ => {}
            }
            let size = |scratch: Option<Scratch>| scratch.map_or(0, |scratch| scratch.size);
            compare_amounts(name, size(old), size(new), &mut add);
        }
    }
    ways
}

fn compare_amounts(name: &str, old: u64, new: u64, add: &mut impl FnMut(String, Option<[u64; 2]>)) {
    let way = match (old, new) {
        _ if old == new => return,
        (0, _) => format!("{name}, where there was none"),
        (_, 0) => format!("no {name}, where there was some"),
        _ if new > old => format!("more {name}"),
        _ => format!("less {name}"),
    };
    add(way, Some([old, new]));
}

/// Describes the added and removed parameters.
fn compare_parameters(old: &[String], new: &[String]) -> String {
    let count = |all: &[String], kind: &String| all.iter().filter(|one| *one == kind).count();
    let mut kinds: Vec<&String> = old.iter().chain(new).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut ways = Vec::new();
    for kind in kinds {
        let (was, is) = (count(old, kind), count(new, kind));
        if is > was {
            ways.push(format!("{} more of {kind}", is - was));
        } else if was > is {
            ways.push(format!("{} less of {kind}", was - is));
        }
    }
    if ways.is_empty() {
        "parameters in another order".to_owned()
    } else {
        format!("parameters: {}", ways.join(", "))
    }
}

#[cfg(test)]
mod tests;
