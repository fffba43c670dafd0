"""Kernels of the CUDA engine."""
