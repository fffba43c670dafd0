// The widest instruction set of this CPU, found by the CPUID instruction: __builtin_cpu_supports does not link with
// clang-cl, which leaves out compiler-rt.
#pragma once

#include "isa.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <cpuid.h>
#endif

namespace boostne {

#if defined(__x86_64__) || defined(_M_X64)

// Bits of the register XCR0: vector state that the operating system saves.
constexpr unsigned kSavesYmm = 0x06, kSavesZmm = 0xe6;

inline Isa best_isa() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_FMA) || !(c & bit_OSXSAVE)) return kBaseline;
  unsigned saved, high;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
#if defined(__APPLE__)
  saved |= kSavesZmm & ~kSavesYmm;  // set by macOS when a thread first uses the registers
#endif
  if ((saved & kSavesYmm) != kSavesYmm || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return kBaseline;
  const unsigned avx512 = bit_AVX512F | bit_AVX512VL;
  return (saved & kSavesZmm) == kSavesZmm && (b & avx512) == avx512 ? kAvx512 : kAvx2;
}

#else

inline Isa best_isa() { return kBaseline; }

#endif

}  // namespace boostne
