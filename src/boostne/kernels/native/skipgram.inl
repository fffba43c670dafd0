// Hot loop of skip-gram, compiled once per instruction set.
#pragma once

#include "skipgram.h"

#include "row_kernels.inl"

namespace boostne {
namespace BOOSTNE_ISA {
namespace {

constexpr int kLanes = kWide<float>;
constexpr int kScoreLanes = kLanes < kTargets ? kLanes : kTargets;
using Wide = Lanes<float, kLanes>::type;
using Scores = Lanes<float, kScoreLanes>::type;
using ScoreIntegers = Lanes<int32_t, kScoreLanes>::type;

template <class Vec, int... I> inline Scores fold(Vec v, Indices<I...>) {
  if constexpr (kLanes == kScoreLanes)
    return v;
  else
    return __builtin_shufflevector(v, v, I...) + __builtin_shufflevector(v, v, (kScoreLanes + I)...);
}

// scores[k] = sum of the lanes of v[k]
inline void sum_lanes(const Wide* v, float* scores) {
  Scores folded[kTargets];
  for (int k = 0; k < kTargets; ++k) folded[k] = fold(v[k], MakeIndices<kScoreLanes>::type());
  for (int k = 0; k < kTargets; k += kScoreLanes)
    store(scores + k, SumLanes<float, kScoreLanes, kScoreLanes / 2>::of(folded + k));
}

// scores[k] = x . V[targets[k]] for K targets
template <int K> void score(const float* x, const float* V, const int32_t* targets, int64_t width, float* scores) {
  const float* row[K];
  for (int k = 0; k < K; ++k) row[k] = V + targets[k] * width;
  Wide sum[kTargets];
  for (int k = 0; k < kTargets; ++k) sum[k] = Wide{};
  for (int64_t c = 0; c < width; c += kLanes) {
    const Wide xc = load<Wide>(x + c);
    for (int k = 0; k < K; ++k) sum[k] += xc * load<Wide>(row[k] + c);
  }
  sum_lanes(sum, scores);
}

// u += sum_k steps[k] V[targets[k]], V[targets[k]] += steps[k] x, in the order of k: a target may occur twice and may
// be the row of u.
template <int K>
void update(const float* x, float* V, const int32_t* targets, int64_t width, const float* steps, float* u) {
  float* row[K];
  for (int k = 0; k < K; ++k) row[k] = V + targets[k] * width;
  for (int64_t c = 0; c < width; c += kLanes) {
    const Wide xc = load<Wide>(x + c);
    Wide change{};
    for (int k = 0; k < K; ++k) {
      const Wide r = load<Wide>(row[k] + c);
      change += steps[k] * r;
      store(row[k] + c, r + steps[k] * xc);
    }
    store(u + c, load<Wide>(u + c) + change);
  }
}

using Score = void (*)(const float*, const float*, const int32_t*, int64_t, float*);
using Update = void (*)(const float*, float*, const int32_t*, int64_t, const float*, float*);
constexpr Score kScore[] = {nullptr, score<1>, score<2>, score<3>, score<4>, score<5>, score<6>, score<7>, score<8>};
constexpr Update kUpdate[] = {nullptr,   update<1>, update<2>, update<3>, update<4>,
                              update<5>, update<6>, update<7>, update<8>};

// exp(x), accurate to a few ulp for |x| < 87: 2^k times the Taylor series of exp(f), |f| <= log(2) / 2.
inline Scores vector_exp(Scores x) {
  const Scores t = x * 1.44269504f;
  const ScoreIntegers k = __builtin_convertvector(t + (t < 0 ? Scores{} - 0.5f : Scores{} + 0.5f), ScoreIntegers);
  const Scores whole = __builtin_convertvector(k, Scores);
  const Scores f = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;  // log(2) split in two, the first part exact
  Scores series = f * (1.0f / 720) + 1.0f / 120;
  series = series * f + 1.0f / 24;
  series = series * f + 1.0f / 6;
  series = series * f + 0.5f;
  series = series * f + 1.0f;
  series = series * f + 1.0f;
  return series * reinterpret_cast<Scores>((k + 127) << 23);
}

// steps[k] = rate (label - sigmoid(score)), where the label is 1 for the pair's output, which is the first target.
inline void scores_to_steps(float* scores, int count, float rate) {
  const float limit = 80.0f;
  for (int k = 0; k < count; k += kScoreLanes) {
    Scores x = load<Scores>(scores + k);
    x = x > limit ? Scores{} + limit : x;  // propagates NaN
    x = x < -limit ? Scores{} - limit : x;
    store(scores + k, -rate / (1.0f + vector_exp(-x)));
  }
  scores[0] += rate;
}

}  // namespace

void train_pairs(const TrainPairs& s) {
  const int count = 1 + s.negative;
  const int groups = (count + kTargets - 1) / kTargets;
  const int last = count - (groups - 1) * kTargets;
  uint64_t state = s.state;
  for (int64_t q = 0; q < s.count; ++q) {
    float* u = s.U + s.pairs[2 * q] * s.width;
    const int32_t output = s.targets[0] = s.pairs[2 * q + 1];
    for (int k = 1; k < count; ++k) {
      const uint64_t random = next_random(state);
      const int64_t slot = scaled_index(random, s.noise.size);
      s.targets[k] = static_cast<uint32_t>(random) < s.noise.threshold[slot] ? s.noise.node[slot] : s.noise.alias[slot];
    }
    const float* x = u;
    if (groups > 1) {  // later groups must not see the first group's update of u
      for (int64_t c = 0; c < s.width; ++c) s.input[c] = u[c];
      x = s.input;
    }
    for (int g = 0; g < groups; ++g)
      kScore[g + 1 < groups ? kTargets : last](x, s.V, s.targets + g * kTargets, s.width, s.steps + g * kTargets);
    scores_to_steps(s.steps, groups * kTargets, s.rate);
    for (int k = 1; k < count; ++k)
      if (s.targets[k] == output) s.steps[k] = 0;
    for (int g = 0; g < groups; ++g)
      kUpdate[g + 1 < groups ? kTargets : last](x, s.V, s.targets + g * kTargets, s.width, s.steps + g * kTargets, u);
  }
}

}  // namespace BOOSTNE_ISA
}  // namespace boostne
