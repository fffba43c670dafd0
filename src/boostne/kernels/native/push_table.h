// What a push knows of the nodes that it has reached, in slots.
//
// A row reaches some thousand nodes here and there. In a small graph each node has a slot of its own; in a large one
// that would be a wait for memory at nearly every node, and a table with slots for those few stays in the cache.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace boostne {

template <class T>
struct Slot {
  int32_t node;   // -1: none
  T next, total;  // mass that arrives in this step, and has arrived in all
  T inverse_degree;
};

template <class T>
constexpr Slot<T> kEmpty = {-1, T(0), T(0), T(0)};

// A slot for every node.
template <class T>
class DirectTable {
 public:
  struct View {
    Slot<T>* slots;
    int64_t find(int32_t node) const { return node; }
  };

  explicit DirectTable(int64_t n) : slots_(n, kEmpty<T>) {}
  View view() { return {slots_.data()}; }
  void make_room(int64_t, int32_t*, int64_t, int32_t*, int64_t) {}
  void suit(int64_t) {}

 private:
  std::vector<Slot<T>> slots_;
};

// At most half of the slots are taken, so that the next one to that which a node should have is nearly always free.
template <class T>
class HashTable {
 public:
  struct View {
    Slot<T>* slots;
    int shift;
    int64_t mask;
    // The slot of a node, or the empty one that it should get.
    int64_t find(int32_t node) const {
      int64_t i = (static_cast<uint32_t>(node) * 0x9E3779B1u) >> shift;  // 2^32 by the golden ratio
      while (slots[i].node != node && slots[i].node >= 0) i = (i + 1) & mask;
      return i;
    }
  };

  explicit HashTable(int64_t) { resize(kLeastBits); }
  View view() { return {slots_.data(), 32 - bits_, size() - 1}; }

  // Makes room for `more` nodes beside the `reached` ones; the slots in both lists become those of the new table.
  void make_room(int64_t more, int32_t* reached, int64_t n_reached, int32_t* others, int64_t n_others) {
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

  // Makes an empty table smaller that was enlarged for a hub, where the last row reached but so many nodes.
  void suit(int64_t n_reached) {
    int bits = bits_;
    while (bits > kLeastBits && 8 * n_reached < int64_t{1} << bits) --bits;
    if (bits < bits_) resize(bits);
  }

 private:
  static constexpr int kLeastBits = 14;
  int64_t size() const { return int64_t{1} << bits_; }
  void resize(int bits) {
    bits_ = bits;
    slots_.assign(size(), kEmpty<T>);
  }

  int bits_;  // of the number of slots
  std::vector<Slot<T>> slots_;
};

}  // namespace boostne
