// First-order and second-order (node2vec) random walks on a graph in CSR format.
//
// Second-order steps use rejection sampling instead of per-edge probability tables. A candidate from the first-order
// walk is accepted with a probability proportional to its bias. If p is small, the excess bias of the return step is
// sampled separately, so that it does not lower the acceptance rate of the other candidates. After kMaxRejections
// candidates the step is sampled from the explicit distribution, which is equivalent and bounds the running time.
//
// Each walk has its own random stream, determined by the seed and the number of the walk. Walks therefore do not depend
// on the number of threads or on how they are split into chunks. reference/walks.py generates the same walks; for this,
// CMakeLists.txt disables fused multiply-add in this file.

#include <algorithm>
#include <cstdint>

#include "api.h"
#include "parallel.h"
#include "random.h"

namespace boostne {
namespace {

constexpr int kMaxRejections = 32;
constexpr int64_t kGroupWalks = 32;     // walks that a thread advances together, to overlap their cache misses
constexpr int64_t kWalksPerTask = 512;  // a multiple of kGroupWalks
constexpr int32_t kNone = -1;

class Random {
 public:
  Random() = default;
  Random(uint64_t seed, uint64_t walk) : state_(mix(mix(seed) + kGolden * walk)) {}

  // Returns an integer below n, with a bias of at most n / 2^64.
  int64_t below(int64_t n) {
    return static_cast<int64_t>(static_cast<unsigned __int128>(next_random(state_)) * static_cast<uint64_t>(n) >> 64);
  }

  // Returns a number in [0, 1).
  double uniform() { return static_cast<double>(next_random(state_) >> 11) * 0x1p-53; }

 private:
  uint64_t state_ = 0;
};

// Returns the index of the first of n sorted values for which `before` is false; branch-free binary search.
template <class T, class Before> int64_t partition_point(const T* sorted, int64_t n, const Before& before) {
  const T* first = sorted;
  while (n > 1) {
    const int64_t half = n / 2;
    first += before(first[half - 1]) ? half : 0;
    n -= half;
  }
  return first - sorted + (n == 1 && before(*first));
}

struct Graph {
  const int64_t* indptr;
  const int32_t* indices;    // ascending in each row
  const double* cumulative;  // cumulative weights within each row; null: all weights are 1

  int64_t degree(int32_t v) const { return indptr[v + 1] - indptr[v]; }

  double total(int32_t v) const { return cumulative ? cumulative[indptr[v + 1] - 1] : static_cast<double>(degree(v)); }

  // Returns the weight of edge number `edge`, which is in the row of v.
  double weight(int32_t v, int64_t edge) const {
    if (!cumulative) return 1;
    return edge == indptr[v] ? cumulative[edge] : cumulative[edge] - cumulative[edge - 1];
  }

  // Returns the number of the edge from v to x, or kNone.
  int64_t find(int32_t v, int32_t x) const {
    const int64_t begin = indptr[v];
    const int64_t edge = begin + partition_point(indices + begin, degree(v), [x](int32_t y) { return y < x; });
    return edge < indptr[v + 1] && indices[edge] == x ? edge : kNone;
  }

  // Draws an edge from v by weight and returns its number.
  int64_t draw(int32_t v, Random& random) const {
    const int64_t begin = indptr[v], n = degree(v);
    if (!cumulative) return begin + random.below(n);
    const double target = random.uniform() * total(v);
    const auto passed = [target](double sum) { return sum <= target; };
    return begin + std::min(partition_point(cumulative + begin, n, passed), n - 1);
  }
};

// Bias of a step from v to x after a step from t to v: 1/p if x = t, 1 if the edge (t, x) exists, 1/q otherwise.
class BiasedStep {
 public:
  BiasedStep(double p, double q)
      : return_(1 / p),
        out_(1 / q),
        cap_(std::max(1.0, out_)),
        min_(std::min({1.0, out_, return_})),
        excess_(std::max(return_ - cap_, 0.0)) {}

  int32_t operator()(const Graph& graph, int32_t t, int32_t v, Random& random) const {
    const int64_t return_edge = excess_ > 0 ? graph.find(v, t) : kNone;
    const double return_mass = return_edge == kNone ? 0 : graph.weight(v, return_edge) * excess_;
    const double total = return_mass + graph.total(v) * cap_;
    for (int i = 0; i < kMaxRejections; ++i) {
      if (return_mass > 0 && random.uniform() * total < return_mass) return t;
      const int32_t x = graph.indices[graph.draw(v, random)];
      const double height = random.uniform() * cap_;
      if (height < min_ || height < bias(graph, t, x)) return x;
    }
    return exact_step(graph, t, v, random);
  }

 private:
  double bias(const Graph& graph, int32_t t, int32_t x) const {
    if (x == t) return return_;
    return graph.find(t, x) == kNone ? out_ : 1;
  }

  int32_t exact_step(const Graph& graph, int32_t t, int32_t v, Random& random) const {
    const int64_t begin = graph.indptr[v], end = graph.indptr[v + 1];
    double total = 0;
    for (int64_t i = begin; i < end; ++i) total += graph.weight(v, i) * bias(graph, t, graph.indices[i]);
    const double target = random.uniform() * total;
    double sum = 0;
    for (int64_t i = begin; i < end - 1; ++i) {
      sum += graph.weight(v, i) * bias(graph, t, graph.indices[i]);
      if (sum > target) return graph.indices[i];
    }
    return graph.indices[end - 1];
  }

  double return_, out_;
  double cap_;     // maximum bias of a candidate other than the return step
  double min_;     // below it, candidates are accepted without looking up their bias
  double excess_;  // bias of the return step above the cap
};

// Walks that one thread advances together. Each has a row of `length` nodes in `out`, padded with kNone.
class Group {
 public:
  Group(const Graph& graph, const int32_t* starts, int64_t size, int64_t length, uint64_t seed, uint64_t first,
        int32_t* out)
      : graph_(graph), size_(size), length_(length), out_(out) {
    for (int64_t w = 0; w < size; ++w) {
      random_[w] = Random(seed, first + w);
      current_[w] = out[w * length] = starts[w];
    }
  }

  void first_order(int64_t step) {
    int64_t edge[kGroupWalks];
    for (int64_t w = 0; w < size_; ++w) {
      edge[w] = ended(w) ? kNone : graph_.draw(current_[w], random_[w]);
      if (edge[w] != kNone) __builtin_prefetch(graph_.indices + edge[w]);
    }
    for (int64_t w = 0; w < size_; ++w) move_to(w, step, edge[w] == kNone ? kNone : graph_.indices[edge[w]]);
  }

  void second_order(int64_t step, const BiasedStep& biased_step) {
    for (int64_t w = 0; w < size_; ++w)
      move_to(w, step, ended(w) ? kNone : biased_step(graph_, previous_[w], current_[w], random_[w]));
  }

 private:
  bool ended(int64_t w) const { return current_[w] == kNone || graph_.degree(current_[w]) == 0; }

  void move_to(int64_t w, int64_t step, int32_t x) {
    previous_[w] = current_[w];
    current_[w] = out_[w * length_ + step] = x;
    __builtin_prefetch(graph_.indptr + (x == kNone ? 0 : x));
  }

  const Graph& graph_;
  int64_t size_, length_;
  int32_t* out_;
  int32_t previous_[kGroupWalks], current_[kGroupWalks];
  Random random_[kGroupWalks];
};

}  // namespace
}  // namespace boostne

// Writes walk number first + i, which starts at starts[i], to row i of `out`.
BOOSTNE_API int boostne_random_walks(int threads, int64_t walks, int64_t length, const int64_t* indptr,
                                     const int32_t* indices, const double* cumulative, const int32_t* starts, double p,
                                     double q, uint64_t seed, uint64_t first, int32_t* out) {
  return boostne::guarded([&] {
    using namespace boostne;
    const Graph graph{indptr, indices, cumulative};
    const BiasedStep biased_step(p, q);
    const bool biased = p != 1 || q != 1;
    parallel_for((walks + kWalksPerTask - 1) / kWalksPerTask, threads, [&](int64_t task, int) {
      const int64_t end = std::min((task + 1) * kWalksPerTask, walks);
      for (int64_t begin = task * kWalksPerTask; begin < end; begin += kGroupWalks) {
        Group group(graph, starts + begin, std::min(kGroupWalks, end - begin), length, seed, first + begin,
                    out + begin * length);
        for (int64_t step = 1; step < length; ++step) {
          if (biased && step > 1)
            group.second_order(step, biased_step);
          else
            group.first_order(step);
        }
      }
    });
  });
}
