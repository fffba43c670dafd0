// Skip-gram with negative sampling over blocks of pairs, after GraphVite (Zhu et al. 2019): lock-free, with results
// that do not depend on the number of threads.
//
// The nodes are divided into `parts` parts, a power of two. Pairs are generated in shards, and each shard sorts its
// pairs by block (part of the input, part of the output). In round r, thread i trains the block (i, i ^ r). The blocks
// of a round have no rows in common, and neither do their negative samples, which come from the output's part. The rows
// of two parts also fit in the L2 cache.

#include <utility>
#include <vector>

#include "api.h"
#include "isa.h"
#include "parallel.h"
#include "row_kernels.h"
#include "skipgram.h"

namespace boostne {
namespace {

constexpr int64_t kShardPairs = 256;  // approximate number of pairs per shard and part
constexpr int64_t kShards = 64;       // shards per group; one group is in memory at a time

struct SkipGram {
  int64_t parts;
  const int32_t* part;  // of each node
  const int64_t* cuts;  // start of each part in noise
  Noise noise;          // of all parts, concatenated
  int negative;
  int64_t width;
  float *U, *V;

  bool shared() const { return U == V; }
  Noise noise_of(int64_t p) const {
    return {noise.threshold + cuts[p], noise.node + cuts[p], noise.alias + cuts[p], cuts[p + 1] - cuts[p]};
  }
};

// Returns the initial state of an independent random stream for a shard and block.
uint64_t stream(uint64_t seed, int64_t shard, int64_t block) {
  uint64_t state = seed + static_cast<uint64_t>(shard);
  state = next_random(state) + static_cast<uint64_t>(block);
  return next_random(state);
}

// Pairs of nodes within a window on a walk; the window is drawn from 1 … window for each center.
struct Walks {
  const int32_t* walks;  // count by length, padded with -1
  int64_t count, length, window, per_shard;

  Walks(const int32_t* walks, int64_t count, int64_t length, int64_t window, int64_t parts)
      : walks(walks), count(count), length(length), window(window) {
    per_shard = kShardPairs * parts / (length * (window + 1));
    if (per_shard < 1) per_shard = 1;
  }
  int64_t shards() const { return (count + per_shard - 1) / per_shard; }

  template <class Emit> void each(int64_t shard, uint64_t state, const Emit& emit) const {
    const int64_t end = (shard + 1) * per_shard < count ? (shard + 1) * per_shard : count;
    for (int64_t w = shard * per_shard; w < end; ++w) {
      const int32_t* walk = walks + w * length;
      for (int64_t i = 0; i < length && walk[i] >= 0; ++i) {
        const int64_t reach = 1 + scaled_index(next_random(state), window);
        const int64_t first = i < reach ? 0 : i - reach;
        for (int64_t j = first; j <= i + reach && j < length && walk[j] >= 0; ++j)
          if (j != i) emit(walk[j], walk[i]);
      }
    }
  }
};

// Edges drawn by weight.
struct Edges {
  const int32_t *source, *target;
  const uint32_t* threshold;  // nullptr: all weights are equal
  const int32_t* alias;
  int64_t edges, samples, per_shard;

  int64_t shards() const { return (samples + per_shard - 1) / per_shard; }

  template <class Emit> void each(int64_t shard, uint64_t state, const Emit& emit) const {
    const int64_t end = (shard + 1) * per_shard < samples ? (shard + 1) * per_shard : samples;
    for (int64_t q = shard * per_shard; q < end; ++q) {
      const uint64_t random = next_random(state);
      int64_t e = scaled_index(random, edges);
      if (threshold && static_cast<uint32_t>(random) >= threshold[e]) e = alias[e];
      emit(source[e], target[e]);
    }
  }
};

struct Shard {  // pairs sorted by block
  std::vector<std::pair<int32_t, int32_t>> unsorted;
  std::vector<int32_t> pairs;
  std::vector<int64_t> begin;  // of each block, in pairs

  template <class Source> void fill(const SkipGram& model, const Source& source, int64_t shard, uint64_t seed) {
    const int64_t blocks = model.parts * model.parts;
    auto block = [&](int32_t u, int32_t v) { return model.part[u] * model.parts + model.part[v]; };
    begin.assign(blocks + 1, 0);
    unsorted.clear();
    source.each(shard, stream(seed, shard, blocks), [&](int32_t u, int32_t v) {
      unsorted.emplace_back(u, v);
      ++begin[block(u, v) + 1];
    });
    for (int64_t b = 0; b < blocks; ++b) begin[b + 1] += begin[b];
    pairs.resize(2 * unsorted.size());
    std::vector<int64_t> next(begin.begin(), begin.end() - 1);
    for (const auto& [u, v] : unsorted) {
      const int64_t q = next[block(u, v)]++;
      pairs[2 * q] = u;
      pairs[2 * q + 1] = v;
    }
  }
};

template <class Source> class Training {
 public:
  Training(int isa, int threads, const SkipGram& model, const Source& source, float first_rate, float last_rate,
           uint64_t seed)
      : train_pairs_(BOOSTNE_FOR_ISA(isa, train_pairs)),
        threads_(threads),
        model_(model),
        source_(source),
        first_rate_(first_rate),
        last_rate_(last_rate),
        seed_(seed),
        shards_(kShards) {}

  void run() {
    total_ = source_.shards();
    for (first_ = 0; first_ < total_; first_ += kShards) {
      in_memory_ = total_ - first_ < kShards ? total_ - first_ : kShards;
      parallel_for(in_memory_, threads_, [&](int64_t s, int) { shards_[s].fill(model_, source_, first_ + s, seed_); });
      for (int64_t round = 0; round < model_.parts; ++round)
        parallel_for(model_.parts, threads_, [&](int64_t i, int) { train_part(i, i ^ round); });
    }
  }

 private:
  // If inputs and outputs are rows of the same matrix, the blocks (i, j) and (j, i) must not be trained concurrently.
  void train_part(int64_t i, int64_t j) {
    if (model_.shared() && j < i) return;
    train_block(i, j);
    if (model_.shared() && i < j) train_block(j, i);
  }

  void train_block(int64_t i, int64_t j) {
    const int64_t block = i * model_.parts + j;
    const int64_t size = 1 + model_.negative + kTargets;
    std::vector<int32_t> targets(size);
    std::vector<float> scratch(size + model_.width);
    for (int64_t s = 0; s < in_memory_; ++s) {
      const Shard& shard = shards_[s];
      const int64_t begin = shard.begin[block], end = shard.begin[block + 1];
      const float done = static_cast<float>(first_ + s) / static_cast<float>(total_);
      train_pairs_({shard.pairs.data() + 2 * begin, end - begin, model_.width, model_.U, model_.V, model_.noise_of(j),
                    model_.negative, first_rate_ + (last_rate_ - first_rate_) * done, stream(seed_, first_ + s, block),
                    targets.data(), scratch.data(), scratch.data() + size});
    }
  }

  void (*train_pairs_)(const TrainPairs&);
  int threads_;
  const SkipGram& model_;
  const Source& source_;
  float first_rate_, last_rate_;
  uint64_t seed_;
  std::vector<Shard> shards_;
  int64_t first_ = 0, in_memory_ = 0, total_ = 0;
};

}  // namespace
}  // namespace boostne

BOOSTNE_API int boostne_train_walks_f32(int isa, int threads, int64_t parts, const int32_t* part, const int64_t* cuts,
                                        const uint32_t* threshold, const int32_t* node, const int32_t* alias,
                                        int negative, int64_t width, float* U, float* V, float first_rate,
                                        float last_rate, uint64_t seed, const int32_t* walks, int64_t count,
                                        int64_t length, int64_t window) {
  return boostne::guarded([&] {
    const boostne::SkipGram model{parts, part, cuts, {threshold, node, alias, 0}, negative, width, U, V};
    const boostne::Walks source(walks, count, length, window, parts);
    boostne::Training<boostne::Walks>(isa, threads, model, source, first_rate, last_rate, seed).run();
  });
}

BOOSTNE_API int boostne_train_edges_f32(int isa, int threads, int64_t parts, const int32_t* part, const int64_t* cuts,
                                        const uint32_t* threshold, const int32_t* node, const int32_t* alias,
                                        int negative, int64_t width, float* U, float* V, float first_rate,
                                        float last_rate, uint64_t seed, const int32_t* source, const int32_t* target,
                                        const uint32_t* edge_threshold, const int32_t* edge_alias, int64_t edges,
                                        int64_t samples) {
  return boostne::guarded([&] {
    const boostne::SkipGram model{parts, part, cuts, {threshold, node, alias, 0}, negative, width, U, V};
    const boostne::Edges drawn{
        source, target, edge_threshold, edge_alias, edges, samples, boostne::kShardPairs * parts};
    boostne::Training<boostne::Edges>(isa, threads, model, drawn, first_rate, last_rate, seed).run();
  });
}
