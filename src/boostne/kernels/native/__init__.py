"""The compiled kernels: C++ behind a C ABI, and its bindings."""
