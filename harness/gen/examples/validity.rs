//! How generated kernels end in the reference by a version's rules: `validity COUNT SEED [VERSION [elsewhere]]`, with the limits of
//! that version's interpreter; `elsewhere` with another layout and a program more. Prints how many end how, with the first number of each.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use arbitrary::Unstructured;
use cerith_case::{Corpus, Input};
use cerith_engine::{Engine, Reference};
use cerith_gen::case::{Form, Generated, Layout, Limits};
use cerith_gen::seeded::generate_bytes;
use cerith_tile::rules::{Rules, Version};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let (Some(count), Some(seed)) = (number(0), number(1)) else {
        eprintln!("validity COUNT SEED [VERSION [elsewhere]]");
        std::process::exit(2);
    };
    let version = words
        .get(2)
        .map(|word| word.parse::<Version>().expect("a version"));
    let elsewhere = words.get(3).is_some_and(|word| word == "elsewhere");
    let form = Form {
        limits: version.map_or_else(Limits::default, Limits::from_interpreter),
        layout: if elsewhere { Layout::Inside } else { Layout::Tight },
        programs: elsewhere.into(),
        ..Form::default()
    };
    let rules = version.map_or_else(Rules::default, Rules::from_version);
    let next = AtomicU64::new(0);
    let ended = Mutex::new(BTreeMap::<String, (u64, u64)>::new());
    let work = || {
        let reference = Reference::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let bytes = generate_bytes(seed, number);
            let made =
                Generated::new("kernel", form, &mut Unstructured::new(&bytes)).expect("any bytes are a case");
            let corpus = Corpus::load([
                Input::from_text("k.py", made.module()),
                Input::from_text("c.yaml", made.case_file("k.py")),
            ]);
            let shown = || format!("{number}\n{}\n{}", made.module(), made.case_file("k.py"));
            assert!(
                corpus.problems().is_empty(),
                "{:?}\n{}",
                corpus.problems(),
                shown()
            );
            let entry = corpus.entries().next().expect("a case");
            let case = entry
                .resolve()
                .unwrap_or_else(|problems| panic!("{problems:?}\n{}", shown()));
            let run = reference.run(&case, rules);
            let end = run
                .unwrap_or_else(|failure| panic!("{failure}\n{}", shown()))
                .outcome;
            let mut why = end.kind().to_string();
            if let Some(complaint) = end.complaint().filter(|_| end.finished().is_none()) {
                why = format!("{why} {}", complaint.message.lines().next().unwrap_or_default());
            }
            let mut ended = ended.lock().expect("no panic");
            let (times, first) = ended.entry(why).or_insert((0, number));
            (*times, *first) = (*times + 1, number.min(*first));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut ended: Vec<_> = ended.into_inner().expect("no panic").into_iter().collect();
    ended.sort_by_key(|(_, (times, _))| std::cmp::Reverse(*times));
    for (end, (times, first)) in ended {
        println!("{times:8}  {end} (first: {first})");
    }
}
