//! Generated kernels and their twins through the reference: `twins COUNT SEED`, or one of them: `twins NUMBER SEED TWIST`. Prints how the kernels end, how many twins were
//! compared, how long it took, and every difference.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use arbitrary::Unstructured;
use cerith_case::{Case, Corpus, Input};
use cerith_engine::{Engine, Reference};
use cerith_gen::case::{Form, Generated, Twist};
use cerith_gen::seeded::generate_bytes;
use cerith_tile::rules::Rules;
use cerith_verdict::{Twins, compare_twins};

fn read(made: &Generated) -> Case {
    let corpus = Corpus::load([
        Input::from_text("k.py", made.module()),
        Input::from_text("c.yaml", made.case_file("k.py")),
    ]);
    assert!(
        corpus.problems().is_empty(),
        "{:?}\n{}\n{}",
        corpus.problems(),
        made.module(),
        made.case_file("k.py")
    );
    let entry = corpus.entries().next().expect("a case");
    entry.resolve().expect("it resolves")
}

/// Prints a case's twin: `twins NUMBER SEED TWIST`.
fn show(name: &str) {
    let words: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let [number, seed] = words[..] else { return };
    let twist = Twist::ALL.into_iter().find(|twist| twist.name() == name);
    let form = Form {
        twist,
        ..Form::default()
    };
    let bytes = generate_bytes(seed, number);
    let made = Generated::new("kernel", form, &mut Unstructured::new(&bytes)).expect("any bytes are a case");
    println!("{}\n\n{}", made.module(), made.case_file("kernel.py"));
}

fn main() {
    if let Some(name) = std::env::args().nth(3) {
        show(&name);
        return;
    }
    let words: Vec<u64> = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let [count, seed] = words[..] else {
        eprintln!("twins COUNT SEED");
        std::process::exit(2);
    };
    let began = Instant::now();
    let (compared, next) = (AtomicU64::new(0), AtomicU64::new(0));
    let ended = Mutex::new(BTreeMap::<String, u64>::new());
    let work = || {
        let reference = Reference::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let bytes = generate_bytes(seed, number);
            let made = |twist| {
                let form = Form {
                    twist,
                    ..Form::default()
                };
                Generated::new("kernel", form, &mut Unstructured::new(&bytes)).expect("any bytes are a case")
            };
            let plain = made(None);
            let case = read(&plain);
            let end = reference
                .run(&case, Rules::default())
                .expect("no failure")
                .outcome;
            let mut why = end.kind().to_string();
            if let Some(complaint) = end.complaint().filter(|_| end.finished().is_none()) {
                why = format!("{why} {}", complaint.message.lines().next().unwrap_or_default());
            }
            *ended.lock().expect("no panic").entry(why).or_default() += 1;
            for twist in Twist::ALL {
                let twin = made(Some(twist));
                if twin == plain {
                    continue;
                }
                compared.fetch_add(1, Ordering::Relaxed);
                match compare_twins(&reference, &case, &read(&twin), Rules::default()).expect("no failure") {
                    Twins::Same | Twins::Silent(_) => {}
                    Twins::Differ(how) => {
                        println!("case {number}, {}: {how}", twist.name());
                    }
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    for (end, count) in ended.into_inner().expect("no panic") {
        println!("{count:8}  {end}");
    }
    println!(
        "{} twins in {:.1} s",
        compared.into_inner(),
        began.elapsed().as_secs_f64()
    );
}
