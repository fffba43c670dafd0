// Random walks of first and second order (node2vec's p and q) over the rows of a CSR matrix.
//
// No table of probabilities for each edge: a step of second order is drawn by rejection. A candidate comes from
// the first-order walk and is kept with a chance in proportion to its bias. What a small p adds to the way back is
// drawn apart, so that it does not lower that chance for all other candidates. After kTries candidates the step
// is drawn from the written-out distribution, which leaves the probabilities as they are and bounds the time.
//
// Each walk has a stream of random numbers of its own, given by the seed and the number of the walk. Walks are
// therefore the same for any number of threads and for any cut into chunks; kernels/reference_walks.py draws the
// same ones. CMakeLists.txt switches fused multiply-add off here for that reason.

#include <algorithm>
#include <cstdint>

#include "api.h"
#include "parallel.h"
#include "random.h"

namespace boostne {
namespace {

constexpr int kTries = 32;
constexpr int64_t kTogether = 32;       // walks that one thread advances side by side, to overlap their cache misses
constexpr int64_t kWalksPerTask = 512;  // a multiple of kTogether
constexpr int32_t kNone = -1;

class Random {
 public:
  Random() = default;
  Random(uint64_t seed, uint64_t walk) : state_(mix(mix(seed) + kGolden * walk)) {}

  // Below n. The bias is at most n / 2^64.
  int64_t below(int64_t n) {
    return static_cast<int64_t>(static_cast<unsigned __int128>(next_random(state_)) * static_cast<uint64_t>(n) >> 64);
  }

  // At least 0, below 1.
  double uniform() { return static_cast<double>(next_random(state_) >> 11) * 0x1p-53; }

 private:
  uint64_t state_ = 0;
};

// First of n sorted numbers for which `before` does not hold; without branches, which would be guessed wrong.
template <class T, class Before>
int64_t partition_point(const T* sorted, int64_t n, const Before& before) {
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
  const double* cumulative;  // of the weights of a row, up to and with this edge; null: all weights are 1

  int64_t degree(int32_t v) const { return indptr[v + 1] - indptr[v]; }

  double total(int32_t v) const {
    return cumulative ? cumulative[indptr[v + 1] - 1] : static_cast<double>(degree(v));
  }

  // Weight of the edge stored at `place`, which lies in the row of v.
  double weight(int32_t v, int64_t place) const {
    if (!cumulative) return 1;
    return place == indptr[v] ? cumulative[place] : cumulative[place] - cumulative[place - 1];
  }

  // Place of the edge from v to x, or that of none.
  int64_t find(int32_t v, int32_t x) const {
    const int64_t begin = indptr[v];
    const int64_t place = begin + partition_point(indices + begin, degree(v), [x](int32_t y) { return y < x; });
    return place < indptr[v + 1] && indices[place] == x ? place : kNone;
  }

  // Place of an edge from v, drawn by weight.
  int64_t draw(int32_t v, Random& random) const {
    const int64_t begin = indptr[v], n = degree(v);
    if (!cumulative) return begin + random.below(n);
    const double target = random.uniform() * total(v);
    const auto passed = [target](double sum) { return sum <= target; };
    return begin + std::min(partition_point(cumulative + begin, n, passed), n - 1);
  }
};

// What a step from t over v to x is multiplied by: 1/p for x = t, 1 where t has an edge to x, 1/q elsewhere.
class Bias {
 public:
  Bias(double p, double q)
      : back_(1 / p), far_(1 / q), cap_(std::max(1.0, far_)), least_(std::min({1.0, far_, back_})),
        extra_(std::max(back_ - cap_, 0.0)) {}

  int32_t step(const Graph& graph, int32_t t, int32_t v, Random& random) const {
    const int64_t back = extra_ > 0 ? graph.find(v, t) : kNone;
    const double apart = back == kNone ? 0 : graph.weight(v, back) * extra_;
    const double all = apart + graph.total(v) * cap_;
    for (int i = 0; i < kTries; ++i) {
      if (apart > 0 && random.uniform() * all < apart) return t;
      const int32_t x = graph.indices[graph.draw(v, random)];
      const double height = random.uniform() * cap_;
      if (height < least_ || height < of(graph, t, x)) return x;
    }
    return written_out(graph, t, v, random);
  }

 private:
  double of(const Graph& graph, int32_t t, int32_t x) const {
    if (x == t) return back_;
    return graph.find(t, x) == kNone ? far_ : 1;
  }

  int32_t written_out(const Graph& graph, int32_t t, int32_t v, Random& random) const {
    const int64_t begin = graph.indptr[v], end = graph.indptr[v + 1];
    double total = 0;
    for (int64_t i = begin; i < end; ++i) total += graph.weight(v, i) * of(graph, t, graph.indices[i]);
    const double target = random.uniform() * total;
    double sum = 0;
    for (int64_t i = begin; i < end - 1; ++i) {
      sum += graph.weight(v, i) * of(graph, t, graph.indices[i]);
      if (sum > target) return graph.indices[i];
    }
    return graph.indices[end - 1];
  }

  double back_, far_;
  double cap_;    // the largest bias of a candidate other than the way back
  double least_;  // no candidate is refused below it, so none need be looked up
  double extra_;  // what the way back has above the cap
};

// Walks that one thread advances in step. Each has a row of `length` numbers in `out`; what follows its end is kNone.
class Group {
 public:
  Group(const Graph& graph, const int32_t* starts, int64_t size, int64_t length, uint64_t seed, uint64_t first,
        int32_t* out)
      : graph_(graph), size_(size), length_(length), out_(out) {
    for (int64_t w = 0; w < size; ++w) {
      random_[w] = Random(seed, first + w);
      now_[w] = out[w * length] = starts[w];
    }
  }

  void first_order(int64_t step) {
    int64_t place[kTogether];
    for (int64_t w = 0; w < size_; ++w) {
      place[w] = ended(w) ? kNone : graph_.draw(now_[w], random_[w]);
      if (place[w] != kNone) __builtin_prefetch(graph_.indices + place[w]);
    }
    for (int64_t w = 0; w < size_; ++w) go(w, step, place[w] == kNone ? kNone : graph_.indices[place[w]]);
  }

  void second_order(int64_t step, const Bias& bias) {
    for (int64_t w = 0; w < size_; ++w)
      go(w, step, ended(w) ? kNone : bias.step(graph_, before_[w], now_[w], random_[w]));
  }

 private:
  bool ended(int64_t w) const { return now_[w] == kNone || graph_.degree(now_[w]) == 0; }

  void go(int64_t w, int64_t step, int32_t x) {
    before_[w] = now_[w];
    now_[w] = out_[w * length_ + step] = x;
    __builtin_prefetch(graph_.indptr + (x == kNone ? 0 : x));
  }

  const Graph& graph_;
  int64_t size_, length_;
  int32_t* out_;
  int32_t before_[kTogether], now_[kTogether];
  Random random_[kTogether];
};

}  // namespace
}  // namespace boostne

// Row i of `out` is walk number first + i, from starts[i]: `length` nodes, one a step.
BOOSTNE_API void boostne_random_walks(int threads, int64_t walks, int64_t length, const int64_t* indptr,
                                      const int32_t* indices, const double* cumulative, const int32_t* starts,
                                      double p, double q, uint64_t seed, uint64_t first, int32_t* out) {
  using namespace boostne;
  const Graph graph{indptr, indices, cumulative};
  const Bias bias(p, q);
  const bool biased = p != 1 || q != 1;
  parallel_for((walks + kWalksPerTask - 1) / kWalksPerTask, threads, [&](int64_t task, int) {
    const int64_t end = std::min((task + 1) * kWalksPerTask, walks);
    for (int64_t begin = task * kWalksPerTask; begin < end; begin += kTogether) {
      Group group(graph, starts + begin, std::min(kTogether, end - begin), length, seed, first + begin,
                  out + begin * length);
      for (int64_t step = 1; step < length; ++step) {
        if (biased && step > 1)
          group.second_order(step, bias);
        else
          group.first_order(step);
      }
    }
  });
}
