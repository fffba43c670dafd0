// Instruction sets that the hot loops are compiled for, and run-time dispatch between them.
//
// The same source is compiled once per instruction set, each time in a namespace named after it.
#pragma once

namespace boostne {

enum Isa { kBaseline = 0, kAvx2 = 1, kAvx512 = 2 };  // in the order of INSTRUCTION_SETS in bindings.py

}  // namespace boostne

// Declares a function in the namespace of each instruction set.
#define BOOSTNE_DECLARE_FOR_EACH_ISA(...) \
  namespace baseline {                    \
  __VA_ARGS__;                            \
  }                                       \
  namespace avx2 {                        \
  __VA_ARGS__;                            \
  }                                       \
  namespace avx512 {                      \
  __VA_ARGS__;                            \
  }

// Selects the function, or the result of the call, for an instruction set.
#if defined(__x86_64__) || defined(_M_X64)
#define BOOSTNE_FOR_ISA(isa, ...) \
  ((isa) == kAvx512 ? avx512::__VA_ARGS__ : (isa) == kAvx2 ? avx2::__VA_ARGS__ : baseline::__VA_ARGS__)
#else
#define BOOSTNE_FOR_ISA(isa, ...) ((void)(isa), baseline::__VA_ARGS__)
#endif
