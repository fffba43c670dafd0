// Forward push: rows of DeepWalk's connectivity matrix from sparse vectors alone.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "api.h"
#include "large_pages.h"
#include "parallel.h"

namespace boostne {
namespace {

constexpr int64_t kBlockRows = 16;  // rows that a thread takes at a time: small, since hubs cost more than others

template <class T>
struct PushGraph {
  int64_t n;
  const int64_t* indptr;
  const int32_t* indices;
  const T* weights;  // null: all 1
  const T* inverse_degree;
  const T* scale;  // from the mass that reached a node to its entry in X
  T epsilon;       // mass below this share of a degree goes no further
  int window;
  int64_t cap;
};

// Nodes are met in no order, and in a large graph each is a wait for memory. So the mass of a node lies side by side;
// lists are written without a branch, since one that is taken by what has not arrived yet keeps all that comes after it
// waiting; and what can be known ahead of time is asked for ahead of time.
constexpr int64_t kAhead = 4;  // nodes, to their edges; and twice that to their place

template <class T>
class Pusher {
 public:
  explicit Pusher(const PushGraph<T>& graph)
      : graph_(graph), mass_(graph.n), moving_(graph.n + 1), next_(graph.n + 1), reached_(graph.n + 1) {}

  // Writes the strongest entries of one row, ascending by column; returns their number.
  int64_t row(int32_t source, int32_t* columns, T* values, double* dropped) {
    double lost = 0;
    int64_t moving = 1;
    n_reached_ = 0;
    moving_[0] = {source, graph_.inverse_degree[source]};  // always moves: otherwise a hub would have no row
    for (int left = graph_.window - 1; left >= 0 && moving; --left) moving = settle(spread(moving), left, &lost);
    const int64_t kept = strongest(entries(), &lost);
    std::sort(found_.begin(), found_.begin() + kept, [](const Entry& a, const Entry& b) { return a.node < b.node; });
    for (int64_t q = 0; q < kept; ++q) {
      columns[q] = found_[q].node;
      values[q] = std::log(found_[q].value);
    }
    *dropped = lost / graph_.window;
    return kept;
  }

 private:
  struct Mass {
    T next, total;  // that arrives in this step, and has arrived in all
  };
  struct Entry {
    int32_t node;
    T value;
  };

  // Moves the mass of `moving` nodes one step on; returns how many have some then.
  int64_t spread(int64_t moving) {
    const PushGraph<T>& g = graph_;
    int64_t moved = 0;
    for (int64_t q = 0; q < moving; ++q) {
      if (q + 2 * kAhead < moving) __builtin_prefetch(g.indptr + moving_[q + 2 * kAhead].node);
      if (q + kAhead < moving) __builtin_prefetch(g.indices + g.indptr[moving_[q + kAhead].node]);
      const int32_t j = moving_[q].node;
      const T share = moving_[q].value;
      for (int64_t e = g.indptr[j]; e < g.indptr[j + 1]; ++e) {
        const int32_t k = g.indices[e];
        const T part = g.weights ? share * g.weights[e] : share;
        T& next = mass_[k].next;
        next_[moved] = k;
        moved += (next == 0) & (part > 0);  // an underflow to 0 would be listed twice
        next += part;
      }
    }
    return moved;
  }

  // Adds up what has arrived at `moved` nodes, and lists those that have enough of it to move on, with the share that
  // each neighbour gets; returns their number. The rest is lost for the steps left.
  int64_t settle(int64_t moved, int steps_left, double* lost) {
    double too_little = 0;
    int64_t moving = 0;
    for (int64_t q = 0; q < moved; ++q) {
      const int32_t k = next_[q];
      Mass& at = mass_[k];
      const T mass = at.next, share = mass * graph_.inverse_degree[k];
      const bool stays = share < graph_.epsilon;
      reached_[n_reached_] = k;
      n_reached_ += at.total == 0;
      at = {T(0), at.total + mass};
      too_little += stays ? mass : T(0);
      moving_[moving] = {k, share};
      moving += !stays;
    }
    *lost += too_little * steps_left;
    return moving;
  }

  // Finds the entries above 1, and leaves no mass behind; returns their number.
  int64_t entries() {
    found_.resize(std::max(found_.size(), static_cast<size_t>(n_reached_) + 1));
    int64_t found = 0;
    for (int64_t q = 0; q < n_reached_; ++q) {
      const int32_t k = reached_[q];
      found_[found] = {k, mass_[k].total * graph_.scale[k]};
      found += found_[found].value > 1;
      mass_[k].total = 0;
    }
    return found;
  }

  // Moves the strongest `cap` entries to the front, among equals those of the first columns; returns their number.
  int64_t strongest(int64_t found, double* lost) {
    if (found <= graph_.cap) return found;
    const auto stronger = [](const Entry& a, const Entry& b) {
      return a.value != b.value ? a.value > b.value : a.node < b.node;
    };
    std::nth_element(found_.begin(), found_.begin() + graph_.cap, found_.begin() + found, stronger);
    for (int64_t q = graph_.cap; q < found; ++q) *lost += found_[q].value / graph_.scale[found_[q].node];
    return graph_.cap;
  }

  const PushGraph<T>& graph_;
  LargeVector<Mass> mass_;
  std::vector<Entry> moving_, found_;    // nodes that move their mass on, with its share; entries of the row
  std::vector<int32_t> next_, reached_;  // nodes at which mass arrives in this step, or has arrived in all
  int64_t n_reached_ = 0;
};

// Rows [first, last) of X, one after the other in indices and data; counts and dropped have one number a row.
template <class T>
void push_rows(int threads, int64_t first, int64_t last, const PushGraph<T>& graph, int32_t* indices, T* data,
               int64_t* counts, double* dropped) {
  const int64_t rows = last - first, blocks = (rows + kBlockRows - 1) / kBlockRows;
  threads = static_cast<int>(std::min<int64_t>(threads, blocks));
  std::vector<Pusher<T>> pushers;
  for (int t = 0; t < threads; ++t) pushers.emplace_back(graph);
  parallel_for(blocks, threads, [&](int64_t block, int thread) {
    for (int64_t r = block * kBlockRows; r < std::min((block + 1) * kBlockRows, rows); ++r)
      counts[r] = pushers[thread].row(static_cast<int32_t>(first + r), indices + r * graph.cap,
                                      data + r * graph.cap, dropped + r);
  });
  int64_t end = 0;  // each row has room for `cap` entries: close the gaps
  for (int64_t r = 0; r < rows; ++r) {
    std::memmove(indices + end, indices + r * graph.cap, sizeof(int32_t) * counts[r]);
    std::memmove(data + end, data + r * graph.cap, sizeof(T) * counts[r]);
    end += counts[r];
  }
}

}  // namespace
}  // namespace boostne

#define BOOSTNE_FOR_TYPE(T, SUFFIX)                                                                            \
  BOOSTNE_API void boostne_push_rows_##SUFFIX(                                                                 \
      int isa, int threads, int64_t first, int64_t last, int64_t n, const int64_t* indptr,                     \
      const int32_t* indices_a, const T* weights, const T* inverse_degree, const T* scale, double epsilon,     \
      int window, int64_t cap, int32_t* indices, T* data, int64_t* counts, double* dropped) {                  \
    (void)isa; /* nothing here is worth a vector */                                                            \
    boostne::push_rows<T>(threads, first, last,                                                                \
                          {n, indptr, indices_a, weights, inverse_degree, scale, static_cast<T>(epsilon),      \
                           window, cap},                                                                      \
                          indices, data, counts, dropped);                                                   \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)
