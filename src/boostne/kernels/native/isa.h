// The instruction sets that the hot loops are compiled for, in the order of native.INSTRUCTION_SETS.
#pragma once

namespace boostne {

enum Isa { kBaseline = 0, kAvx2 = 1, kAvx512 = 2 };

}  // namespace boostne
