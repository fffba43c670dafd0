// Arguments of the hot loop of skip-gram with negative sampling.
#pragma once

#include <cstdint>

#include "isa.h"
#include "random.h"

namespace boostne {

struct Noise {  // alias table of the nodes that are drawn as negative samples
  const uint32_t* threshold;
  const int32_t* node;   // drawn if the lower half of a random number is below the threshold
  const int32_t* alias;  // drawn otherwise
  int64_t size;
};

struct TrainPairs {      // one gradient step for each pair, with a constant learning rate
  const int32_t* pairs;  // input and output of each pair
  int64_t count;
  int64_t width;  // a multiple of kTile<float>
  float* U;       // rows of the inputs
  float* V;       // rows of the outputs; may be U
  Noise noise;
  int negative;
  float rate;
  uint64_t state;    // of the random generator
  int32_t* targets;  // 1 + negative values, rounded up to a multiple of kTargets
  float* steps;      // same size as targets
  float* input;      // width values
};

constexpr int kTargets = 8;  // rows of V scored and updated together

// Maps the upper 32 bits of a random number to an index below `size`.
static inline int64_t scaled_index(uint64_t random, int64_t size) {
  return static_cast<int64_t>(((random >> 32) * static_cast<uint64_t>(size)) >> 32);
}

BOOSTNE_DECLARE_FOR_EACH_ISA(void train_pairs(const TrainPairs&))

}  // namespace boostne
