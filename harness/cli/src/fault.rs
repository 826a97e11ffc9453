//! Plants the fault that the environment names. Only in builds with the feature `planted-faults`.

use std::path::PathBuf;

use cerith_tile::fault::{self, Fault};

/// Plants what `CERITH_FAULT` names, and keeps interpreters' answers in `CERITH_FAULT_ANSWERS`. `CERITH_FAULT=list` lists the
/// faults and ends the process.
pub fn plant() {
    if let Some(folder) = std::env::var_os("CERITH_FAULT_ANSWERS") {
        cerith_toolchain::answer_cache::keep_in(PathBuf::from(folder));
    }
    let Ok(name) = std::env::var("CERITH_FAULT") else {
        return;
    };
    if name == "list" {
        for fault in Fault::ALL {
            println!("{}\t{}\t{}", fault.name(), fault.place(), fault.summary());
        }
        std::process::exit(0);
    }
    let Some(fault) = Fault::ALL.iter().find(|fault| fault.name() == name) else {
        eprintln!("error: there is no fault `{name}`; `CERITH_FAULT=list` lists them");
        std::process::exit(2);
    };
    fault::plant(Some(*fault));
}
