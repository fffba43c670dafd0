// The splitmix64 generator (Steele, Lea and Flood); reference/splitmix.py generates the same numbers.
#pragma once

#include <cstdint>

namespace boostne {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

// Static, so that each instruction set has its own copy.
static inline uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

static inline uint64_t next_random(uint64_t& state) { return mix(state += kGolden); }

}  // namespace boostne
