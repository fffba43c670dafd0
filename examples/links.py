"""
Predict links
=============

Which pairs of nodes will be connected next? The product or the cosine of two vectors is a score of a pair. This
tutorial measures how good these scores are without the most common mistake, and then ranks candidates.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from boostne import (
    BoostNE,
    SpectralClustering,
    evaluate_links,
    planted_partition,
    split_links,
)

graph = planted_partition(1000, communities=20, mean_degree=12).graph
print(graph)

# %%
# Measure
# -------
# :func:`~boostne.evaluate_links` removes test edges *before* it embeds the graph. A pair that was present in
# training says nothing about prediction: its two nodes are similar because they are connected.
model = BoostNE(dimensions=64, levels=4)
for method in (model, SpectralClustering(dimensions=64)):
    result = evaluate_links(method, graph, repeats=2, operator=["cosine", "hadamard"])
    print(result)

# %%
# The score "cosine" learns nothing; "hadamard" trains a logistic regression on the elementwise product of the two
# vectors. The mistake looks like this: embed the whole graph, then score its own edges.
split = split_links(graph, test=0.2, seed=0)


def cosines(embedding, pairs):
    vectors = embedding.vectors / np.linalg.norm(
        embedding.vectors, axis=1, keepdims=True
    ).clip(1e-12)
    return (vectors[pairs[:, 0]] * vectors[pairs[:, 1]]).sum(axis=1)


def auc(embedding):
    edges, others = cosines(embedding, split.edges), cosines(embedding, split.non_edges)
    return (edges[:, None] > others[None]).mean()


honest = model.fit(split.training).embedding_
leaking = BoostNE(dimensions=64, levels=4).fit(graph).embedding_
print(f"AUC of held-out edges: {auc(honest):.3f}; with the leak: {auc(leaking):.3f}")

# %%
fig, ax = plt.subplots()
bins = np.linspace(0, 1, 30)
ax.hist(cosines(honest, split.non_edges), bins, alpha=0.6, label="non-edges")
ax.hist(cosines(honest, split.edges), bins, alpha=0.6, label="held-out edges")
ax.set(xlabel="cosine of the two vectors", ylabel="pairs")
ax.legend()
plt.show()

# %%
# Rank candidates
# ---------------
# For one node, the most similar nodes that it is not connected to are the candidates.
node = 7
known = set(graph.nodes[graph.adjacency[[node]].indices].tolist())
candidates = [
    (other, round(score, 3))
    for other, score in leaking.most_similar(node, n=30)
    if other not in known
]
print(candidates[:5])

# %%
# For users and items, ``model.recommend`` does this (:doc:`directed_and_bipartite`).
