"""
On a cluster
============

The rows of a large matrix can be distributed over the workers of a Dask cluster. The result has the same bits as
that of one machine. Here the cluster is two workers on this machine; on real ones, only the address changes.
"""

# %%
import numpy as np

from boostne import BoostNE, planted_partition

graph = planted_partition(3000, communities=10).graph
local = BoostNE(dimensions=32, levels=4).fit(graph)

# %%
# A cluster on this machine
# -------------------------
# ``dask scheduler`` and ``dask worker`` start the same on several machines; then pass the scheduler's address:
# ``BoostNE(engine="tcp://10.0.0.1:8786")``.
from distributed import Client, LocalCluster

with (
    LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        processes=False,
    ) as cluster,
    Client(cluster) as client,
):
    model = BoostNE(dimensions=32, levels=4, engine=client).fit(graph)
print(model.engine_, model.embedding_)

# %%
# The same bits
# -------------
# A worker builds its rows of X, keeps them for all levels, and computes the same rows of U. V is shared: each worker
# updates a part of it and sends the part to the others. Sums are added in the order of the local engine, so that the
# result has the same bits for any number of workers.
print(np.array_equal(model.embedding_.vectors, local.embedding_.vectors))

# sphinx_gallery_start_ignore
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
ax.set(xlim=(0, 11), ylim=(-0.6, 4.1))
ax.axis("off")
colors = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"]
for i, color in enumerate(colors):
    y = 3 - i
    ax.text(1.5, y + 0.5, f"worker {i + 1}", ha="right", va="center", fontsize=12)
    for x, width in ((1.8, 4), (6.4, 0.7)):
        ax.add_patch(plt.Rectangle((x, y), width, 0.92, facecolor=color, alpha=0.75))
    for j, other in enumerate(colors):
        ax.add_patch(
            plt.Rectangle((8 + 0.65 * j, y), 0.62, 0.92, facecolor=other, alpha=0.75)
        )
for x, text in ((3.8, "rows of X"), (6.75, "rows of U"), (9.3, "all of V")):
    ax.text(x, -0.2, text, ha="center", va="top", fontsize=12)
plt.show()
# sphinx_gallery_end_ignore

# %%
# From the command line, ``boostne embed edges.csv -o vectors.npz --workers 2`` starts and stops the workers by
# itself, and ``--scheduler ADDRESS`` uses a cluster that is running. With ``-o FOLDER/`` each worker writes its own
# rows, so that the embedding never has to fit on one machine. :doc:`/cluster` has the memory per worker, what
# happens if a worker dies, and how to secure a cluster.
