#loc = loc("/kernels/control_flow/calls.py":66:0)
#loc4 = loc("/kernels/control_flow/calls.py":23:0)
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}], function_type = (!tt.ptr<i32>, i32) -> (), sym_name = "sign_kernel", sym_visibility = "public"}> ({
  ^bb0(%arg1: !tt.ptr<i32> loc("/kernels/control_flow/calls.py":66:0), %arg2: i32 loc("/kernels/control_flow/calls.py":66:0)):
    %7 = "tt.call"(%arg2) <{callee = @sign__i32__}> : (i32) -> i32 loc(#loc1)
    "tt.store"(%arg1, %7) <{boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32}> : (!tt.ptr<i32>, i32) -> () loc(#loc2)
    "tt.return"() : () -> () loc(#loc3)
  }) {noinline = false} : () -> () loc(#loc)
  "tt.func"() <{function_type = (i32) -> i32, sym_name = "sign__i32__", sym_visibility = "private"}> ({
  ^bb0(%arg0: i32 loc("/kernels/control_flow/calls.py":23:0)):
    %0 = "arith.constant"() <{value = 0 : i32}> : () -> i32 loc(#loc5)
    %1 = "arith.cmpi"(%arg0, %0) <{predicate = 4 : i64}> : (i32, i32) -> i1 loc(#loc5)
    "cf.cond_br"(%1)[^bb1, ^bb2] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> () loc(#loc5)
  ^bb1:  // pred: ^bb0
    %2 = "arith.constant"() <{value = 1 : i32}> : () -> i32 loc(#loc6)
    "tt.return"(%2) : (i32) -> () loc(#loc6)
  ^bb2:  // pred: ^bb0
    %3 = "arith.constant"() <{value = 0 : i32}> : () -> i32 loc(#loc7)
    %4 = "arith.cmpi"(%arg0, %3) <{predicate = 2 : i64}> : (i32, i32) -> i1 loc(#loc7)
    "cf.cond_br"(%4)[^bb4, ^bb5] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> () loc(#loc7)
  ^bb3:  // no predecessors
  ^bb4:  // pred: ^bb2
    %5 = "arith.constant"() <{value = -1 : i32}> : () -> i32 loc(#loc8)
    "tt.return"(%5) : (i32) -> () loc(#loc8)
  ^bb5:  // pred: ^bb2
    %6 = "arith.constant"() <{value = 0 : i32}> : () -> i32 loc(#loc9)
    "tt.return"(%6) : (i32) -> () loc(#loc9)
  }) {noinline = false} : () -> () loc(#loc4)
}) : () -> () loc(#loc)
#loc1 = loc("/kernels/control_flow/calls.py":67:23)
#loc2 = loc("/kernels/control_flow/calls.py":67:18)
#loc3 = loc("/kernels/control_flow/calls.py":67:4)
#loc5 = loc("/kernels/control_flow/calls.py":24:11)
#loc6 = loc("/kernels/control_flow/calls.py":25:15)
#loc7 = loc("/kernels/control_flow/calls.py":26:13)
#loc8 = loc("/kernels/control_flow/calls.py":27:15)
#loc9 = loc("/kernels/control_flow/calls.py":29:15)
