"""Arithmetic of the CUDA engine."""
