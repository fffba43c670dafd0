"""
Find communities at several scales
==================================

Networks have groups within groups. The first levels of an embedding separate the large ones, and later levels the
small ones. This tutorial builds a graph with three scales of communities and finds all of them.
"""

# %%
# A graph with communities within communities
# -------------------------------------------
# 512 nodes are in 4 large groups, each of 4 medium ones, each of 4 small ones; the closer two nodes are in this
# hierarchy, the more likely they are connected.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize

from boostne import BoostNE, as_graph, load_dataset

rng = np.random.default_rng(0)
small = np.repeat(np.arange(64), 8)
truth = {4: small // 16, 16: small // 4, 64: small}
shared = sum(np.equal.outer(groups, groups).astype(int) for groups in truth.values())
probability = np.array([0.005, 0.03, 0.15, 0.8])[shared]
adjacency = np.triu(rng.random(probability.shape) < probability, 1)
graph = as_graph((adjacency | adjacency.T).astype(float))
print(graph)

# %%
# Embed it once
# -------------
model = BoostNE(dimensions=64, levels=8, window=5, propagation=0).fit(graph)
embedding = model.embedding_

# %%
# Cluster the levels
# ------------------
# k-means on the first levels finds the four large groups; for the 64 small groups all levels are needed. NMI is 1
# if the clusters are the groups.
for count, groups in truth.items():
    row = []
    for levels in (1, 2, 4, 8):
        vectors = normalize(embedding.up_to(levels).vectors)
        found = KMeans(count, n_init=4, random_state=0).fit_predict(vectors)
        row.append(normalized_mutual_info_score(groups, found))
    print(
        f"{count:2} groups, NMI with levels 1 to 1, 2, 4, 8:",
        *(f"{value:.2f}" for value in row),
    )

# %%
# The maps show the same: level 1 alone, then all levels. Colors are the four large groups.
fig, axes = plt.subplots(1, 2, figsize=(10, 5))
labels = dict(enumerate(truth[4].tolist()))
for ax, level in zip(axes, (1, None), strict=True):
    embedding.plot(labels, level=level, ax=ax)
plt.show()

# %%
# The karate club
# ---------------
# A karate club split in two after a quarrel. Its 78 friendships before the split are enough to tell who went where.
karate = load_dataset("karate")
club = BoostNE(dimensions=8, levels=2, window=3).fit(karate.graph).embedding_
found = KMeans(2, n_init=10, random_state=0).fit_predict(normalize(club.vectors))
factions = np.array([karate.labels[node][0] for node in club.nodes.tolist()])
print(
    f"NMI of two clusters and the two factions: {normalized_mutual_info_score(factions, found):.2f}"
)
ax = club.plot(karate.labels)
plt.show()

# %%
# :func:`~boostne.evaluate_clusters` repeats this with several seeds. For graphs of your own, ``boostne explore``
# shows the maps of all levels in the browser (:doc:`/explorer`).
