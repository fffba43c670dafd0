// Communities by label propagation: one after the other, nodes take the label that weighs most among their neighbors.
//
// Serial, since what a node sees depends on those before it; a pass over the edges of a million nodes takes a tenth of a
// second. kernels/reference.py finds the same communities.

#include <cstdint>
#include <vector>

#include "api.h"

namespace boostne {
namespace {

struct Neighbors {
  const int64_t* indptr;
  const int32_t* indices;
  const float* weights;  // null: all 1
};

class Propagation {
 public:
  Propagation(int64_t n, const Neighbors& graph, int64_t most, int32_t* labels)
      : graph_(graph), most_(most), labels_(labels), size_(n, 1), score_(n) {
    for (int64_t v = 0; v < n; ++v) labels_[v] = static_cast<int32_t>(v);
  }

  // Returns whether a node took another label. One that is held by `most_` nodes is not taken.
  bool visit(int64_t v) {
    seen_.clear();
    for (int64_t e = graph_.indptr[v]; e < graph_.indptr[v + 1]; ++e) {
      const int32_t label = labels_[graph_.indices[e]];
      if (score_[label] == 0) seen_.push_back(label);
      score_[label] += graph_.weights ? graph_.weights[e] : 1;
    }
    const int32_t own = labels_[v];
    int32_t best = own;
    for (int32_t label : seen_)
      if (score_[label] > score_[best] && size_[label] < most_) best = label;
    for (int32_t label : seen_) score_[label] = 0;
    if (best == own) return false;
    --size_[own];
    ++size_[best];
    labels_[v] = best;
    return true;
  }

 private:
  const Neighbors graph_;
  const int64_t most_;
  int32_t* labels_;
  std::vector<int32_t> seen_;  // labels of the neighbors
  std::vector<int64_t> size_;  // nodes that hold a label
  std::vector<double> score_;  // weight of a label among the neighbors of the node in hand
};

}  // namespace
}  // namespace boostne

// At most `rounds` visits to all nodes; fewer once only `settled` of them change.
BOOSTNE_API void boostne_communities(int64_t n, const int64_t* indptr, const int32_t* indices, const float* weights,
                                     int64_t most, int rounds, int64_t settled, int32_t* labels) {
  boostne::Propagation propagation(n, {indptr, indices, weights}, most, labels);
  for (int round = 0; round < rounds; ++round) {
    int64_t changed = 0;
    for (int64_t v = 0; v < n; ++v) changed += propagation.visit(v);
    if (changed <= settled) break;
  }
}
