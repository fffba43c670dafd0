"""The kernels in NumPy: slow, short, and what the compiled ones are tested against."""

from boostne.kernels.reference.kernels import ReferenceKernels

__all__ = ["ReferenceKernels"]
