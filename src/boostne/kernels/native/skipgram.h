// Skip-gram with negative sampling: what its hot loop takes, one function per instruction set.
#pragma once

#include <cstdint>

#include "random.h"

namespace boostne {

struct Noise {  // alias table over the nodes from which negatives are drawn
  const uint32_t* threshold;
  const int32_t* node;   // drawn where the low half of a random number is below the threshold,
  const int32_t* alias;  // and this one otherwise
  int64_t size;
};

struct TrainPairs {  // one step of gradient descent for each of some pairs, at one rate
  const int32_t* pairs;  // the input and the output of each
  int64_t count;
  int64_t width;  // a multiple of kTile<float>
  float* U;       // rows of the inputs
  float* V;       // rows of the outputs; may be U
  Noise noise;
  int negative;
  float rate;
  uint64_t state;    // of the random numbers
  int32_t* targets;  // 1 + negative numbers, and room to round up to kTargets
  float* steps;      // likewise
  float* input;      // width numbers
};

constexpr int kTargets = 8;  // rows of V scored and updated side by side

// A number below `size`, from the high half of a random number.
static inline int64_t place_of(uint64_t random, int64_t size) {
  return static_cast<int64_t>(((random >> 32) * static_cast<uint64_t>(size)) >> 32);
}

namespace baseline { void train_pairs(const TrainPairs&); }
namespace avx2 { void train_pairs(const TrainPairs&); }
namespace avx512 { void train_pairs(const TrainPairs&); }

}  // namespace boostne
