// The fused pass over all shards: threads take one after the other, and sums are added in a fixed order.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "parallel.h"
#include "row_kernels.h"
#include "shard_tree.h"
#include "tiles.h"

namespace boostne {

// A Gram matrix in the factors' precision, with the reciprocals of its diagonal (0: a dead component).
template <class T>
struct Gram {
  std::vector<T> matrix, inverse;
  Gram(const double* gram, int64_t width) : matrix(gram, gram + width * width), inverse(width) {
    double largest = 0;
    for (int64_t c = 0; c < width; ++c)
      if (gram[c * width + c] > largest) largest = gram[c * width + c];
    for (int64_t c = 0; c < width; ++c) {
      const double g = gram[c * width + c];
      inverse[c] = g > 1e-12 * largest ? static_cast<T>(1.0 / g) : T(0);
    }
  }
};

template <class T>
struct SweepArguments {
  int threads;
  int64_t first, shards;  // number of the first shard in the whole matrix, and how many are here
  int64_t n_columns, width;
  int inner;
  const T* V;
  const double* gram_v;
  T* U;
  T* parts;         // the nodes of the tree that these shards fill
  double* grams;    // U^T U of each shard
  int64_t buffers;  // accumulators, in the scratch behind the tiled V
  T* scratch;
};

// Calls run(shard, factors) for each shard.
template <class T, class Run>
void sweep_shards(const SweepArguments<T>& a, const Run& run) {
  const Gram<T> gram(a.gram_v, a.width);
  const int64_t size = a.n_columns * a.width, square = a.width * a.width;
  T* tiled_v = a.scratch;
  copy_tiled(a.V, a.n_columns, a.width, tiled_v);
  std::memset(a.grams, 0, sizeof(double) * a.shards * square);
  ShardTree<T> tree(a.scratch + size, a.buffers, size);
  Turnstile turnstile;
  parallel_for(a.shards, a.threads, [&](int64_t shard, int) {
    T* mine = tree.take();
    std::memset(mine, 0, sizeof(T) * size);
    run(shard, SweepFactors<T>{a.n_columns, a.width, a.inner, tiled_v, gram.matrix.data(), gram.inverse.data(), a.U,
                               mine, a.grams + shard * square});
    turnstile.in_turn(shard, [&] { tree.put(a.first + shard, mine); });
  });
  for (int64_t p = 0; p < tree.size(); ++p) copy_untiled(tree.sum(p), a.n_columns, a.width, a.parts + p * size);
}

}  // namespace boostne
