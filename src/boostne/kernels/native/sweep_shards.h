// The fused pass over all shards: shards are distributed to threads, and their results are added in a fixed order.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "parallel.h"
#include "row_kernels.h"
#include "shard_tree.h"
#include "tiles.h"

namespace boostne {

// A Gram matrix in the factors' precision and the reciprocals of its diagonal. A component is dead, with reciprocal 0,
// if its diagonal entry is at most `dead` times the largest one.
template <class T> struct Gram {
  std::vector<T> matrix, inverse;
  Gram(const double* gram, int64_t width, double dead) : matrix(gram, gram + width * width), inverse(width) {
    double largest = 0;
    for (int64_t c = 0; c < width; ++c)
      if (gram[c * width + c] > largest) largest = gram[c * width + c];
    for (int64_t c = 0; c < width; ++c) {
      const double g = gram[c * width + c];
      inverse[c] = g > dead * largest ? static_cast<T>(1.0 / g) : T(0);
    }
  }
};

template <class T> struct SweepArguments {
  int threads;
  int64_t first, shards;  // number of the first shard in the whole matrix, and number of shards
  int64_t n_columns, width;
  int inner;
  double dead;  // see Gram
  const T* V;
  const double* gram_v;
  T* U;
  T* partials;      // sums of the complete nodes of the tree
  double* grams;    // U^T U of each shard
  T* tiles;         // for a copy of V; null if V has a single tile, which needs none
  int64_t buffers;  // accumulators that the tree needs
};

// Returns V as tiles.
template <class T> const T* tiled_v(const SweepArguments<T>& a) {
  if (!a.tiles) return a.V;
  copy_tiled(a.V, a.n_columns, a.width, a.tiles);
  return a.tiles;
}

// Calls run(shard, factors) for each shard; `accumulators` has the size of `a.buffers` times C.
template <class T, class Run> void sweep_shards(const SweepArguments<T>& a, T* accumulators, const Run& run) {
  const Gram<T> gram(a.gram_v, a.width, a.dead);
  const int64_t size = a.n_columns * a.width, square = a.width * a.width;
  const T* V = tiled_v(a);
  std::memset(a.grams, 0, sizeof(double) * a.shards * square);
  ShardTree<T> tree(accumulators, a.buffers, size);
  parallel_for_in_order(a.shards, a.threads, [&](int64_t shard, int, Tasks& tasks) {
    T* C = tree.acquire();
    std::memset(C, 0, sizeof(T) * size);
    run(shard, SweepFactors<T>{a.n_columns, a.width, a.inner, V, gram.matrix.data(), gram.inverse.data(), a.U, C,
                               a.grams + shard * square});
    tasks.run_in_order(shard, [&] { tree.add(a.first + shard, C); });
  });
  for (int64_t p = 0; p < tree.size(); ++p) copy_untiled(tree.sum(p), a.n_columns, a.width, a.partials + p * size);
}

}  // namespace boostne
