// C interface of the column-blocked residual; see strip_kernels.h.

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

// Allocates an uninitialized buffer on first use.
template <class T> T* allocate_once(std::unique_ptr<T[]>& buffer, int64_t size) {
  if (!buffer) buffer.reset(new T[size]);
  return buffer.get();
}

// Sorts the entries of each block by strips, in place; columns become packed indices, and `starts` is filled.
template <class T>
void stripe(int threads, const Strips& all, const int64_t* indptr, uint32_t* columns, T* data, int64_t* starts) {
  int64_t max_entries = 0;
  for (int64_t b = 0; b < all.blocks; ++b)
    max_entries = std::max(max_entries, indptr[all.rows[b + 1]] - indptr[all.rows[b]]);
  threads = std::max(1, std::min(threads, static_cast<int>(all.blocks / 8)));  // copy at most an eighth of the entries
  struct Sorted {
    std::unique_ptr<uint32_t[]> packed;
    std::unique_ptr<T[]> values;
  };
  std::vector<Sorted> sorted(threads);  // one per thread: new memory for each block would be slower
  parallel_for(all.blocks, threads, [&](int64_t b, int thread) {
    uint32_t* packed = allocate_once(sorted[thread].packed, max_entries);
    T* values = allocate_once(sorted[thread].values, max_entries);
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
        packed[to] = static_cast<uint32_t>(i - first) << all.bits | (columns[q] & mask);
        values[to] = data[q];
      }
    std::copy(packed, packed + (end - begin), columns + begin);
    std::copy(values, values + (end - begin), data + begin);
  });
}

// Returns the blocks of one shard; `blocks` holds the first block of each shard, and the end of the last.
Strips shard_strips(const Strips& all, const int64_t* blocks, int64_t shard) {
  return {blocks[shard + 1] - blocks[shard], all.rows + blocks[shard], all.strips, all.bits};
}

template <class T>
void sweep(int isa, const Strips& all, const int64_t* blocks, const int64_t* starts, const uint32_t* packed_indices,
           const T* data, const SweepArguments<T>& arguments) {
  const StripKernels<T> kernels = BOOSTNE_FOR_ISA(isa, strip_kernels<T>());
  sweep_shards(arguments, [&](int64_t shard, const SweepFactors<T>& factors) {
    const Strips layout = shard_strips(all, blocks, shard);
    int64_t max_rows = 0;
    for (int64_t b = 0; b < layout.blocks; ++b) max_rows = std::max(max_rows, layout.rows[b + 1] - layout.rows[b]);
    std::vector<T> scratch(strip_scratch_size(max_rows, factors.width));
    kernels.sweep({layout, starts + blocks[shard] * (all.strips + 1), packed_indices, data, factors, scratch.data()});
  });
}

template <class T>
void deflate(int isa, int threads, int64_t shards, const Strips& all, const int64_t* blocks, int64_t* starts,
             uint32_t* packed_indices, T* data, int64_t width, const T* U, const T* V, double* norm2) {
  const StripKernels<T> kernels = BOOSTNE_FOR_ISA(isa, strip_kernels<T>());
  parallel_for(shards, threads, [&](int64_t shard, int) {
    norm2[shard] = 0;
    kernels.deflate({shard_strips(all, blocks, shard), starts + blocks[shard] * (all.strips + 1), packed_indices, data,
                     width, U, V, norm2 + shard});
  });
}

}  // namespace
}  // namespace boostne

#define BOOSTNE_FOR_TYPE(T, SUFFIX)                                                                                    \
  BOOSTNE_API int boostne_stripe_##SUFFIX(int isa, int threads, int64_t n_blocks, const int64_t* rows, int64_t strips, \
                                          int bits, const int64_t* indptr, uint32_t* columns, T* data,                 \
                                          int64_t* starts) {                                                           \
    return boostne::guarded([&] {                                                                                      \
      (void)isa;                                                                                                       \
      boostne::stripe(threads, {n_blocks, rows, strips, bits}, indptr, columns, data, starts);                         \
    });                                                                                                                \
  }                                                                                                                    \
  BOOSTNE_API int boostne_sweep_column_blocked_##SUFFIX(                                                               \
      int isa, int threads, int64_t first, int64_t shards, const int64_t* blocks, const int64_t* rows, int64_t strips, \
      int bits, const int64_t* starts, const uint32_t* packed_indices, const T* data, int64_t n_columns,               \
      int64_t width, int inner, double dead, const T* V, const double* gram_v, T* U, T* partials, double* grams,       \
      int64_t buffers, T* scratch) {                                                                                   \
    return boostne::guarded([&] {                                                                                      \
      boostne::sweep<T>(                                                                                               \
          isa, {blocks[shards], rows, strips, bits}, blocks, starts, packed_indices, data,                             \
          {threads, first, shards, n_columns, width, inner, dead, V, gram_v, U, partials, grams, buffers, scratch});   \
    });                                                                                                                \
  }                                                                                                                    \
  BOOSTNE_API int boostne_deflate_column_blocked_##SUFFIX(                                                             \
      int isa, int threads, int64_t shards, const int64_t* blocks, const int64_t* rows, int64_t strips, int bits,      \
      int64_t* starts, uint32_t* packed_indices, T* data, int64_t width, const T* U, const T* V, double* norm2) {      \
    return boostne::guarded([&] {                                                                                      \
      boostne::deflate<T>(isa, threads, shards, {blocks[shards], rows, strips, bits}, blocks, starts, packed_indices,  \
                          data, width, U, V, norm2);                                                                   \
    });                                                                                                                \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)
