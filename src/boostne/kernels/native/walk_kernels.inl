// Walk kernels, compiled once per instruction set.
#pragma once

#include <math.h>
#include <string.h>

#include "vectors.inl"
#include "walk_kernels.h"

namespace boostne {
namespace BOOSTNE_ISA {
namespace {

inline float natural_log(float x) { return logf(x); }
inline double natural_log(double x) { return log(x); }

// out = S in
template <class T, int L, bool Weighted> inline void walk_step(const WalkColumns<T>& s, const T* in, T* out) {
  using Vec = typename Lanes<T, L>::type;
  constexpr int K = kBlockColumns / L;
  constexpr int Unroll = K == 1 ? 4 : 2;
  for (int64_t i = 0; i < s.n; ++i) {
    Vec acc[Unroll][K];
    for (int u = 0; u < Unroll; ++u)
      for (int k = 0; k < K; ++k) acc[u][k] = Vec{};
    int64_t q = s.edges.indptr[i];
    const int64_t end = s.edges.indptr[i + 1];
    for (; q + Unroll <= end; q += Unroll)
      for (int u = 0; u < Unroll; ++u) {
        const T* row = in + s.edges.indices[q + u] * kBlockColumns;
        for (int k = 0; k < K; ++k)
          acc[u][k] += Weighted ? s.edges.weights[q + u] * load<Vec>(row + k * L) : load<Vec>(row + k * L);
      }
    for (; q < end; ++q) {
      const T* row = in + s.edges.indices[q] * kBlockColumns;
      for (int k = 0; k < K; ++k)
        acc[0][k] += Weighted ? s.edges.weights[q] * load<Vec>(row + k * L) : load<Vec>(row + k * L);
    }
    for (int k = 0; k < K; ++k) {
      Vec sum = acc[0][k];
      for (int u = 1; u < Unroll; ++u) sum += acc[u][k];
      store(out + i * kBlockColumns + k * L, sum * s.inverse_degree[i]);
    }
  }
}

template <class T, int L> void walk_columns(const WalkColumns<T>& s) {
  // The first step needs no product: column c of S is row c of the transpose of A, divided by the degrees.
  const WalkEdges<T>& r = s.reversed;
  T *now = s.window % 2 ? s.block : s.buffer, *next = s.window % 2 ? s.buffer : s.block;
  memset(now, 0, sizeof(T) * s.n * kBlockColumns);
  for (int64_t c = 0; c < s.columns; ++c)
    for (int64_t q = r.indptr[s.first + c]; q < r.indptr[s.first + c + 1]; ++q) {
      const int64_t i = r.indices[q];
      now[i * kBlockColumns + c] = (r.weights ? r.weights[q] : T(1)) * s.inverse_degree[i];
    }
  for (int step = 1; step < s.window; ++step) {
    if (s.cumulative)
      for (int64_t c = 0; c < s.columns; ++c) now[(s.first + c) * kBlockColumns + c] += 1;
    if (s.edges.weights)
      walk_step<T, L, true>(s, now, next);
    else
      walk_step<T, L, false>(s, now, next);
    T* swap = now;
    now = next;
    next = swap;
  }
}

template <class T> void truncated_log(const TruncatedLog<T>& s) {
  for (int64_t c = 0; c < s.columns; ++c) s.counts[c] = 0;
  for (int64_t i = 0; i < s.n; ++i) {
    const T* row = s.block + i * kBlockColumns;
    const T row_scale = s.row_scale ? s.row_scale[i] : T(1);
    for (int64_t c = 0; c < s.columns; ++c) {
      const T value = row[c] * s.scale[c] * row_scale;
      int64_t at = c * s.n + s.counts[c];
      s.indices[at] = static_cast<int32_t>(i);
      s.data[at] = value;
      s.counts[c] += value > 1;
    }
  }
  for (int64_t c = 0; c < s.columns; ++c)
    for (int64_t q = c * s.n; q < c * s.n + s.counts[c]; ++q) s.data[q] = natural_log(s.data[q]);
}

}  // namespace

template <> WalkKernels<float> walk_kernels<float>() {
  return {walk_columns<float, kWide<float>>, truncated_log<float>};
}
template <> WalkKernels<double> walk_kernels<double>() {
  return {walk_columns<double, kWide<double>>, truncated_log<double>};
}

}  // namespace BOOSTNE_ISA
}  // namespace boostne
