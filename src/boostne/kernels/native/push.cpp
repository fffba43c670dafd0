// Forward push: rows of the DeepWalk matrix from sparse vectors.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "api.h"
#include "parallel.h"
#include "push_table.h"

namespace boostne {
namespace {

constexpr int64_t kBlockRows = 16;  // rows per task: few, because hubs take longer than other nodes

template <class T> struct PushGraph {
  int64_t n;
  const int64_t* indptr;
  const int32_t* indices;
  const T* weights;                // null: all weights are 1
  const T* inverse_degree;         // of each node
  const T* target_inverse_degree;  // of the target of each edge; in a directed graph the inverse of its visits
  bool directed;
  T factor;   // converts mass per degree to an entry of X
  T epsilon;  // mass below epsilon times the degree is dropped
  int window;
  int64_t cap;
  int32_t first_column;  // entries of earlier columns are left out
};

// In a large graph, every node that a row reaches can be a cache miss. Therefore the state of the reached nodes is
// stored compactly (push_table.h), the degree of a node is stored with each edge to it, and edges are prefetched. Lists
// are written without branches, because a mispredicted branch on data that is still being loaded stalls the pipeline.
constexpr int64_t kPrefetchDistance = 4;   // nodes ahead whose edges are prefetched; twice that for row pointers
constexpr int64_t kDirectBytes = 1 << 23;  // maximum size of a direct table; beyond it a hash table is faster

// Maps a value above 1 to a bucket, by the leading bits of its representation: 64 buckets per power of two.
constexpr int64_t kBuckets = 4096;
template <class T> int64_t bucket(T value) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  constexpr int shift = sizeof(T) == 4 ? 17 : 46;
  const T one = 1;
  Bits bits, min_bits;
  std::memcpy(&bits, &value, sizeof(T));
  std::memcpy(&min_bits, &one, sizeof(T));
  return std::min(static_cast<int64_t>((bits - min_bits) >> shift), kBuckets - 1);
}

template <class T, class Table> class Pusher {
 public:
  explicit Pusher(const PushGraph<T>& graph)
      : graph_(graph),
        table_(graph.n),
        moving_(new Moving[graph.n + 1]),
        next_(new int32_t[graph.n + 1]),
        reached_(new int32_t[graph.n + 1]) {}

  // Writes the largest entries of one row, ascending by column; returns their number.
  int64_t row(int32_t source, int32_t* columns, T* values, double* dropped) {
    double lost = 0;
    int64_t moving = 1;
    moving_[0] = {source,
                  graph_.inverse_degree[source]};  // not subject to epsilon: otherwise hubs would have empty rows
    for (int left = graph_.window - 1; left >= 0 && moving; --left) moving = settle(spread(moving), left, &lost);
    const int64_t kept = select_largest(entries(), &lost);
    std::sort(found_.begin(), found_.begin() + kept, [](const Entry& a, const Entry& b) { return a.node < b.node; });
    for (int64_t q = 0; q < kept; ++q) {
      columns[q] = found_[q].node;
      values[q] = std::log(found_[q].value);
    }
    *dropped = lost / graph_.window;
    return kept;
  }

 private:
  struct Moving {
    int32_t node;
    T share;  // mass passed on per unit of edge weight
  };
  struct Entry {
    int32_t node;
    T value, mass;
  };

  // Moves the mass of `moving` nodes by one step; returns the number of nodes that receive mass.
  int64_t spread(int64_t moving) {
    const PushGraph<T>& g = graph_;
    int64_t moved = 0;
    for (int64_t q = 0; q < moving; ++q) {
      if (q + 2 * kPrefetchDistance < moving) __builtin_prefetch(g.indptr + moving_[q + 2 * kPrefetchDistance].node);
      if (q + kPrefetchDistance < moving) {
        const int64_t edges = g.indptr[moving_[q + kPrefetchDistance].node];
        __builtin_prefetch(g.indices + edges);
        __builtin_prefetch(g.target_inverse_degree + edges);
      }
      const int32_t j = moving_[q].node;
      const T share = moving_[q].share;
      const int64_t begin = g.indptr[j], end = g.indptr[j + 1];
      table_.reserve(end - begin, reached_.get(), n_reached_, next_.get(), moved);
      // Local copies: the compiler must assume that the writes below alias the members.
      const typename Table::View table = table_.view();
      int32_t *const next = next_.get(), *const reached = reached_.get();
      int64_t n_reached = n_reached_;
      for (int64_t e = begin; e < end; ++e) {
        const int32_t k = g.indices[e];
        const T part = g.weights ? share * g.weights[e] : share;
        const int64_t i = table.find(k);
        Slot<T>& at = table.slots[i];
        reached[n_reached] = static_cast<int32_t>(i);
        n_reached += at.node < 0;
        at.node = k;
        at.inverse_degree = g.target_inverse_degree[e];
        next[moved] = static_cast<int32_t>(i);
        moved += (at.next == 0) & (part > 0);  // a node whose mass underflows to 0 must not be listed twice
        at.next += part;
      }
      n_reached_ = n_reached;
    }
    return moved;
  }

  // Accumulates the mass that arrived at `moved` nodes and lists the nodes with enough mass to move on; returns their
  // number. The mass of the others is dropped and missing in the remaining steps.
  int64_t settle(int64_t moved, int steps_left, double* lost) {
    Slot<T>* const slots = table_.view().slots;
    double dropped = 0;
    int64_t moving = 0;
    for (int64_t q = 0; q < moved; ++q) {
      Slot<T>& at = slots[next_[q]];
      const T mass = at.next, relative = mass * at.inverse_degree;
      const bool stays = relative < graph_.epsilon;
      at.next = 0;
      at.total += mass;
      dropped += stays ? mass : T(0);
      moving_[moving] = {at.node, graph_.directed ? mass * graph_.inverse_degree[at.node] : relative};
      moving += !stays;
    }
    *lost += dropped * steps_left;
    return moving;
  }

  // Collects the entries above 1 and clears the table; returns their number.
  int64_t entries() {
    found_.resize(std::max(found_.size(), static_cast<size_t>(n_reached_) + 1));
    Slot<T>* const slots = table_.view().slots;
    int64_t found = 0;
    for (int64_t q = 0; q < n_reached_; ++q) {
      Slot<T>& at = slots[reached_[q]];
      found_[found] = {at.node, at.total * at.inverse_degree * graph_.factor, at.total};
      found += (found_[found].value > 1) & (found_[found].node >= graph_.first_column);
      at = kEmpty<T>;
    }
    table_.shrink_to_fit(n_reached_);
    n_reached_ = 0;
    return found;
  }

  // Moves the `cap` largest entries to the front, ties going to the lower column; returns their number.
  int64_t select_largest(int64_t found, double* lost) {
    if (found <= graph_.cap) return found;
    counts_.assign(kBuckets, 0);
    for (int64_t q = 0; q < found; ++q) ++counts_[bucket(found_[q].value)];
    int64_t above = 0, edge = kBuckets - 1;  // number of entries in the buckets above the one that is partly kept
    while (above + counts_[edge] <= graph_.cap) above += counts_[edge--];
    same_.resize(counts_[edge] + 1);
    int64_t kept = 0, same = 0;
    for (int64_t q = 0; q < found; ++q) {
      const Entry entry = found_[q];
      const int64_t at = bucket(entry.value);
      found_[kept] = entry;
      kept += at > edge;
      same_[same] = entry;
      same += at == edge;
      *lost += at < edge ? entry.mass : T(0);
    }
    const auto last = same_.begin() + (graph_.cap - above);
    std::nth_element(same_.begin(), last, same_.begin() + same, [](const Entry& a, const Entry& b) {
      return a.value != b.value ? a.value > b.value : a.node < b.node;
    });
    std::copy(same_.begin(), last, found_.begin() + kept);
    for (auto entry = last; entry != same_.begin() + same; ++entry) *lost += entry->mass;
    return graph_.cap;
  }

  const PushGraph<T>& graph_;
  Table table_;
  std::vector<Entry> found_, same_;  // entries of the row, and those in the partly kept bucket
  std::vector<int32_t> counts_;      // number of entries in each bucket
  // Sized for all nodes; pages that are never written take no memory.
  std::unique_ptr<Moving[]> moving_;    // nodes that pass on their mass
  std::unique_ptr<int32_t[]> next_;     // slots of the nodes that receive mass in this step
  std::unique_ptr<int32_t[]> reached_;  // occupied slots
  int64_t n_reached_ = 0;
};

// Computes rows [first, last) of X, stored contiguously in indices and data; counts and dropped have one value per row.
template <class T, class Table>
void push_rows(int threads, int64_t first, int64_t last, const PushGraph<T>& graph, int32_t* indices, T* data,
               int64_t* counts, double* dropped) {
  const int64_t rows = last - first, blocks = (rows + kBlockRows - 1) / kBlockRows;
  threads = static_cast<int>(std::min<int64_t>(threads, blocks));
  std::vector<Pusher<T, Table>> pushers;
  for (int t = 0; t < threads; ++t) pushers.emplace_back(graph);
  parallel_for(blocks, threads, [&](int64_t block, int thread) {
    for (int64_t r = block * kBlockRows; r < std::min((block + 1) * kBlockRows, rows); ++r)
      counts[r] = pushers[thread].row(static_cast<int32_t>(first + r), indices + r * graph.cap, data + r * graph.cap,
                                      dropped + r);
  });
  int64_t end = 0;  // each row was written with `cap` slots: close the gaps
  for (int64_t r = 0; r < rows; ++r) {
    std::memmove(indices + end, indices + r * graph.cap, sizeof(int32_t) * counts[r]);
    std::memmove(data + end, data + r * graph.cap, sizeof(T) * counts[r]);
    end += counts[r];
  }
}

}  // namespace
}  // namespace boostne

#define BOOSTNE_FOR_TYPE(T, SUFFIX)                                                                                 \
  BOOSTNE_API int boostne_push_rows_##SUFFIX(                                                                       \
      int isa, int threads, int64_t first, int64_t last, int64_t n, const int64_t* indptr, const int32_t* adjacent, \
      const T* weights, const T* inverse_degree, const T* target_inverse_degree, int directed, double factor,       \
      double epsilon, int window, int64_t cap, int64_t first_column, int32_t* indices, T* data, int64_t* counts,    \
      double* dropped) {                                                                                            \
    return boostne::guarded([&] {                                                                                   \
      (void)isa; /* not vectorized */                                                                               \
      const auto rows = n * int64_t{sizeof(boostne::Slot<T>)} <= boostne::kDirectBytes                              \
                            ? boostne::push_rows<T, boostne::DirectTable<T>>                                        \
                            : boostne::push_rows<T, boostne::HashTable<T>>;                                         \
      rows(threads, first, last,                                                                                    \
           {n, indptr, adjacent, weights, inverse_degree, target_inverse_degree, directed != 0,                     \
            static_cast<T>(factor), static_cast<T>(epsilon), window, cap, static_cast<int32_t>(first_column)},      \
           indices, data, counts, dropped);                                                                         \
    });                                                                                                             \
  }

BOOSTNE_FOR_TYPE(float, f32)
BOOSTNE_FOR_TYPE(double, f64)
