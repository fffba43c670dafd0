// Summation of shard results in an order that does not depend on the number of threads or machines.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace boostne {

// Adds the sums of shards as a binary tree over the shard numbers: 0 + 1, 2 + 3, (0 + 1) + (2 + 3) and so on. A node of
// the tree depends on its own shards only, so its sum is the same wherever it is computed.
template <class T> class ShardTree {
 public:
  ShardTree(T* buffers, int64_t count, int64_t size) : size_(size) {
    for (int64_t b = count; b-- > 0;) free_.push_back(buffers + b * size);
  }

  // Returns a free buffer.
  T* acquire() {
    std::lock_guard<std::mutex> lock(mutex_);
    T* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  // Adds the sum of one shard; shards must be added in order. The tree takes ownership of the buffer.
  void add(int64_t shard, T* buffer) {
    Node node{0, shard, buffer};
    while (!nodes_.empty() && node.index % 2 == 1 && nodes_.back().level == node.level &&
           nodes_.back().index == node.index - 1) {
      T* left = nodes_.back().sum;
      for (int64_t i = 0; i < size_; ++i) left[i] += node.sum[i];
      release(node.sum);
      node = {node.level + 1, node.index / 2, left};
      nodes_.pop_back();
    }
    nodes_.push_back(node);
  }

  // Nodes whose parents are incomplete, in shard order.
  int64_t size() const { return static_cast<int64_t>(nodes_.size()); }
  const T* sum(int64_t node) const { return nodes_[node].sum; }

 private:
  struct Node {
    int64_t level, index;
    T* sum;
  };
  void release(T* buffer) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(buffer);
  }

  int64_t size_;
  std::mutex mutex_;
  std::vector<T*> free_;
  std::vector<Node> nodes_;
};

}  // namespace boostne
