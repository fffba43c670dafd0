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

constexpr int64_t kRangesPerThread = 8;  // the accumulators of a pass are then a fraction of C

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

// Updates U, each block of rows on one thread, and adds up the Gram matrices of the blocks of each shard.
template <class T>
void update_rows(const StripKernels<T>& kernels, const StripEntries<T>& all, const int64_t* blocks,
                 const SweepArguments<T>& a) {
  const Strips& layout = all.layout;
  const Gram<T> gram(a.gram_v, a.width, a.dead);
  const int64_t square = a.width * a.width;
  const T* V = tiled_v(a);
  int64_t max_rows = 0;
  for (int64_t b = 0; b < layout.blocks; ++b) max_rows = std::max(max_rows, layout.rows[b + 1] - layout.rows[b]);
  std::vector<double> grams(layout.blocks * square);
  std::vector<std::unique_ptr<T[]>> scratch(std::max(a.threads, 1));
  parallel_for(layout.blocks, a.threads, [&](int64_t b, int thread) {
    kernels.update({{{1, layout.rows + b, layout.strips, layout.bits},
                     all.starts + b * (layout.strips + 1),
                     all.packed_indices,
                     all.data},
                    {a.n_columns, a.width, a.inner, V, gram.matrix.data(), gram.inverse.data(), a.U, nullptr,
                     grams.data() + b * square},
                    allocate_once(scratch[thread], strip_scratch_size(max_rows, a.width))});
  });
  std::fill(a.grams, a.grams + a.shards * square, 0.0);
  for (int64_t shard = 0; shard < a.shards; ++shard)
    for (int64_t i = blocks[shard] * square; i < blocks[shard + 1] * square; ++i)
      a.grams[shard * square + i % square] += grams[i];
}

// Computes C = R^T U. Threads take ranges of strips and so need accumulators for these columns only.
template <class T>
void scatter_columns(const StripKernels<T>& kernels, const StripEntries<T>& all, const int64_t* blocks,
                     const SweepArguments<T>& a) {
  const Strips& layout = all.layout;
  const int64_t ranges = std::min(layout.strips, kRangesPerThread * std::max(a.threads, 1));
  const int64_t max_columns = (layout.strips / ranges + 1) << layout.bits;
  std::vector<std::unique_ptr<T[]>> accumulators(std::max(a.threads, 1));
  parallel_for(ranges, a.threads, [&](int64_t range, int thread) {
    const int64_t first = layout.strips * range / ranges, last = layout.strips * (range + 1) / ranges;
    const int64_t begin = first << layout.bits, columns = std::min(last << layout.bits, a.n_columns) - begin;
    const int64_t size = columns * a.width;
    T* buffers = allocate_once(accumulators[thread], a.buffers * max_columns * a.width);
    ShardTree<T> tree(buffers, a.buffers, size);
    for (int64_t shard = 0; shard < a.shards; ++shard) {
      T* C = tree.acquire();
      std::fill(C, C + size, T(0));
      kernels.scatter({{shard_strips(layout, blocks, shard), all.starts + blocks[shard] * (layout.strips + 1),
                        all.packed_indices, all.data},
                       first,
                       last,
                       columns,
                       a.width,
                       a.U,
                       C});
      tree.add(a.first + shard, C);
    }
    for (int64_t p = 0; p < tree.size(); ++p)
      copy_untiled(tree.sum(p), columns, a.width, a.partials + (p * a.n_columns + begin) * a.width);
  });
}

template <class T>
void sweep(int isa, const StripEntries<T>& all, const int64_t* blocks, const SweepArguments<T>& arguments) {
  const StripKernels<T> kernels = BOOSTNE_FOR_ISA(isa, strip_kernels<T>());
  update_rows(kernels, all, blocks, arguments);
  scatter_columns(kernels, all, blocks, arguments);
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
      T* tiles, int64_t buffers) {                                                                                     \
    return boostne::guarded([&] {                                                                                      \
      boostne::sweep<T>(                                                                                               \
          isa, {{blocks[shards], rows, strips, bits}, starts, packed_indices, data}, blocks,                           \
          {threads, first, shards, n_columns, width, inner, dead, V, gram_v, U, partials, grams, tiles, buffers});     \
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
