"""
On a cluster
============

The rows of a large matrix can be distributed over the workers of a Dask cluster. The result has the same bits as
that of one machine. Here the cluster is two worker processes on this machine; on real ones, only the address
changes.
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
    LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=False) as cluster,
    Client(cluster) as client,
):
    model = BoostNE(dimensions=32, levels=4, engine=client).fit(graph)
print(model.engine_, model.embedding_)

# %%
# The same bits
# -------------
print(np.array_equal(model.embedding_.vectors, local.embedding_.vectors))

# %%
# From the command line, ``boostne embed edges.csv -o vectors.npz --workers 2`` starts and stops the workers by
# itself, and ``--scheduler ADDRESS`` uses a cluster that is running. With ``-o FOLDER/`` each worker writes its own
# rows, so that the embedding never has to fit on one machine. :doc:`/cluster` has the memory per worker, what
# happens if a worker dies, and how to secure a cluster.
