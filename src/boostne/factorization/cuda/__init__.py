"""The CUDA engine: the residual in the memory of a GPU."""
