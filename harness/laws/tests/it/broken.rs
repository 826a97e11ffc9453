//! Generated kernels that break one rule on purpose: the reference reports each.

use arbitrary::Unstructured;
use cerith_gen::case::Detail;
use cerith_gen::case::breach::{Breach, Broken, Foretold};
use cerith_gen::{Ended, seeded};
use cerith_laws::broken::{check, check_foretold, is_whole};
use cerith_laws::case::{build_reference, read, run};
use cerith_tile::rules::{Rules, Version};

/// The number of kernels for each rule.
const KERNELS: u64 = 6;

#[test]
fn every_breach_is_noticed() {
    let rules = Rules::from_version(Version::NEWEST);
    let reference = build_reference();
    let mut faults = Vec::new();
    for breach in Breach::iter() {
        let mut seen = 0;
        let kernels = if breach.foretold == Foretold::Endless {
            1
        } else {
            KERNELS
        };
        for seed in 0..kernels {
            let bytes = seeded::generate_bytes(1, seed);
            let broken =
                Broken::from_breach(breach, "kernel", Detail::Chosen, &mut Unstructured::new(&bytes))
                    .expect("any bytes are a case");
            let case = read(&broken.case).unwrap_or_else(|fault| panic!("{fault}"));
            let outcome = run(&reference, &case, rules).unwrap_or_else(|fault| panic!("{fault}"));
            match check_foretold(breach.foretold, &outcome) {
                Ok(()) => seen += 1,
                Err(fault) if is_whole(&broken, &reference, rules) == Ok(true) => {
                    faults.push(format!("{}: {fault}\n{}", breach.name, broken.case.module()));
                }
                Err(_) => {}
            }
        }
        assert!(seen > 0, "{}: not reported in any kernel", breach.name);
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_unbroken_case_has_no_breach() {
    // `check_foretold` must fail for a kernel without the breach, so it does not accept every outcome.
    let rules = Rules::from_version(Version::NEWEST);
    let reference = build_reference();
    for breach in Breach::iter().step_by(9) {
        let bytes = seeded::generate_bytes(2, 1);
        let broken = Broken::from_breach(breach, "kernel", Detail::Chosen, &mut Unstructured::new(&bytes))
            .expect("any bytes are a case");
        if is_whole(&broken, &reference, rules) == Ok(true) {
            let whole = read(&broken.unbroken).unwrap_or_else(|fault| panic!("{fault}"));
            let outcome = run(&reference, &whole, rules).unwrap_or_else(|fault| panic!("{fault}"));
            assert!(
                check_foretold(breach.foretold, &outcome).is_err(),
                "{}",
                breach.name
            );
        }
    }
}

#[test]
fn any_bytes_are_a_broken_case() {
    let ended = |bytes: &[u8]| check(bytes).unwrap_or_else(|fault| panic!("{fault}"));
    let mut finished = 0;
    for seed in 0..200 {
        let bytes = seeded::generate_bytes(3, seed);
        finished += usize::from(ended(&bytes) == Ended::Finished);
        ended(&bytes[..seed as usize]);
    }
    // Kernels that are already faulty have no planned problem.
    assert!(finished < 10, "{finished} of 200 break nothing");
}
