//! A generated case in full: `print NUMBER [SEED [broken]]` writes its kernel and its case file. See `share` for running it.

use arbitrary::Unstructured;
use cerith_gen::case::breach::Broken;
use cerith_gen::case::{Detail, Generated};
use cerith_gen::seeded::generate_bytes;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words.get(at).map_or(Ok(0), |word| word.parse::<u64>());
    let (Ok(number), Ok(seed)) = (number(0), number(1)) else {
        eprintln!("print NUMBER [SEED [broken]]");
        std::process::exit(2);
    };
    let bytes = generate_bytes(seed, number);
    let mut u = Unstructured::new(&bytes);
    let case = if words.get(2).is_some_and(|word| word == "broken") {
        Broken::new("kernel", Detail::Chosen, &mut u).map(|broken| {
            println!("# {}: {:?}", broken.breach.name, broken.breach.foretold);
            broken.case
        })
    } else {
        Generated::new("kernel", Detail::Chosen, &mut u)
    };
    let case = case.expect("any bytes are a case");
    println!("{}\n# ---\n{}", case.module(), case.case_file("kernel.py"));
}
