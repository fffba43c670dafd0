// Vectors for reading and writing here and there.
//
// A processor remembers where some two thousand pages are. An array of tens of megabytes on pages of 4 kB has more, and
// nearly every access to it looks up its page first; on pages of 2 MB it does not. Linux gives those to who asks.
#pragma once

#include <vector>

#ifdef __linux__
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#endif

namespace boostne {

#ifdef __linux__
template <class T>
struct LargePages {
  using value_type = T;
  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}

  T* allocate(size_t size) {
    constexpr size_t page = size_t{1} << 21;
    const size_t bytes = (size * sizeof(T) + page - 1) / page * page;
    void* memory = std::aligned_alloc(page, bytes);
    if (!memory) throw std::bad_alloc();
    madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: where it is not granted, small pages do
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }

  template <class U>
  bool operator==(const LargePages<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const LargePages<U>&) const {
    return false;
  }
};
template <class T>
using LargeVector = std::vector<T, LargePages<T>>;
#else
template <class T>
using LargeVector = std::vector<T>;
#endif

}  // namespace boostne
