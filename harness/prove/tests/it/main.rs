//! Proofs about kernels, from their Python to the answers.

mod kernels;
mod law;
mod wraps;
