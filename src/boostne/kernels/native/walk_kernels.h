// Dense walk kernels: columns of sums of powers of S = D^-1 A, and their logarithms.
#pragma once

#include <cstdint>

#include "isa.h"

namespace boostne {

constexpr int64_t kBlockColumns = 16;  // columns of X computed together: one cache line of float32

template <class T> struct WalkEdges {
  const int64_t* indptr;
  const int32_t* indices;
  const T* weights;  // nullptr: all weights are 1
};

template <class T> struct WalkColumns {  // `columns` columns of S + S^2 + ... + S^T, by Horner's rule, or of S^T alone
  WalkEdges<T> edges;                    // of A
  WalkEdges<T> reversed;                 // of the transpose of A: the same arrays if A is symmetric
  const T* inverse_degree;
  int64_t n;
  int64_t first, columns;
  int window;       // T
  bool cumulative;  // whether to add the walks shorter than T
  T* block;         // output, n by kBlockColumns
  T* buffer;        // same size as block
};

template <class T> struct TruncatedLog {  // column c of the block becomes row c of X: log(scale * entry) where positive
  const T* block;
  int64_t n;
  int64_t columns;
  const T* scale;
  const T* row_scale;  // additional scale of the block's rows; nullptr: 1
  int32_t* indices;    // columns by n
  T* data;
  int64_t* counts;
};

template <class T> struct WalkKernels {
  void (*walk_columns)(const WalkColumns<T>&);
  void (*truncated_log)(const TruncatedLog<T>&);
};

BOOSTNE_DECLARE_FOR_EACH_ISA(template <class T> WalkKernels<T> walk_kernels())

}  // namespace boostne
