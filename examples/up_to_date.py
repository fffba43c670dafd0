"""
Keep an embedding up to date
============================

Graphs grow after they were embedded. A fitted model gives vectors to new nodes and follows changed edges in the
same vector space, so that a classifier trained before stays valid.
"""

# %%
# Yesterday's graph lacks a tenth of the nodes.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from boostne import BoostNE, Graph, load_dataset

data = load_dataset("digits")
digits = np.array([data.labels[node][0] for node in data.graph.nodes.tolist()])
rng = np.random.default_rng(0)
new = np.sort(rng.choice(data.graph.n_nodes, 180, replace=False))
known = np.setdiff1d(np.arange(data.graph.n_nodes), new)
yesterday = Graph(data.graph.adjacency[known][:, known], known)
model = BoostNE(dimensions=64, levels=8).fit(yesterday)
classifier = LogisticRegression(max_iter=1000).fit(
    model.embedding_.vectors, digits[known]
)

# %%
# New nodes
# ---------
# ``fold_in`` computes the vectors of new nodes from their edges in today's graph. Nothing is trained again: neither
# the model nor the classifier.
folded = model.fold_in(data.graph)
print(folded)
print(
    f"accuracy on new nodes: {(classifier.predict(folded.vectors) == digits[folded.nodes]).mean():.3f}"
)

# %%
# A new model has another basis: the old classifier is worthless there.
again = BoostNE(dimensions=64, levels=8, random_state=1).fit(data.graph).embedding_
print(
    f"the old classifier on a new fit: {(classifier.predict(again[new]) == digits[new]).mean():.3f}"
)

# %%
# Changed edges
# -------------
# ``update`` makes the new nodes part of the model, and lets known nodes follow changes of their edges.
before = model.embedding_
report = model.update(data.graph)
print(report)
print(
    f"the old classifier after the update: {(classifier.predict(model.embedding_[new]) == digits[new]).mean():.3f}"
)

# %%
# Most known nodes hardly move:
old, moved = before[known], model.embedding_[known]
cosine = (
    (old * moved).sum(axis=1)
    / np.linalg.norm(old, axis=1)
    / np.linalg.norm(moved, axis=1)
)
fig, ax = plt.subplots()
ax.hist(cosine, bins=40)
ax.set(xlabel="cosine of the vectors before and after the update", ylabel="known nodes")
plt.show()

# %%
# ``model.save("model.npz")`` and ``BoostNE.load`` keep a model between two days; on the command line these are
# ``boostne embed --model``, ``transform`` and ``update``. See :doc:`/new-nodes`.
