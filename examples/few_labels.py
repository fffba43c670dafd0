"""
Classify nodes with few labels
==============================

Labels are expensive: often only one node in a hundred has one. This tutorial embeds the graph of the handwritten
digits without any label, trains a classifier on a few labeled nodes, and compares eight levels with one and with
other methods.
"""

# %%
# The graph links each of 1,797 images of handwritten digits to its ten nearest neighbors. The embedding uses only
# these links.
import matplotlib.pyplot as plt

from boostne import BoostNE, DeepWalk, SpectralClustering, evaluate, load_dataset

data = load_dataset("digits")
print(data.graph)
model = BoostNE(dimensions=128, levels=8).fit(data.graph)
print(model.embedding_)

# %%
# Eight levels against one
# ------------------------
# :func:`~boostne.evaluate` draws training nodes at random, trains one logistic regression per label on their
# vectors, and predicts the labels of all other nodes. With 1 % of the nodes, there are two labeled images per
# digit.
percentages = [1, 2, 5, 10, 50]
methods = {
    "BoostNE, 8 levels of 16": model,
    "BoostNE, 1 level of 128": BoostNE(dimensions=128, levels=1),
    "DeepWalk": DeepWalk(dimensions=128, walks=10),
    "SpectralClustering": SpectralClustering(dimensions=128),
}
scores = {}
for name, method in methods.items():
    embedding = method.fit(data.graph).embedding_
    scores[name] = evaluate(
        embedding, data.labels, train=percentages, repeats=5, classifier="fast"
    ).mean("micro")
    print(f"{name:24}", *(f"{score:.3f}" for score in scores[name]))

# %%
fig, ax = plt.subplots()
for name, values in scores.items():
    ax.plot(percentages, values, marker="o", label=name)
ax.set(
    xscale="log",
    xlabel="labeled nodes, %",
    ylabel="Micro-F1",
    xticks=percentages,
    xticklabels=percentages,
)
ax.legend()
plt.show()

# %%
# With few labels the levels help most; with half of them, all methods are close. The reason is in the columns:
# the first level holds the coarse structure in a few large components, which a regularized classifier trusts with
# little evidence, and later levels refine it.
#
# Which level does the work?
# --------------------------
# An :class:`~boostne.Embedding` can be cut off after any level.
for levels in (1, 2, 4, 8):
    part = model.embedding_.up_to(levels)
    micro = evaluate(part, data.labels, train=2, repeats=5, classifier="fast").mean(
        "micro"
    )
    print(
        f"levels 1 to {levels}: {part.dimensions:3} dimensions, Micro-F1 {micro[0]:.3f} with 2 % of the labels"
    )

# %%
# Use your own classifier
# -----------------------
# Vectors come with node ids, so that they can be matched with labels from anywhere. Here two images of each digit
# are labeled.
import numpy as np
from sklearn.linear_model import LogisticRegression

digits = np.array([data.labels[node][0] for node in data.graph.nodes.tolist()])
training = np.concatenate([np.flatnonzero(digits == digit)[:2] for digit in range(10)])
classifier = LogisticRegression(max_iter=1000).fit(
    model.embedding_[training], digits[training]
)
predicted = classifier.predict(model.embedding_.vectors)
print(
    f"{len(training)} labeled images, accuracy on the others: {np.delete(predicted == digits, training).mean():.3f}"
)

# %%
# See :doc:`/evaluation` for what can go wrong when scores are measured, :doc:`/tuning` for a search of the
# parameters, and :doc:`/which-method` for measurements on five data sets.
