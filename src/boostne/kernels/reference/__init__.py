"""The kernels in NumPy and SciPy: short and slow; the compiled kernels are tested against them."""

from boostne.kernels.reference.kernels import ReferenceKernels

__all__ = ["ReferenceKernels"]
