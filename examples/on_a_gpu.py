"""
On a GPU
========

``engine="cuda"`` builds and factorizes the matrix on an NVIDIA GPU: ``pip install "boostne[gpu]"``. The site was
built on a machine without one, so this page shows what happens on both.
"""

# %%
import numpy as np

from boostne import BoostNE, planted_partition
from boostne.errors import BoostneError

graph = planted_partition(3000, communities=10).graph

# %%
# Use a GPU if there is one
# -------------------------
# With ``engine="auto"`` the same script runs everywhere; ``engine_`` says which engine was used.
model = BoostNE(dimensions=32, levels=4, engine="auto").fit(graph)
print(model.engine_, model.embedding_)

# %%
# Insist on a GPU
# ---------------
# ``engine="cuda"`` is an error without a GPU, instead of a slow run.
try:
    BoostNE(dimensions=32, levels=4, engine="cuda").fit(graph)
    print("fitted on the GPU")
except BoostneError as error:
    print(error)

# %%
# The results
# -----------
# are those of the CPU up to rounding, and identical between two runs on the same GPU.
local = BoostNE(dimensions=32, levels=4).fit(graph)
difference = np.abs(model.embedding_.vectors - local.embedding_.vectors).max()
print(f"largest difference: {difference:.1e}")

# %%
# How much faster
# ---------------
# An NVIDIA H200 and 16 cores of the same machine, on a network with 10,000 nodes and 334,000 edges, measured by
# ``python -m benchmarks gpu`` (``benchmarks/results/gpu.json``, :doc:`/gpu`).
import matplotlib.pyplot as plt

parts = ["exact X", "eight levels", "fit, exact X", "fit, spectral X"]
cores, gpu = [0.76, 0.76, 1.53, 9.7], [0.034, 0.051, 0.095, 1.1]
place = np.arange(len(parts))
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.barh(place - 0.2, cores, 0.4, label="16 cores")
ax.barh(place + 0.2, gpu, 0.4, label="GPU")
ax.set(yticks=place, yticklabels=parts, xscale="log", xlabel="seconds")
ax.invert_yaxis()
ax.legend()
plt.show()
