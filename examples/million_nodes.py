"""
Embed a million nodes
=====================

Two cores embed a million nodes and five million edges in a minute, with 1.8 GB of memory,
and ten million nodes in 15 minutes, with 12.2 GB (:doc:`measurements </large-graphs>`).
The page you read was built with a smaller graph; set ``NODES`` to 1,000,000 to try it.
"""

# %%
import resource
import time

import matplotlib.pyplot as plt
import numpy as np

from boostne import BoostNE, evaluate, planted_partition

NODES = 21_000
data = planted_partition(NODES, communities=50)
print(data.graph)

# %%
# Time and memory in advance
# --------------------------
# ``boostne estimate edges.csv`` prints how much memory a fit will take. If it does not fit, ``memory_limit``
# chooses a smaller matrix, or the fit is refused before it starts.
model = BoostNE(dimensions=64, levels=4, memory_limit="4GB")
start = time.process_time()
model.fit(data.graph)
seconds = time.process_time() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
for name, value in model.settings_.items():
    print(f"{name:15} {value}")
print(f"{seconds:.0f} s of CPU time, at most {peak:.1f} GB of memory in this process")

# %%
# Above 20,000 nodes the form of the matrix is "push": the largest entries of each row. ``dropped_mass_`` tells
# which share of the random walks of each node was left out.
print(f"{model.max_per_row_} entries per row at most")
print(f"{model.dropped_mass_.mean():.2f} of the walks dropped")

# %%
# Is it still good?
# -----------------
# A classifier is trained on 5,000 labeled nodes.
rng = np.random.default_rng(0)
some = rng.choice(NODES, 5000, replace=False)
labels = {int(node): data.labels[int(node)][0] for node in some}
print(evaluate(model.embedding_, labels, train=[50], repeats=2, classifier="fast"))

# %%
# Where the time goes
# -------------------
# ``progress=True`` shows a bar; a function gets every step.
stages, clock = {}, {"last": time.perf_counter()}


def record(progress):
    now = time.perf_counter()
    stages[progress.stage] = stages.get(progress.stage, 0) + now - clock["last"]
    clock["last"] = now


BoostNE(dimensions=32, levels=2).fit(data.graph, progress=record)
total = sum(stages.values())
for stage, taken in stages.items():
    print(f"{stage:20} {taken / total:4.0%}")

# %%
# At every size
# -------------
# Time and memory of ``boostne embed``, from a text file to a saved embedding, as measured by ``python -m benchmarks
# large`` on two cores of an AMD EPYC (``benchmarks/results/large.json``): both grow nearly linearly.
nodes = [100_000, 1_000_000, 10_000_000]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
axes[0].loglog(nodes, [7.8, 58, 909], marker="o")
axes[0].set(xlabel="nodes", ylabel="seconds", title="time")
axes[1].loglog(nodes, [0.61, 1.8, 12.2], marker="o", color="#d55e00")
axes[1].set(xlabel="nodes", ylabel="GB", title="peak memory")
for ax in axes:
    ax.grid(alpha=0.3)
plt.show()

# %%
# On disk, a million edges of text are read in a second; Parquet is faster still and keeps types. For more nodes
# than one machine can hold, see :doc:`on_a_cluster`; for the measurements and other libraries, :doc:`/large-graphs`.
