"""
What each parameter does, in pictures
=====================================

``BoostNE()`` chooses its settings for the graph. This page changes one parameter at a time on two graphs, and shows
what happens to the Micro-F1 with 2 % and with 50 % of the labels.
"""

# %%
import matplotlib.pyplot as plt

from boostne import BoostNE, DeepWalkMatrix, evaluate, load_dataset, planted_partition

data = load_dataset("digits")


def score(embedding):
    """Micro-F1 with 2 % and with 50 % of the labels."""
    return evaluate(
        embedding, data.labels, train=[2, 50], repeats=5, classifier="fast"
    ).mean("micro")


def plot_scores(name, values, embeddings):
    """Draw the scores of one embedding for each value of a parameter."""
    few, many = zip(*(score(embedding) for embedding in embeddings), strict=True)
    _, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
    ticks = range(len(values))
    ax.plot(ticks, few, marker="o", label="2 % of the labels")
    ax.plot(ticks, many, marker="s", label="50 % of the labels")
    ax.set(xticks=ticks, xticklabels=values, xlabel=name, ylabel="Micro-F1")
    ax.legend()
    return ax


# %%
# levels
# ------
# The same 64 dimensions in one level or in several. One wide level spreads the structure over all components; several
# levels put the coarse structure first, which helps with few labels. Beyond eight levels little changes.
values = [1, 2, 4, 8, 16, 32]
models = [BoostNE(dimensions=64, levels=k).fit(data.graph) for k in values]
plot_scores("levels", values, [model.embedding_ for model in models])
plt.show()

# %%
# What is left of X after each level, as a share of its norm:
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for k, model in zip(values, models, strict=True):
    share = model.residual_norms_ / model.residual_norms_[0]
    ax.plot([64 / k * i for i in range(k + 1)], share, marker=".", label=f"{k} levels")
ax.set(xlabel="dimensions used so far", ylabel="residual")
ax.legend()
plt.show()

# %%
# dimensions
# ----------
# More dimensions hold more detail. With many labels more is better, at a growing cost; with few labels the gain ends
# early.
values = [8, 16, 32, 64, 128]
plot_scores(
    "dimensions",
    values,
    [BoostNE(d, levels=min(8, d // 4)).fit(data.graph).embedding_ for d in values],
)
plt.show()

# %%
# window
# ------
# T, the longest walk that counts as a connection. The digits are easy for any window, so from here on the graph has 20
# communities and hubs, and a node has six neighbors on average, about 30 % of them in other communities. Long walks
# collect more evidence, which pays with many labels, and more noise, which hurts with few. They also fill X.
data = planted_partition(1500, communities=20, mean_degree=6)
values = [1, 2, 5, 10, 20]
models = [BoostNE(64, window=T).fit(data.graph) for T in values]
plot_scores("window", values, [model.embedding_ for model in models])
plt.show()

# %%
for T, model in zip(values, models, strict=True):
    print(f"T = {T:2}: {model.nnz_[0]:9,} entries of X")

# %%
# approximation
# -------------
# How X is computed. "exact" has all entries, "spectral" smooths them by the leading eigenpairs, and "push" keeps the
# largest of each row, which is what makes large graphs possible. A few entries per row are as good as all of them here.
forms = {
    "exact": DeepWalkMatrix(window=10, approximation="exact"),
    "spectral": DeepWalkMatrix(window=10, approximation="spectral", eigenpairs=128),
    "push, 200": DeepWalkMatrix(window=10, approximation="push", max_per_row=200),
    "push, 100": DeepWalkMatrix(window=10, approximation="push", max_per_row=100),
    "push, 30": DeepWalkMatrix(window=10, approximation="push", max_per_row=30),
}
models = [BoostNE(64, connectivity=matrix).fit(data.graph) for matrix in forms.values()]
plot_scores("approximation", list(forms), [model.embedding_ for model in models])
plt.show()

# %%
for name, model in zip(forms, models, strict=True):
    print(f"{name:10} {model.nnz_[0]:9,} entries of X")

# %%
# propagation
# -----------
# The weight of the neighbors when vectors are averaged at the end; 0 leaves them as they are. The gain is small but
# steady here; it is larger if X is pruned.
values = [0, 0.2, 0.4, 0.6, 0.8, 1]
plot_scores(
    "propagation",
    values,
    [BoostNE(64, propagation=w).fit(data.graph).embedding_ for w in values],
)
plt.show()

# %%
# What the defaults chose here:
for name, value in BoostNE(64).fit(data.graph).settings_.items():
    print(f"{name:15} {value}")

# %%
# These are two graphs. On yours, ``tune`` compares windows, forms and propagation (:doc:`/tuning`).
