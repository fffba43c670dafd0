// What the shared library exports.
#pragma once

#if defined(_WIN32)
#define BOOSTNE_API extern "C" __declspec(dllexport)
#else
#define BOOSTNE_API extern "C" __attribute__((visibility("default")))
#endif
