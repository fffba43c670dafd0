// Forward push: rows of DeepWalk's connectivity matrix from sparse vectors alone.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "api.h"
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

// A vector with few entries: values of all nodes, and the list of those that are not zero.
template <class T>
struct SparseVector {
  std::vector<T> values;
  std::vector<int32_t> nodes;
  int64_t size = 0;
  explicit SparseVector(int64_t n) : values(n), nodes(n) {}
  void add(int32_t node, T value) {
    if (values[node] == 0) nodes[size++] = node;
    values[node] += value;
  }
  void clear() {
    for (int64_t q = 0; q < size; ++q) values[nodes[q]] = 0;
    size = 0;
  }
};

template <class T>
class Pusher {
 public:
  explicit Pusher(const PushGraph<T>& graph) : graph_(graph), current_(graph.n), next_(graph.n), total_(graph.n) {}

  // Writes the strongest entries of one row, ascending by column; returns their number.
  int64_t row(int32_t source, int32_t* columns, T* values, double* dropped) {
    const PushGraph<T>& g = graph_;
    double lost = 0;
    current_.add(source, T(1));
    for (int step = 0; step < g.window && current_.size; ++step) {
      lost += spread(step == 0) * (g.window - step);
      for (int64_t q = 0; q < next_.size; ++q) total_.add(next_.nodes[q], next_.values[next_.nodes[q]]);
      std::swap(current_, next_);
    }
    current_.clear();
    const int64_t kept = select(columns, &lost);
    for (int64_t q = 0; q < kept; ++q) values[q] = std::log(total_.values[columns[q]] * g.scale[columns[q]]);
    total_.clear();
    *dropped = lost / g.window;
    return kept;
  }

 private:
  // Moves the mass one step on, from current to next; returns the mass that was too little to move. The source
  // always moves: otherwise a hub would have no row.
  double spread(bool from_source) {
    const PushGraph<T>& g = graph_;
    double lost = 0;
    for (int64_t q = 0; q < current_.size; ++q) {
      const int32_t j = current_.nodes[q];
      const T mass = current_.values[j];
      current_.values[j] = 0;
      const T share = mass * g.inverse_degree[j];
      if (share < g.epsilon && !from_source) {
        lost += mass;
        continue;
      }
      for (int64_t e = g.indptr[j]; e < g.indptr[j + 1]; ++e) {
        const T part = g.weights ? share * g.weights[e] : share;
        if (part > 0) next_.add(g.indices[e], part);  // an underflow to 0 would be listed twice
      }
    }
    current_.size = 0;
    return lost;
  }

  // Columns of the entries above 1, the strongest `cap` of them, ascending; among equals the first columns win.
  int64_t select(int32_t* columns, double* lost) {
    const PushGraph<T>& g = graph_;
    found_.clear();
    for (int64_t q = 0; q < total_.size; ++q) {
      const int32_t k = total_.nodes[q];
      const T value = total_.values[k] * g.scale[k];
      if (value > 1) found_.push_back({value, k});
    }
    const auto stronger = [](const Entry& a, const Entry& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    };
    int64_t kept = static_cast<int64_t>(found_.size());
    if (kept > g.cap) {
      kept = g.cap;
      std::nth_element(found_.begin(), found_.begin() + kept, found_.end(), stronger);
      for (size_t q = kept; q < found_.size(); ++q) *lost += total_.values[found_[q].second];
    }
    for (int64_t q = 0; q < kept; ++q) columns[q] = found_[q].second;
    std::sort(columns, columns + kept);
    return kept;
  }

  using Entry = std::pair<T, int32_t>;
  const PushGraph<T>& graph_;
  SparseVector<T> current_, next_, total_;
  std::vector<Entry> found_;
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
                          indices, data, counts, dropped);                                                              \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)
