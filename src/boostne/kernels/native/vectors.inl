// Vector registers of one instruction set.
//
// This and the other .inl files are compiled once per instruction set, with BOOSTNE_ISA (namespace) and BOOSTNE_BYTES
// (register width) defined. They use no inline functions of the standard library: the linker could keep a copy compiled
// for AVX-512 for all callers.
#pragma once

#include "row_kernels.h"

namespace boostne {
namespace BOOSTNE_ISA {
namespace {

// A register of L values. aligned(sizeof(T)): rows of 8 float32 are not 64-byte aligned.
template <class T, int L> struct Lanes {
  typedef T type __attribute__((vector_size(L * sizeof(T)), aligned(sizeof(T)), may_alias));
};

template <class V, class T> inline V load(const T* p) { return *reinterpret_cast<const V*>(p); }
template <class V, class T> inline void store(T* p, V v) { *reinterpret_cast<V*>(p) = v; }

template <int... I> struct Indices {};
template <int N, int... I> struct MakeIndices : MakeIndices<N - 1, N - 1, I...> {};
template <int... I> struct MakeIndices<0, I...> {
  using type = Indices<I...>;
};

template <class T> constexpr int kWide = BOOSTNE_BYTES / sizeof(T);            // values in a full register
template <class T> constexpr int kNarrow = kWide<T> < kPad ? kWide<T> : kPad;  // values per register for narrow factors

// Lane i of the result is a_i + a_{i+Step} if bit Step of i is 0, and b_{i-Step} + b_i if it is 1.
template <int Step, class Vec, int... I> inline Vec add_pairs(Vec a, Vec b, Indices<I...>) {
  constexpr int L = sizeof...(I);
  return __builtin_shufflevector(a, b, (I & Step ? L + I - Step : I)...) +
         __builtin_shufflevector(a, b, (I & Step ? L + I : I + Step)...);
}

// Reduces v[0 .. L) to one register whose lane i is the sum of the lanes of v[i]: a transposed addition tree.
template <class T, int L, int Step> struct SumLanes {
  using Vec = typename Lanes<T, L>::type;
  static inline Vec of(const Vec* v) {
    return add_pairs<Step>(SumLanes<T, L, Step / 2>::of(v), SumLanes<T, L, Step / 2>::of(v + Step),
                           typename MakeIndices<L>::type());
  }
};
template <class T, int L> struct SumLanes<T, L, 0> {
  using Vec = typename Lanes<T, L>::type;
  static inline Vec of(const Vec* v) { return v[0]; }
};

}  // namespace
}  // namespace BOOSTNE_ISA
}  // namespace boostne
