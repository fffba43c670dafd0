// Exported functions of the shared library.
#pragma once

#if defined(_WIN32)
#define BOOSTNE_API extern "C" __declspec(dllexport)
#else
#define BOOSTNE_API extern "C" __attribute__((visibility("default")))
#endif
