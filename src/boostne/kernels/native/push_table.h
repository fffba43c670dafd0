// The nodes reached by a push, in a table of slots.
//
// A row reaches a few thousand nodes at random positions. In a small graph each node has its own slot. In a large graph
// this would cause a cache miss at almost every node; a hash table of the reached nodes stays in the cache.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace boostne {

template <class T> struct Slot {
  int32_t node;   // -1: empty
  T next, total;  // mass that arrives in this step, and in all steps
  T inverse_degree;
};

template <class T> constexpr Slot<T> kEmpty = {-1, T(0), T(0), T(0)};

// One slot per node.
template <class T> class DirectTable {
 public:
  struct View {
    Slot<T>* slots;
    int64_t find(int32_t node) const { return node; }
  };

  explicit DirectTable(int64_t n) : slots_(n, kEmpty<T>) {}
  View view() { return {slots_.data()}; }
  void reserve(int64_t, int32_t*, int64_t, int32_t*, int64_t) {}
  void shrink_to_fit(int64_t) {}

 private:
  std::vector<Slot<T>> slots_;
};

// Open addressing with linear probing; at most half of the slots are occupied.
template <class T> class HashTable {
 public:
  struct View {
    Slot<T>* slots;
    int shift;
    int64_t mask;
    // Returns the slot of a node, or the empty slot in which to insert it.
    int64_t find(int32_t node) const {
      int64_t i = (static_cast<uint32_t>(node) * 0x9E3779B1u) >> shift;  // 2^32 / golden ratio
      while (slots[i].node != node && slots[i].node >= 0) i = (i + 1) & mask;
      return i;
    }
  };

  explicit HashTable(int64_t) { resize(kMinBits); }
  View view() { return {slots_.data(), 32 - bits_, size() - 1}; }

  // Reserves slots for `more` nodes in addition to the `reached` ones; both lists are updated to the new slot numbers.
  void reserve(int64_t more, int32_t* reached, int64_t n_reached, int32_t* others, int64_t n_others) {
    int bits = bits_;
    while (2 * (n_reached + more) > int64_t{1} << bits) ++bits;
    if (bits == bits_) return;
    std::vector<Slot<T>> before = std::move(slots_);
    resize(bits);
    for (int64_t q = 0; q < n_reached; ++q) {
      Slot<T>& from = before[reached[q]];
      const int64_t to = view().find(from.node);
      slots_[to] = from;
      reached[q] = from.node = static_cast<int32_t>(to);
    }
    for (int64_t q = 0; q < n_others; ++q) others[q] = before[others[q]].node;
  }

  // Shrinks an empty table that was enlarged for a hub, given the number of nodes that the last row reached.
  void shrink_to_fit(int64_t n_reached) {
    int bits = bits_;
    while (bits > kMinBits && 8 * n_reached < int64_t{1} << bits) --bits;
    if (bits < bits_) resize(bits);
  }

 private:
  static constexpr int kMinBits = 14;
  int64_t size() const { return int64_t{1} << bits_; }
  void resize(int bits) {
    bits_ = bits;
    slots_.assign(size(), kEmpty<T>);
  }

  int bits_;  // binary logarithm of the number of slots
  std::vector<Slot<T>> slots_;
};

}  // namespace boostne
