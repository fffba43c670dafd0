// Exported functions of the shared library.
#pragma once

#include <new>
#include <stdexcept>

#if defined(_WIN32)
#define BOOSTNE_API extern "C" __declspec(dllexport)
#else
#define BOOSTNE_API extern "C" __attribute__((visibility("default")))
#endif

namespace boostne {

enum Status { kOk = 0, kOutOfMemory = 1, kFailed = 2 };  // raise_for_status in library.py converts them to exceptions

// Calls body() and returns its status. An exception that left an exported function would end the process.
template <class Body> int guarded(const Body& body) noexcept {
  try {
    body();
    return kOk;
  } catch (const std::bad_alloc&) {
    return kOutOfMemory;
  } catch (const std::length_error&) {  // a vector of more bytes than there are addresses
    return kOutOfMemory;
  } catch (...) {
    return kFailed;
  }
}

}  // namespace boostne
