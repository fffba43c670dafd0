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
# :doc:`/gpu` has measurements: on an H200, the matrix of a network with 10,000 nodes and 334,000 edges and its
# eight levels take 0.09 s.
