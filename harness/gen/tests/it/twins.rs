//! A twin stores the values of its kernel: two runs of the reference are compared.

use arbitrary::Unstructured;
use cerith_case::{Case, Corpus, Input};
use cerith_engine::Reference;
use cerith_gen::case::{Form, Generated, Twist};
use cerith_gen::seeded::generate_bytes;
use cerith_tile::rules::Rules;
use cerith_verdict::{Twins, compare_twins};

const TRIALS: u64 = 200;

fn generate_case(number: u64, form: Form) -> Generated {
    let bytes = generate_bytes(9, number);
    Generated::new("kernel", form, &mut Unstructured::new(&bytes)).expect("any bytes are a case")
}

fn read(made: &Generated) -> Case {
    let files = [
        Input::from_text("k.py", made.module()),
        Input::from_text("c.yaml", made.case_file("k.py")),
    ];
    let corpus = Corpus::load(files);
    assert!(corpus.problems().is_empty(), "{:?}", corpus.problems());
    let entry = corpus.entries().next().expect("a case");
    entry.resolve().expect("it resolves")
}

fn check(twist: Twist) {
    let reference = Reference::default();
    let mut compared = 0;
    for number in 0..TRIALS {
        let plain = generate_case(number, Form::default());
        let twin = generate_case(
            number,
            Form {
                twist: Some(twist),
                ..Form::default()
            },
        );
        if twin == plain {
            continue;
        }
        let (case, other) = (read(&plain), read(&twin));
        match compare_twins(&reference, &case, &other, Rules::default()).expect("no failure of ours") {
            Twins::Same => compared += 1,
            Twins::Silent(_) => {}
            Twins::Differ(how) => panic!("{number}: {how}\n{}\n{}", plain.module(), twin.module()),
        }
    }
    assert!(compared > TRIALS / 20, "{compared} of {TRIALS} were compared");
}

#[test]
fn through_other_shapes() {
    check(Twist::Shapes);
}

#[test]
fn through_memory() {
    check(Twist::Memory);
}

#[test]
fn beside_a_branch_that_is_not_taken() {
    check(Twist::Branch);
}

#[test]
fn with_unrolled_loops() {
    check(Twist::Unrolled);
}

#[test]
fn with_operands_in_another_order() {
    check(Twist::Operands);
}

#[test]
fn with_the_last_program_first() {
    check(Twist::Order);
}

#[test]
fn with_a_launch_for_each_program() {
    check(Twist::Launches);
}

#[test]
fn with_other_options() {
    check(Twist::Options);
}

#[test]
fn other_data_is_told() {
    let reference = Reference::default();
    let other = Form {
        data: 77,
        ..Form::default()
    };
    let (case, other) = (
        read(&generate_case(0, Form::default())),
        read(&generate_case(0, other)),
    );
    let told = compare_twins(&reference, &case, &other, Rules::default()).expect("no failure of ours");
    assert!(matches!(told, Twins::Differ(_)), "{told:?}");
}
