//! Random cases: a Triton kernel in the style of a person, with storages, views, scalars, a grid and options.
//!
//! Every engine runs the text of the kernel. The text is generated top down with types: the dtype and shape of every expression
//! are known, so that Triton accepts nearly all kernels. Most kernels have defined results, because the generator avoids
//! undefined behaviour if that is cheap: divisors are at least 1, shifts are shorter than the type, indices are masked to their
//! range, a float is clamped before it becomes an integer, and programs write to separate addresses. The reference finds the
//! kernels that are still undefined.
//!
//! With [`Detail::Every`], the same bytes generate the same kernel, but it stores every value when it is computed. Then the first
//! storage in which two engines differ names the operation.
//!
//! | module | content |
//! |---|---|
//! | `maker` | the state of a kernel: variables in scope, lines, parameters |
//! | `types` | result dtypes of operations, and conversions that are defined |
//! | `expr` | elementwise expressions |
//! | `block` | reductions, scans, changes of shape, sorts, gathers, histograms, products |
//! | `flow` | loops, branches, functions, tuples |
//! | `observed`, `coverage` | lists of the features of a kernel, and of all kernels of a campaign |
//! | `data` | inputs with their views, outputs, atomics |
//! | `cells` | atomics in which each lane has its own element, so that their results have one value |
//! | `corners` | reductions, scans and the like with all their parameters, on blocks of special numbers |
//! | `narrow` | 8-bit floats |
//! | `products` | matrix products of every shape, dtype and precision; scaled ones |
//! | `edges` | tiles that cross the edges of a matrix, atomics and gathers through descriptors |
//! | `libdevice` | CUDA's library, functions as methods, functions of scalars |
//! | `idiom` | different ways to write the same thing in Python and Triton |
//! | `host` | different ways to declare and launch a kernel |
//! | `chain` | operations on whole blocks one after the other, each on the last one's result |
//! | `tiles` | tensor descriptors, block pointers, loops that load and multiply |
//! | `form` | the purpose of a case |
//! | `generated` | a generated case, and its text |
//! | `twist` | twins: kernels that must store the same values |
//! | [`breach`] | cases that break one rule on purpose |

mod block;
pub mod breach;
mod cells;
mod chain;
mod corners;
mod coverage;
mod data;
mod edges;
mod expr;
mod flow;
mod form;
mod generated;
mod host;
mod idiom;
mod libdevice;
mod maker;
mod narrow;
mod observed;
mod products;
mod tiles;
mod twist;
mod types;

use arbitrary::{Result, Unstructured};

use self::maker::Maker;

pub use self::coverage::Coverage;
pub use self::form::{Detail, Form, Layout, Limits, Twist};
pub use self::generated::{Generated, render_module};
pub use self::observed::OPERATORS;

impl Generated {
    /// Generates a case from bytes; any bytes produce one. Names of its module begin with `name`.
    ///
    /// # Errors
    /// No known ones: defaults replace missing bytes.
    pub fn new(name: &str, form: impl Into<Form>, u: &mut Unstructured<'_>) -> Result<Self> {
        Maker::new(name, form.into(), u)?.finish()
    }
}
