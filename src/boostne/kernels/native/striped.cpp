// The C ABI of a residual in strips; see strip_kernels.h.

#include <algorithm>
#include <memory>
#include <vector>

#include "api.h"
#include "isa.h"
#include "parallel.h"
#include "strip_kernels.h"
#include "sweep_shards.h"

namespace boostne {
namespace {

template <class T>
StripKernels<T> strip_kernels_for(int isa) {
#if defined(__x86_64__) || defined(_M_X64)
  if (isa == kAvx512) return avx512::strip_kernels<T>();
  if (isa == kAvx2) return avx2::strip_kernels<T>();
#endif
  (void)isa;
  return baseline::strip_kernels<T>();
}

// Room for so many, made when first asked for.
template <class T>
T* kept(std::unique_ptr<T[]>& room, int64_t size) {
  if (!room) room.reset(new T[size]);
  return room.get();
}

// Sorts the entries of each block by their strips, in place; columns become places, and `starts` is filled.
template <class T>
void stripe(int threads, const Strips& all, const int64_t* indptr, int32_t* columns, T* data, int64_t* starts) {
  int64_t most = 0;
  for (int64_t b = 0; b < all.blocks; ++b) most = std::max(most, indptr[all.rows[b + 1]] - indptr[all.rows[b]]);
  threads = std::max(1, std::min(threads, static_cast<int>(all.blocks / 8)));  // copies of an eighth, not of all
  struct Sorted {
    std::unique_ptr<uint32_t[]> places;
    std::unique_ptr<T[]> values;
  };
  std::vector<Sorted> sorted(threads);  // one a thread: fresh memory for each block would cost more
  parallel_for(all.blocks, threads, [&](int64_t b, int thread) {
    uint32_t* places = kept(sorted[thread].places, most);
    T* values = kept(sorted[thread].values, most);
    const int64_t first = all.rows[b], last = all.rows[b + 1], begin = indptr[first], end = indptr[last];
    int64_t* start = starts + b * (all.strips + 1);
    std::fill(start, start + all.strips + 1, 0);
    for (int64_t q = begin; q < end; ++q) ++start[(columns[q] >> all.bits) + 1];
    start[0] = begin;
    for (int64_t t = 0; t < all.strips; ++t) start[t + 1] += start[t];
    std::vector<int64_t> next(start, start + all.strips);
    const uint32_t mask = (uint32_t(1) << all.bits) - 1;
    for (int64_t i = first; i < last; ++i)
      for (int64_t q = indptr[i]; q < indptr[i + 1]; ++q) {
        const int64_t to = next[columns[q] >> all.bits]++ - begin;
        places[to] = static_cast<uint32_t>(i - first) << all.bits | (static_cast<uint32_t>(columns[q]) & mask);
        values[to] = data[q];
      }
    std::copy(places, places + (end - begin), reinterpret_cast<uint32_t*>(columns) + begin);
    std::copy(values, values + (end - begin), data + begin);
  });
}

// The blocks of one shard, of all of them; `blocks` has the first of each shard, and the one behind the last.
Strips of_shard(const Strips& all, const int64_t* blocks, int64_t shard) {
  return {blocks[shard + 1] - blocks[shard], all.rows + blocks[shard], all.strips, all.bits};
}

template <class T>
void sweep(int isa, const Strips& all, const int64_t* blocks, const int64_t* starts, const uint32_t* places,
           const T* data, const SweepArguments<T>& arguments) {
  const StripKernels<T> kernels = strip_kernels_for<T>(isa);
  sweep_shards(arguments, [&](int64_t shard, const SweepFactors<T>& factors) {
    const Strips mine = of_shard(all, blocks, shard);
    int64_t most = 0;
    for (int64_t b = 0; b < mine.blocks; ++b) most = std::max(most, mine.rows[b + 1] - mine.rows[b]);
    std::vector<T> scratch(strip_scratch_size(most, factors.width));
    kernels.sweep({mine, starts + blocks[shard] * (all.strips + 1), places, data, factors, scratch.data()});
  });
}

template <class T>
void deflate(int isa, int threads, int64_t shards, const Strips& all, const int64_t* blocks, int64_t* starts,
             uint32_t* places, T* data, int64_t width, const T* U, const T* V, double* norm2) {
  const StripKernels<T> kernels = strip_kernels_for<T>(isa);
  parallel_for(shards, threads, [&](int64_t shard, int) {
    norm2[shard] = 0;
    kernels.deflate({of_shard(all, blocks, shard), starts + blocks[shard] * (all.strips + 1), places, data, width, U,
                     V, norm2 + shard});
  });
}

}  // namespace
}  // namespace boostne

#define BOOSTNE_STRIPED(T, SUFFIX)                                                                              \
  BOOSTNE_API void boostne_stripe_##SUFFIX(int isa, int threads, int64_t n_blocks, const int64_t* rows,         \
                                           int64_t strips, int bits, const int64_t* indptr, int32_t* columns,   \
                                           T* data, int64_t* starts) {                                          \
    (void)isa;                                                                                                  \
    boostne::stripe(threads, {n_blocks, rows, strips, bits}, indptr, columns, data, starts);                    \
  }                                                                                                             \
  BOOSTNE_API void boostne_sweep_striped_##SUFFIX(                                                              \
      int isa, int threads, int64_t first, int64_t shards, const int64_t* blocks, const int64_t* rows,          \
      int64_t strips, int bits, const int64_t* starts, const uint32_t* places, const T* data,                   \
      int64_t n_columns, int64_t width, int inner, const T* V, const double* gram_v, T* U, T* parts,            \
      double* grams, int64_t buffers, T* scratch) {                                                             \
    boostne::sweep<T>(isa, {blocks[shards], rows, strips, bits}, blocks, starts, places, data,                  \
                      {threads, first, shards, n_columns, width, inner, V, gram_v, U, parts, grams, buffers,    \
                       scratch});                                                                               \
  }                                                                                                             \
  BOOSTNE_API void boostne_deflate_striped_##SUFFIX(                                                            \
      int isa, int threads, int64_t shards, const int64_t* blocks, const int64_t* rows, int64_t strips,         \
      int bits, int64_t* starts, uint32_t* places, T* data, int64_t width, const T* U, const T* V,              \
      double* norm2) {                                                                                          \
    boostne::deflate<T>(isa, threads, shards, {blocks[shards], rows, strips, bits}, blocks, starts, places,     \
                        data, width, U, V, norm2);                                                              \
  }

BOOSTNE_STRIPED(float, f32)
BOOSTNE_STRIPED(double, f64)
