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

// What is asked of a node, and what is known of its mass, each side by side. Nodes are met in no order, and in a large
// graph each is a wait for memory: one rather than three.
template <class T>
struct Facts {
  int64_t begin;
  int32_t degree;
  T inverse_degree, scale;
};
template <class T>
struct alignas(4 * sizeof(T)) Mass {
  T here, next, total;
};

template <class T>
class Pusher {
 public:
  Pusher(const PushGraph<T>& graph, const LargeVector<Facts<T>>& facts)
      : graph_(graph), facts_(facts), mass_(graph.n), here_(graph.n), next_(graph.n), reached_(graph.n) {}

  // Writes the strongest entries of one row, ascending by column; returns their number.
  int64_t row(int32_t source, int32_t* columns, T* values, double* dropped) {
    const int window = graph_.window;
    double lost = 0;
    int64_t size = 1, reached = 0;
    here_[0] = source;
    mass_[source].here = T(1);
    for (int step = 0; step < window && size; ++step) {
      const int64_t moved = spread(size, step == 0, &lost, window - step);
      for (int64_t q = 0; q < moved; ++q) {
        Mass<T>& mass = mass_[next_[q]];
        if (mass.total == 0) reached_[reached++] = next_[q];
        mass.total += mass.next;
        mass.here = mass.next;
        mass.next = 0;
      }
      std::swap(here_, next_);
      size = moved;
    }
    for (int64_t q = 0; q < size; ++q) mass_[here_[q]].here = 0;
    const int64_t kept = select(reached, columns, &lost);
    for (int64_t q = 0; q < kept; ++q) values[q] = std::log(mass_[columns[q]].total * facts_[columns[q]].scale);
    for (int64_t q = 0; q < reached; ++q) mass_[reached_[q]].total = 0;
    *dropped = lost / window;
    return kept;
  }

 private:
  // Moves the mass of `size` nodes one step on; returns how many have some then. Mass that is too little to move is
  // lost for the steps left. The source always moves: otherwise a hub would have no row.
  int64_t spread(int64_t size, bool from_source, double* lost, int steps_left) {
    const PushGraph<T>& g = graph_;
    double too_little = 0;
    int64_t moved = 0;
    for (int64_t q = 0; q < size; ++q) {
      const int32_t j = here_[q];
      const Facts<T>& node = facts_[j];
      const T mass = mass_[j].here, share = mass * node.inverse_degree;
      mass_[j].here = 0;
      if (share < g.epsilon && !from_source) {
        too_little += mass;
        continue;
      }
      for (int64_t e = node.begin; e < node.begin + node.degree; ++e) {
        const T part = g.weights ? share * g.weights[e] : share;
        if (!(part > 0)) continue;  // an underflow to 0 would be listed twice
        T& next = mass_[g.indices[e]].next;
        if (next == 0) next_[moved++] = g.indices[e];
        next += part;
      }
    }
    *lost += too_little * steps_left;
    return moved;
  }

  // Columns of the entries above 1, the strongest `cap` of them, ascending; among equals the first columns win.
  int64_t select(int64_t reached, int32_t* columns, double* lost) {
    found_.clear();
    for (int64_t q = 0; q < reached; ++q) {
      const int32_t k = reached_[q];
      const T value = mass_[k].total * facts_[k].scale;
      if (value > 1) found_.push_back({value, k});
    }
    const auto stronger = [](const Entry& a, const Entry& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    int64_t kept = static_cast<int64_t>(found_.size());
    if (kept > graph_.cap) {
      kept = graph_.cap;
      std::nth_element(found_.begin(), found_.begin() + kept, found_.end(), stronger);
      for (size_t q = kept; q < found_.size(); ++q) *lost += mass_[found_[q].second].total;
    }
    for (int64_t q = 0; q < kept; ++q) columns[q] = found_[q].second;
    std::sort(columns, columns + kept);
    return kept;
  }

  using Entry = std::pair<T, int32_t>;
  const PushGraph<T>& graph_;
  const LargeVector<Facts<T>>& facts_;
  LargeVector<Mass<T>> mass_;
  std::vector<int32_t> here_, next_, reached_;  // nodes with mass, now and after the step, and all so far
  std::vector<Entry> found_;
};

template <class T>
LargeVector<Facts<T>> facts_of(const PushGraph<T>& g) {
  LargeVector<Facts<T>> facts(g.n);
  for (int64_t j = 0; j < g.n; ++j)
    facts[j] = {g.indptr[j], static_cast<int32_t>(g.indptr[j + 1] - g.indptr[j]), g.inverse_degree[j], g.scale[j]};
  return facts;
}

// Rows [first, last) of X, one after the other in indices and data; counts and dropped have one number a row.
template <class T>
void push_rows(int threads, int64_t first, int64_t last, const PushGraph<T>& graph, int32_t* indices, T* data,
               int64_t* counts, double* dropped) {
  const int64_t rows = last - first, blocks = (rows + kBlockRows - 1) / kBlockRows;
  threads = static_cast<int>(std::min<int64_t>(threads, blocks));
  const LargeVector<Facts<T>> facts = facts_of(graph);
  std::vector<Pusher<T>> pushers;
  for (int t = 0; t < threads; ++t) pushers.emplace_back(graph, facts);
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
                          indices, data, counts, dropped);                                                              \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)
