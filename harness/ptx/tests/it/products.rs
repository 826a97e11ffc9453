//! Registers of `wgmma` products in flight, and copies of them.

use crate::asynchrony::check;

/// A product of 16-bit sums. `early` follows the start, and `late` the wait.
fn product_of_halves(early: &str, late: &str) -> String {
    format!(
        "
        .reg .b16 %h<8>;
        mov.b32 %f0, 0; mov.b32 %f1, 0;
        mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0;
        st.shared.u32 [%at], %own;
        fence.proxy.async.shared::cta;
        bar.sync 0;
        cvt.u64.u32 %d1, %dyn;
        shr.u64 %d1, %d1, 4;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {{%f0,%f1}}, {{%r4,%r5,%r6,%r7}}, %d1, 1, 1, 1, 0;
        wgmma.commit_group.sync.aligned;
        {early}
        wgmma.wait_group.sync.aligned 0;
        {late}
        cvt.u32.u16 %result, %h0;
        st.global.u32 [%word], %result;"
    )
}

/// As Triton's code does: it takes sums apart before the wait, and uses the halves after it.
#[test]
fn halves_of_a_register_are_the_register() {
    let unpack = "mov.b32 {%h0, %h1}, %f0;";
    let add = "add.f16 %h0, %h0, %h1;";
    check(&product_of_halves(unpack, add), 128, "");
    check(
        &product_of_halves(&format!("{unpack} mov.b32 %r8, {{%h0, %h1}};"), add),
        128,
        "",
    );
    check(
        &product_of_halves(&format!("{unpack} {add}"), ""),
        128,
        "accumulator-in-flight",
    );
    let packed = format!("{unpack} mov.b32 %r8, {{%h0, %h1}}; add.u32 %r8, %r8, 1;");
    check(&product_of_halves(&packed, ""), 128, "accumulator-in-flight");
}

#[test]
fn a_copy_of_a_register_in_flight_may_be_replaced() {
    let replaced = "mov.b32 %r8, %f0; mov.b32 %r8, %f1;";
    check(&product_of_halves(replaced, "mov.b32 {%h0, %h1}, %r8;"), 128, "");
    let other = "mov.b32 %r8, %f0; mov.b32 %r8, 7; add.u32 %r8, %r8, 1;";
    check(&product_of_halves(other, "mov.b32 {%h0, %h1}, %r8;"), 128, "");
    let updated = "mov.b32 %r8, %f0; add.u32 %r8, %r8, 1;";
    check(
        &product_of_halves(updated, "mov.b32 {%h0, %h1}, %r8;"),
        128,
        "accumulator-in-flight",
    );
    let sum = "mov.b32 %f0, 7;";
    check(
        &product_of_halves(sum, "mov.b32 {%h0, %h1}, %f0;"),
        128,
        "accumulator-in-flight",
    );
}
