//! Plants the fault that the environment names. Only in builds with the feature `planted-faults`.

use std::path::PathBuf;

use conch_tile::fault::{self, Fault};

/// Plants what `CONCH_FAULT` names, and keeps interpreters' answers in `CONCH_FAULT_ANSWERS`. `CONCH_FAULT=list` lists the
/// faults and ends the process.
pub fn plant() {
    if let Some(folder) = std::env::var_os("CONCH_FAULT_ANSWERS") {
        conch_toolchain::kept::keep_in(PathBuf::from(folder));
    }
    let Ok(name) = std::env::var("CONCH_FAULT") else {
        return;
    };
    if name == "list" {
        for fault in Fault::ALL {
            println!("{}\t{}\t{}", fault.name(), fault.place(), fault.about());
        }
        std::process::exit(0);
    }
    let Some(fault) = Fault::ALL.iter().find(|fault| fault.name() == name) else {
        eprintln!("error: there is no fault `{name}`; `CONCH_FAULT=list` lists them");
        std::process::exit(2);
    };
    fault::plant(Some(*fault));
}
