"""
How it works
============

BoostNE in four pictures: the matrix, the levels, the pass over the residual, and the push approximation.
:doc:`/method` has the equations.
"""

# %%
# 1. From a graph to a matrix
# ---------------------------
# X says how much more often than by chance short random walks from one node visit another: it is large within
# groups and zero for most pairs. Here is a graph of 120 nodes with two groups, each of three small ones; rows and
# columns are sorted by group.
import matplotlib.pyplot as plt
import numpy as np

from boostne import BoostNE, as_graph

rng = np.random.default_rng(1)
small = np.repeat(np.arange(6), 20)
shared = np.equal.outer(small, small).astype(int) + np.equal.outer(small // 3, small // 3)
drawn = np.triu(rng.random(shared.shape) < np.array([0.01, 0.08, 0.6])[shared], 1)
graph = as_graph((drawn | drawn.T).astype(float))

A = graph.adjacency.toarray()
degrees = A.sum(axis=1)
S = A / degrees[:, None]  # one step of a random walk
walks = (S + S @ S + S @ S @ S) / 3
X = np.log(np.maximum(degrees.sum() * walks / degrees, 1))

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
axes[0].imshow(A, cmap="binary")
axes[0].set_title("the graph: edges")
axes[1].imshow(X, cmap="Blues")
axes[1].set_title("X: walks of up to 3 steps")
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# 2. Levels: factorize, subtract, repeat
# --------------------------------------
# A level approximates what is left by a product of two thin non-negative matrices, U V. The first, with two
# components, can only see the two large groups. It is subtracted; what would become negative is set to zero. The
# next level finds what stands out now: the small groups.
model = BoostNE(dimensions=8, levels=4, connectivity=X, propagation=0, vector_length=0, tol=1e-6).fit(graph)
context = np.split(model.context_, 4, axis=1)
residual, panels = X, []
for U, V in zip(model.levels_, context, strict=True):
    product = U @ V.T
    panels.append((residual, product))
    residual = np.maximum(residual - product, 0)

fig, axes = plt.subplots(2, 4, figsize=(11, 5.8), layout="constrained")
for i, (before, product) in enumerate(panels):
    for ax, image, name in ((axes[0, i], before, f"R{i + 1}"), (axes[1, i], product, f"level {i + 1}: U V")):
        ax.imshow(image, cmap="Blues", vmin=0, vmax=X.max() / (1 + i / 2))
        ax.set(title=name, xticks=[], yticks=[])
plt.show()
print("residual after each level:", (model.residual_norms_ / model.residual_norms_[0]).round(2))

# %%
# The vector of a node is its row of U in all levels, side by side: coarse components first. A map of each level
# shows it.
fig, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for i, ax in enumerate(axes):
    U = model.levels_[i]
    ax.scatter(U[:, 0], U[:, 1], c=small, cmap="tab10", s=14)
    ax.set(title=f"level {i + 1}", xticks=[], yticks=[])
plt.show()

# %%
# 3. One pass over the residual
# -----------------------------
# X is sparse, and so are all residuals: where R is zero, it stays zero. A pass reads each row of R once. For row i
# it computes the product with V, solves for the row of U, and at once adds the row's part of the product of R and
# U, from which V is updated at the end. Threads take different rows, and their sums are added in a fixed order, so
# that the result does not depend on their number.
fig, ax = plt.subplots(figsize=(11, 4.2))
ax.set(xlim=(0, 14.6), ylim=(0, 5.2))
ax.set_aspect("equal")
ax.axis("off")


def box(x, y, width, height, color, text):
    """Draw a matrix with its name below."""
    ax.add_patch(plt.Rectangle((x, y), width, height, facecolor=color, edgecolor="#444444"))
    ax.text(x + width / 2, y - 0.3, text, ha="center", va="top")


box(0.2, 1, 4, 4, "#eef3fa", "R, sparse: read once")
ax.add_patch(plt.Rectangle((0.2, 3.4), 4, 0.3, facecolor="#0072b2"))
box(7, 1, 0.8, 4, "#fdf0e2", "U")
ax.add_patch(plt.Rectangle((7, 3.4), 0.8, 0.3, facecolor="#d55e00"))
box(13.6, 1, 0.8, 4, "#e8f5ee", "V")
box(10.4, 1, 0.8, 4, "#f6e8f1", "RᵀU")
arrows = [
    ((4.25, 3.55), (6.95, 3.55), "1  row of R times V,\nsolve for the row of U"),
    ((7.85, 3.55), (10.35, 3.55), "2  add the row's\npart of the sum"),
    ((11.25, 3.55), (13.55, 3.55), "3  after all rows:\nupdate V"),
]
for start, end, text in arrows:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "lw": 1.5})
    ax.text((start[0] + end[0]) / 2, max(start[1], end[1]) + 0.12, text, ha="center", va="bottom", fontsize=8)
plt.show()

# %%
# 4. Push: only what matters
# --------------------------
# In a large graph walks reach most nodes, but with tiny probabilities. "push" follows a unit of mass from a node,
# step by step, and drops what is smaller than a threshold times the degree of its node. Few entries hold most of
# the mass:
fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].bar(range(120), np.sort(walks[0])[::-1], width=1)
axes[0].axvline(30, color="#d55e00", ls="--")
axes[0].set(title="walks from node 0, sorted", xlabel="node", ylabel="probability")
smallest = np.sort(X, axis=1)[:, -30:-29]
pushed = np.where(smallest <= X, X, 0)
axes[1].imshow(pushed, cmap="Blues")
axes[1].set(title=f"30 entries per row: {pushed.sum() / X.sum():.0%} of X", xticks=[], yticks=[])
plt.show()

# %%
# Finally each vector is averaged with those of its neighbors (:doc:`propagation </method>`) and scaled.
