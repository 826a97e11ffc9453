#loc = loc("/kernels/control_flow/outside.py":70:0)
"builtin.module"() ({
  "tt.func"() <{arg_attrs = [{tt.divisibility = 16 : i32}], function_type = (!tt.ptr<i32>) -> (), sym_name = "if_block_kernel", sym_visibility = "public"}> ({
  ^bb0(%arg0: !tt.ptr<i32> loc("/kernels/control_flow/outside.py":70:0)):
    %0 = "tt.make_range"() <{end = 4 : i32, start = 0 : i32}> : () -> tensor<4xi32> loc(#loc1)
    %1 = "arith.constant"() <{value = 100 : i32}> : () -> i32 loc(#loc2)
    %2 = "arith.constant"() <{value = dense<100> : tensor<4xi32>}> : () -> tensor<4xi32> loc(#loc2)
    %3 = "arith.cmpi"(%0, %2) <{predicate = 4 : i64}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1> loc(#loc2)
    "scf.if"(%3) ({
      %4 = "tt.splat"(%arg0) : (!tt.ptr<i32>) -> tensor<4x!tt.ptr<i32>> loc(#loc4)
      %5 = "tt.addptr"(%4, %0) : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4x!tt.ptr<i32>> loc(#loc4)
      %6 = "arith.constant"() <{value = 1 : i32}> : () -> i32 loc(#loc5)
      %7 = "arith.constant"() <{value = dense<1> : tensor<4xi32>}> : () -> tensor<4xi32> loc(#loc5)
      "tt.store"(%5, %7) <{boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32}> : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> () loc(#loc5)
      "scf.yield"() : () -> () loc(#loc3)
    }, {
      "scf.yield"() : () -> () loc(#loc3)
    }) : (tensor<4xi1>) -> () loc(#loc3)
    "tt.return"() : () -> () loc(#loc6)
  }) {noinline = false} : () -> () loc(#loc)
}) : () -> () loc(#loc)
#loc1 = loc("/kernels/control_flow/outside.py":71:21)
#loc2 = loc("/kernels/control_flow/outside.py":72:11)
#loc3 = loc("/kernels/control_flow/outside.py":72:7)
#loc4 = loc("/kernels/control_flow/outside.py":73:23)
#loc5 = loc("/kernels/control_flow/outside.py":73:26)
#loc6 = loc("/kernels/control_flow/outside.py":72:4)
