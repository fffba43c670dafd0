// The order in which sums of shards are added: the same on any number of threads and of machines.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace boostne {

// Sums of shards, put together as a binary tree over their numbers: 0 + 1, 2 + 3, (0 + 1) + (2 + 3) and so on. A
// node of the tree depends on its own shards alone, so that it is the same number wherever it was summed.
template <class T>
class ShardTree {
 public:
  ShardTree(T* buffers, int64_t count, int64_t size) : size_(size) {
    for (int64_t b = count; b-- > 0;) free_.push_back(buffers + b * size);
  }

  T* take() {
    std::lock_guard<std::mutex> lock(mutex_);
    T* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }

  // The sum of one shard, in the order of their numbers; the buffer is the tree's from then on.
  void put(int64_t shard, T* buffer) {
    Node node{0, shard, buffer};
    while (!nodes_.empty() && node.index % 2 == 1 && nodes_.back().level == node.level &&
           nodes_.back().index == node.index - 1) {
      T* left = nodes_.back().sum;
      for (int64_t i = 0; i < size_; ++i) left[i] += node.sum[i];
      give_back(node.sum);
      node = {node.level + 1, node.index / 2, left};
      nodes_.pop_back();
    }
    nodes_.push_back(node);
  }

  // Nodes whose parents need shards that were not put, in the order of their shards.
  int64_t size() const { return static_cast<int64_t>(nodes_.size()); }
  const T* sum(int64_t node) const { return nodes_[node].sum; }

 private:
  struct Node {
    int64_t level, index;
    T* sum;
  };
  void give_back(T* buffer) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(buffer);
  }

  int64_t size_;
  std::mutex mutex_;
  std::vector<T*> free_;
  std::vector<Node> nodes_;
};

}  // namespace boostne
