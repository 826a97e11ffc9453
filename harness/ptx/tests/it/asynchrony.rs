//! Small programs that use barriers, `mbarrier` objects, bulk copies, products and clusters, each beside one that lacks
//! something: what is reported, with any schedule.

use std::sync::Arc;

use cerith_memory::{Memory, StorageId, Storages};
use cerith_ptx::{Config, Kernel, Launch, LaunchOutcome, Schedule, parse};

const HEAD: &str = ".version 8.6\n.target sm_90a\n.address_size 64\n";

/// Bytes of dynamic shared memory.
const SHARED: u32 = 32 << 10;
/// The size of the storage in words.
const WORDS: usize = 1024;

/// The schedules that every program runs with.
const SCHEDULES: [Schedule; 8] = [
    Schedule::Latest,
    Schedule::Earliest,
    Schedule::Random(1),
    Schedule::Random(2),
    Schedule::Random(3),
    Schedule::Random(4),
    Schedule::Starved(0),
    Schedule::Starved(1),
];

/// A kernel with the usual registers. `%out` is the address of the storage, `%own` the thread, `%warp` its warp, `%zero`
/// whether it is thread 0, `%at` its own word of shared memory. The first `mbarrier` is at `[bar]`, the second at `[bar+8]`,
/// and `dynamic` follows at 64.
fn kernel_text(body: &str) -> String {
    format!(
        "{HEAD}
        .extern .shared .align 128 .b8 bar[];
        .visible .entry k(.param .u64 out) {{
            .reg .pred %p<8>, %zero, %done;
            .reg .b32 %r<16>, %f<72>, %result, %own, %warp, %at, %dyn;
            .reg .b64 %d<8>, %out, %word;
            ld.param.u64 %out, [out];
            mov.u32 %own, %tid.x;
            shr.u32 %warp, %own, 5;
            setp.eq.u32 %zero, %own, 0;
            mul.wide.u32 %d0, %own, 4;
            add.u64 %word, %out, %d0;
            mov.u32 %dyn, bar;
            add.u32 %dyn, %dyn, 1024;
            shl.b32 %r0, %own, 2;
            add.u32 %at, %dyn, %r0;
            mov.u32 %result, 0;
            {body}
            ret;
        }}"
    )
}

/// A launch of a number of blocks in one cluster.
#[derive(Clone, Copy)]
struct Size {
    threads: u32,
    blocks: u32,
}

fn launch(text: &str, size: Size, schedule: Schedule) -> (LaunchOutcome, Vec<u32>) {
    let module = Arc::new(parse(text).expect("PTX"));
    let kernel = Kernel::new(&module, "k").expect("a kernel");
    let mut storages = Storages::new();
    let out = storages.add("out", WORDS as u64 * 4).expect("it fits");
    let content: Vec<u8> = (0..WORDS as u32).flat_map(u32::to_le_bytes).collect();
    storages.write(out, 0, &content);
    let mut memory = Memory::new(&storages, Vec::new());
    let parameters = memory.address(StorageId(0)).to_le_bytes();
    let launch = Launch {
        grid: [size.blocks, 1, 1],
        threads: [size.threads, 1, 1],
        cluster: [size.blocks, 1, 1],
        shared: SHARED,
        parameters: &parameters,
        scratch: 0,
    };
    let config = Config {
        schedule,
        fuel: 1 << 20,
        ..Config::default()
    };
    let outcome = kernel.launch(&launch, &mut memory, &config);
    let words = memory.bytes(out).as_chunks::<4>().0;
    (
        outcome,
        words.iter().map(|&word| u32::from_le_bytes(word)).collect(),
    )
}

/// The distinct codes that a launch reports.
fn describe_codes(outcome: &LaunchOutcome) -> String {
    let mut codes: Vec<&str> = match outcome {
        LaunchOutcome::Finished(finished) => finished
            .findings
            .iter()
            .map(|finding| finding.kind.code())
            .collect(),
        LaunchOutcome::Trapped(trap) => {
            let cause = trap.cause.iter().map(|finding| finding.kind.code());
            cause.chain([trap.kind.code()]).collect()
        }
        other => panic!("{other:?}"),
    };
    codes.dedup();
    codes.join(" ")
}

/// Checks what is reported about a program with every schedule: nothing, or one of the `expected` codes, which are separated
/// by `|`. A defect may cause others.
fn check_on(body: &str, size: Size, expected: &str) {
    let text = kernel_text(body);
    for schedule in SCHEDULES {
        let codes = describe_codes(&launch(&text, size, schedule).0);
        let is_reported = |code: &str| codes.split(' ').any(|reported| reported == code);
        assert!(
            expected.split('|').any(is_reported),
            "`{codes}` and not `{expected}` with {schedule:?}:\n{text}"
        );
    }
}

pub(crate) fn check(body: &str, threads: u32, expected: &str) {
    check_on(body, Size { threads, blocks: 1 }, expected);
}

/// Checks a program, and the same without the line that contains a text.
fn check_removal(body: &str, size: Size, removed: &str, expected: &str) {
    check_on(body, size, "");
    let without: Vec<&str> = body.lines().filter(|line| !line.contains(removed)).collect();
    assert_ne!(without.len(), body.lines().count(), "no line has {removed}");
    check_on(&without.join("\n"), size, expected);
}

const fn one_block(threads: u32) -> Size {
    Size { threads, blocks: 1 }
}

/// Waits for the phase with a parity of an `mbarrier`.
fn wait(place: &str, parity: &str, label: &str) -> String {
    format!(
        "{label}: mbarrier.try_wait.parity.shared::cta.b64 %done, [{place}], {parity}; @!%done bra {label}; // wait {label}"
    )
}

/// Loads 128 bytes of the storage to shared memory, and reads them.
fn load() -> String {
    format!(
        "
        @%zero mbarrier.init.shared::cta.b64 [bar], 1;
        bar.sync 0;
        @%zero mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
        @%zero cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%dyn], [%out], 128, [bar];
        {}
        ld.shared.u32 %result, [%at];
        bar.sync 0;
        @%zero mbarrier.inval.shared::cta.b64 [bar];
        add.u32 %result, %result, 1;
        st.global.u32 [%word+512], %result;",
        wait("bar", "0", "arrived")
    )
}

#[test]
fn a_copy_arrives_before_the_wait_ends() {
    check(&load(), 32, "");
    let text = kernel_text(&load());
    for schedule in SCHEDULES {
        let (_, words) = launch(&text, one_block(32), schedule);
        let expected: Vec<u32> = (1..=32).collect();
        assert_eq!(words[128..160], expected, "{schedule:?}");
    }
}

#[test]
fn a_copy_that_nothing_waits_for_is_in_flight() {
    check_removal(&load(), one_block(32), "// wait arrived", "copy-in-flight");
    check_removal(&load(), one_block(32), "mbarrier.arrive.expect_tx", "deadlock");
    check_removal(&load(), one_block(32), "mbarrier.init", "bad-mbarrier");
}

#[test]
fn an_arrival_must_count_the_bytes_of_its_copy() {
    let uncounted = load().replace(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128",
        "mbarrier.arrive.shared::cta.b64 _, [bar]",
    );
    check(&uncounted, 32, "copy-in-flight");
    for bytes in [64, 256] {
        let wrong = load().replace(
            "expect_tx.shared::cta.b64 _, [bar], 128",
            &format!("expect_tx.shared::cta.b64 _, [bar], {bytes}"),
        );
        check(&wrong, 32, "deadlock");
    }
}

/// The other warp must see the `mbarrier` before it waits.
#[test]
fn an_object_is_initialised_before_others_use_it() {
    let without = load().replacen("bar.sync 0;", "", 1);
    check(&without, 64, "shared-race|bad-mbarrier");
}

/// Stores shared memory to the storage by a bulk copy.
const STORE: &str = "
        st.shared.u32 [%at], %own;
        fence.proxy.async.shared::cta;
        bar.sync 0;
        @%zero cp.async.bulk.global.shared::cta.bulk_group [%out], [%dyn], 256;
        @%zero cp.async.bulk.commit_group;
        @%zero cp.async.bulk.wait_group.read 0; // read
        bar.sync 0; // second
        st.shared.u32 [%at], %result;
        @%zero cp.async.bulk.wait_group 0; // whole
        bar.sync 0; // third
        ld.global.u32 %result, [%word];
        st.global.u32 [%word+1024], %result;";

#[test]
fn a_store_needs_fences_barriers_and_waits() {
    let size = one_block(64);
    check_removal(STORE, size, "fence.proxy.async", "proxy-fence-missing");
    check_removal(STORE, size, "// read", "copy-in-flight|shared-race");
    check_removal(STORE, size, "// second", "copy-in-flight|shared-race");
    check_removal(STORE, size, "// whole", "global-race");
    check_removal(STORE, size, "// third", "global-race");
    check_removal(STORE, size, "cp.async.bulk.commit_group", "copy-in-flight");
    // The first barrier: the copy reads what the other warp writes.
    let without = STORE.replacen("bar.sync 0;", "", 1);
    check(&without, 64, "shared-race|copy-in-flight");
}

/// Warps 0 and 1 exchange words: the first writes, the second reads and answers.
const NAMED: &str = "
        setp.eq.u32 %p0, %warp, 1;
        @%p0 bra second;
        st.shared.u32 [%at], %own;
        barrier.arrive 1, 64; // told
        barrier.sync 2, 64; // answered
        ld.shared.u32 %result, [%at+128];
        bra end;
    second:
        barrier.sync 1, 64; // heard
        ld.shared.u32 %result, [%at+-128];
        st.shared.u32 [%at], %result;
        barrier.arrive 2, 64;
    end:
        st.global.u32 [%word], %result;";

#[test]
fn warps_run_different_code_between_named_barriers() {
    let size = one_block(64);
    check_removal(NAMED, size, "// told", "deadlock");
    check_removal(NAMED, size, "// heard", "shared-race|deadlock");
    check_removal(NAMED, size, "// answered", "shared-race");
    check_removal(NAMED, size, "barrier.arrive 2", "deadlock");
}

/// A ring of one buffer: warp 1 fills it three times, warp 0 reads it.
fn ring() -> String {
    format!(
        "
        @%zero mbarrier.init.shared::cta.b64 [bar], 1;
        @%zero mbarrier.init.shared::cta.b64 [bar+8], 1;
        bar.sync 0;
        mov.u32 %r1, 0;
        mov.u32 %r2, 0;
        setp.eq.u32 %p0, %warp, 1;
        setp.eq.u32 %p1, %own, 32;
        @%p0 bra producer;
    consumer:
        and.b32 %r3, %r1, 1;
        {}
        ld.shared.u32 %r4, [%at];
        add.u32 %result, %result, %r4;
        fence.proxy.async.shared::cta; // reads
        @%zero mbarrier.arrive.shared::cta.b64 _, [bar+8]; // empty
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p3, %r1, 3;
        @%p3 bra consumer;
        bra end;
    producer:
        @!%p1 bra end;
    again:
        xor.b32 %r3, %r1, 1;
        and.b32 %r3, %r3, 1;
        {}
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;
        mul.wide.u32 %d1, %r1, 128;
        add.u64 %d1, %d1, %out;
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%dyn], [%d1], 128, [bar];
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p3, %r1, 3;
        @%p3 bra again;
    end:
        st.global.u32 [%word+1024], %result;",
        wait("bar", "%r3", "full"),
        wait("bar+8", "%r3", "free"),
    )
}

#[test]
fn a_ring_of_buffers_needs_all_its_waits() {
    let size = one_block(64);
    let text = kernel_text(&ring());
    for schedule in SCHEDULES {
        let (outcome, words) = launch(&text, size, schedule);
        let expected: Vec<u32> = (0..32).map(|lane| 3 * lane + 96).collect();
        assert_eq!(words[256..288], expected, "{schedule:?}: {outcome:?}");
    }
    check_removal(&ring(), size, "// empty", "deadlock");
    check_removal(&ring(), size, "// reads", "proxy-fence-missing");
    check_removal(
        &ring(),
        size,
        "// wait full",
        "copy-in-flight|deadlock|bad-mbarrier",
    );
    check_removal(
        &ring(),
        size,
        "// wait free",
        "copy-in-flight|shared-race|deadlock|bad-mbarrier|mbarrier-reused",
    );
}

#[test]
fn a_phase_must_not_be_overrun() {
    // Warp 1 completes two phases. The barrier with warp 2 makes it likely that warp 0 sees the first one.
    let body = |order: &str| {
        format!(
            "
        @%zero mbarrier.init.shared::cta.b64 [bar], 1;
        bar.sync 0;
        setp.eq.u32 %p0, %warp, 0;
        setp.eq.u32 %p1, %own, 32;
        @%p0 bra waits;
        @%p1 mbarrier.arrive.shared::cta.b64 _, [bar];
        barrier.sync 1, {order};
        @%p1 mbarrier.arrive.shared::cta.b64 _, [bar];
        bra end;
    waits:
        {}
        {}
    end:
        mov.u32 %result, 1;",
            wait("bar", "0", "first"),
            if order == "96" { "barrier.sync 1, 96;" } else { "" },
        )
    };
    check(&body("96"), 96, "");
    check(&body("64"), 96, "mbarrier-reused|deadlock");
}

#[test]
fn a_deadlock_names_what_each_warp_waits_for() {
    let body = format!(
        "
        @%zero mbarrier.init.shared::cta.b64 [bar], 1;
        @%zero mbarrier.init.shared::cta.b64 [bar+8], 2;
        bar.sync 0;
        setp.eq.u32 %p1, %own, 32;
        @%p1 mbarrier.arrive.shared::cta.b64 _, [bar+8];
        setp.eq.u32 %p0, %warp, 1;
        @%p0 bra other;
        {}
        @%zero mbarrier.arrive.shared::cta.b64 _, [bar+8];
        bra end;
    other:
        {}
        @%p1 mbarrier.arrive.shared::cta.b64 _, [bar];
    end:
        bar.sync 0;",
        wait("bar", "0", "first"),
        wait("bar+8", "0", "second"),
    );
    let (outcome, _) = launch(&kernel_text(&body), one_block(96), Schedule::Latest);
    let LaunchOutcome::Trapped(trap) = outcome else {
        panic!("{outcome:?}")
    };
    insta::assert_snapshot!(trap.kind);
}

/// Each block writes its word, and reads that of the other one.
const CLUSTER: &str = "
        mov.u32 %r1, %cluster_ctarank;
        mul.lo.u32 %r2, %r1, 100;
        add.u32 %r2, %r2, %own;
        st.shared.u32 [%at], %r2;
        barrier.cluster.arrive.aligned; // arrives
        barrier.cluster.wait.aligned; // waits
        xor.b32 %r3, %r1, 1;
        mapa.shared::cluster.u32 %r4, %at, %r3;
        ld.shared::cluster.u32 %result, [%r4];
        barrier.cluster.arrive.aligned; // second
        barrier.cluster.wait.aligned; // exits
        mul.wide.u32 %d1, %r1, 256;
        add.u64 %d1, %word, %d1;
        st.global.u32 [%d1], %result;";

#[test]
fn blocks_of_a_cluster_share_memory() {
    let size = Size {
        threads: 64,
        blocks: 2,
    };
    let text = kernel_text(CLUSTER);
    for schedule in SCHEDULES {
        let (_, words) = launch(&text, size, schedule);
        let expected: Vec<u32> = (0..128)
            .map(|at| at % 64 + if at < 64 { 100 } else { 0 })
            .collect();
        assert_eq!(words[..128], expected, "{schedule:?}");
    }
    check_removal(CLUSTER, size, "// waits", "shared-race");
    let kept = |line: &&str| !line.contains("// second") && !line.contains("// exits");
    let without: Vec<&str> = CLUSTER.lines().filter(kept).collect();
    check_on(&without.join("\n"), size, "cluster-exit");
}

/// As Triton does: without the lowest bit of its rank, an address is in the first of two blocks.
#[test]
fn an_address_has_the_rank_of_its_block() {
    let body = "
        setp.eq.u32 %p0, %cluster_ctarank, 1;
        and.b32 %r1, %at, 0xfeffffff;
        @%p0 st.shared::cluster.u32 [%r1], %own;
        barrier.cluster.arrive.aligned;
        barrier.cluster.wait.aligned;
        @!%p0 ld.shared.u32 %result, [%at];
        @!%p0 st.global.u32 [%word+512], %result;";
    let (outcome, words) = launch(
        &kernel_text(body),
        Size {
            threads: 32,
            blocks: 2,
        },
        Schedule::Latest,
    );
    assert_eq!(describe_codes(&outcome), "");
    assert_eq!(words[128..160], (0..32).collect::<Vec<u32>>());
}

/// A product whose left operand is in registers.
fn product() -> String {
    let sums: Vec<String> = (0..4).map(|nth| format!("%f{nth}")).collect();
    let clears: Vec<String> = sums
        .iter()
        .map(|sum| format!("mul.f32 {sum}, {sum}, 0f00000000;"))
        .collect();
    format!(
        "
        mov.b32 %f0, 0; mov.b32 %f1, 0; mov.b32 %f2, 0; mov.b32 %f3, 0;
        {clears}
        st.shared.u32 [%at], %own;
        st.shared.u32 [%at+512], %own;
        fence.proxy.async.shared::cta;
        bar.sync 0;
        cvt.u64.u32 %d1, %dyn;
        shr.u64 %d1, %d1, 4;
        mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0;
        wgmma.fence.sync.aligned; // order
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{sums}}}, {{%r4,%r5,%r6,%r7}}, %d1, 1, 1, 1, 0;
        wgmma.commit_group.sync.aligned; // group
        wgmma.wait_group.sync.aligned 0; // product
        add.f32 %result, %f0, %f1;
        bar.sync 0; // reuse
        st.shared.u32 [%at], %result;
        st.global.u32 [%word], %result;",
        sums = sums.join(","),
        clears = clears.join("\n"),
    )
}

#[test]
fn a_product_owns_its_registers_until_the_wait() {
    let size = one_block(128);
    check_removal(&product(), size, "// order", "accumulator-in-flight");
    check_removal(&product(), size, "// group", "accumulator-in-flight");
    check_removal(&product(), size, "// product", "accumulator-in-flight");
    check_removal(&product(), size, "fence.proxy.async", "proxy-fence-missing");
}

#[test]
fn reports_name_both_sides_and_what_orders_them() {
    let removals: [(&str, &str, u32); 6] = [
        (&load(), "// wait arrived", 32),
        (STORE, "fence.proxy.async", 64),
        (STORE, "// read", 64),
        (STORE, "// whole", 64),
        (&product(), "// order", 128),
        (&product(), "// product", 128),
    ];
    let mut report = Vec::new();
    for (body, removed, threads) in removals {
        let without: Vec<&str> = body.lines().filter(|line| !line.contains(removed)).collect();
        let text = kernel_text(&without.join("\n"));
        let LaunchOutcome::Finished(finished) = launch(&text, one_block(threads), Schedule::Latest).0 else {
            panic!("it finishes")
        };
        report.extend(
            finished
                .findings
                .iter()
                .map(|finding| format!("{}: {finding}", finding.kind.code())),
        );
    }
    insta::assert_snapshot!(report.join("\n"));
}

#[test]
fn the_address_of_a_parameter_may_have_32_bits() {
    let body = "
        mov.b32 %r1, out;
        ld.param.u64 %d1, [%r1];
        setp.eq.u64 %p0, %d1, %out;
        selp.b32 %result, 1, 2, %p0;
        st.global.u32 [%word], %result;";
    let (outcome, words) = launch(&kernel_text(body), one_block(32), Schedule::Latest);
    assert_eq!(describe_codes(&outcome), "");
    assert_eq!(words[..32], [1; 32]);
}

/// As an H200 does: the first of the rows that are stored to one address stays.
#[test]
fn rows_of_one_address_leave_the_first() {
    let body = "
        mov.u32 %r1, %dyn;
        shr.u32 %r2, %own, 2;
        stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};
        bar.sync 0;
        ld.shared.u32 %result, [%dyn];
        st.global.u32 [%word], %result;";
    let (outcome, words) = launch(&kernel_text(body), one_block(32), Schedule::Latest);
    assert_eq!(describe_codes(&outcome), "");
    assert_eq!(words[..32], [0; 32]);
}
