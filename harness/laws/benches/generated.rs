//! How long a generated case takes, and where: made, read as a case, traced and launched by the reference, and all of it.
//! `mix` is what campaigns against compilers make, `small` only its small kernels. One thread; the peers are the steps.

use arbitrary::Unstructured;
use cerith_case::Case;
use cerith_engine::{Outcome, Reference};
use cerith_gen::case::{Form, Generated, Limits};
use cerith_gen::seeded::generate_bytes;
use cerith_laws::case::{read, run};
use cerith_tile::rules::{Rules, Version};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use mimalloc::MiMalloc;

/// As `cerith` has it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Cases of a sample.
const CASES: u64 = 500;

fn main() {
    divan::main();
}

/// The kernels to measure.
#[derive(Clone, Copy, Debug)]
enum Kernels {
    Small,
    Mix,
}

const KERNELS: [Kernels; 2] = [Kernels::Small, Kernels::Mix];

fn build_form(kernels: Kernels) -> Form {
    let mut limits = Limits::default();
    if matches!(kernels, Kernels::Small) {
        limits.small = 10;
    }
    Form {
        limits,
        ..Form::default()
    }
}

fn generate_case(kernels: Kernels, number: u64) -> Generated {
    let bytes = generate_bytes(15, number);
    Generated::new("kernel", build_form(kernels), &mut Unstructured::new(&bytes))
        .expect("any bytes are a case")
}

fn load_cases(kernels: Kernels) -> Vec<Case> {
    (0..CASES)
        .map(|number| read(&generate_case(kernels, number)).expect("it reads as a case"))
        .collect()
}

fn run_case(reference: &Reference, case: &Case) -> Outcome {
    run(reference, case, Rules::from_version(Version::NEWEST)).expect("the reference does not fail")
}

#[divan::bench(args = KERNELS, sample_count = 5, sample_size = 1)]
fn generate(bencher: Bencher<'_, '_>, kernels: Kernels) {
    bencher
        .counter(ItemsCount::new(CASES))
        .bench(|| (0..CASES).for_each(|number| drop(black_box(generate_case(kernels, number)))));
}

#[divan::bench(args = KERNELS, sample_count = 5, sample_size = 1)]
fn load(bencher: Bencher<'_, '_>, kernels: Kernels) {
    let made: Vec<_> = (0..CASES).map(|number| generate_case(kernels, number)).collect();
    bencher.counter(ItemsCount::new(CASES)).bench(|| {
        for case in &made {
            black_box(read(case).expect("it reads as a case"));
        }
    });
}

#[divan::bench(args = KERNELS, sample_count = 5, sample_size = 1)]
fn trace(bencher: Bencher<'_, '_>, kernels: Kernels) {
    let cases = load_cases(kernels);
    bencher.counter(ItemsCount::new(CASES)).bench(|| {
        let reference = cerith_laws::case::build_reference();
        let rules = Rules::from_version(Version::NEWEST);
        for launch in cases.iter().flat_map(|case| &case.launches) {
            black_box(reference.trace_kernel(launch, rules).is_ok());
        }
    });
}

/// Launches of kernels that are traced already: as many as are kept traced.
#[divan::bench(args = KERNELS, sample_count = 5, sample_size = 1)]
fn launch(bencher: Bencher<'_, '_>, kernels: Kernels) {
    let cases = load_cases(kernels);
    let reference = cerith_laws::case::build_reference();
    bencher.counter(ItemsCount::new(CASES)).bench(|| {
        for case in &cases {
            black_box(run_case(&reference, case));
        }
    });
}

#[divan::bench(args = KERNELS, sample_count = 5, sample_size = 1)]
fn run_end_to_end(bencher: Bencher<'_, '_>, kernels: Kernels) {
    let reference = cerith_laws::case::build_reference();
    bencher.counter(ItemsCount::new(CASES)).bench(|| {
        for number in 0..CASES {
            let case = read(&generate_case(kernels, number)).expect("it reads as a case");
            black_box(run_case(&reference, &case));
        }
    });
}
