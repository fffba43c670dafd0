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
shared = np.equal.outer(small, small).astype(int) + np.equal.outer(
    small // 3, small // 3
)
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
model = BoostNE(
    dimensions=8, levels=4, connectivity=X, propagation=0, vector_length=0, tol=1e-6
).fit(graph)
context = np.split(model.context_, 4, axis=1)
residual, panels = X, []
for U, V in zip(model.levels_, context, strict=True):
    product = U @ V.T
    panels.append((residual, product))
    residual = np.maximum(residual - product, 0)

shares = model.residual_norms_ / model.residual_norms_[0]
print("what is left of X before each level, and after the last:", shares.round(2))

# sphinx_gallery_start_ignore
fig, axes = plt.subplots(2, 4, figsize=(11, 5.9), layout="constrained")
for i, (before, product) in enumerate(panels):
    axes[0, i].set_title(f"before level {i + 1}: {shares[i]:.0%}")
    axes[1, i].set_title(f"level {i + 1}")
    for ax, image in ((axes[0, i], before), (axes[1, i], product)):
        ax.imshow(image, cmap="Blues", vmin=0, vmax=0.8 * X.max())
        ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("what is left", fontsize=12)
axes[1, 0].set_ylabel("what the level explains", fontsize=12)
plt.show()
# sphinx_gallery_end_ignore

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
# that the result does not depend on their number. Here is level 1 in plain NumPy, with one sweep of HALS per pass:
U, V = rng.random((120, 2)), rng.random((120, 2))
for _ in range(50):
    gram, product = V.T @ V, np.zeros_like(V)
    for i, row in enumerate(X):  # read once
        for k in range(2):
            step = (row @ V[:, k] - U[i] @ gram[:, k]) / gram[k, k]
            U[i, k] = max(U[i, k] + step, 0)
        product += np.outer(row, U[i])  # the product of R and U grows row by row
    gram = U.T @ U
    for k in range(2):
        V[:, k] += (product[:, k] - V @ gram[:, k]) / gram[k, k]
        V[:, k] = np.maximum(V[:, k], 0)
left = np.linalg.norm(np.maximum(X - U @ V.T, 0)) / np.linalg.norm(X)
print(f"left after level 1: {left:.3f}; BoostNE: {shares[1]:.3f}")

# sphinx_gallery_start_ignore
fig, ax = plt.subplots(figsize=(11, 4.4), layout="constrained")
ax.set(xlim=(0, 15.2), ylim=(0.2, 5.9))
ax.axis("off")


def box(x, width, color, text):
    """Draw a matrix with its name below."""
    ax.add_patch(plt.Rectangle((x, 1), width, 4, facecolor=color, edgecolor="#444444"))
    ax.text(x + width / 2, 0.8, text, ha="center", va="top", fontsize=13)


def arrow(start, end, text):
    """Draw an arrow with its text above."""
    ax.annotate(
        "", (end, 3.55), (start, 3.55), arrowprops={"arrowstyle": "->", "lw": 1.8}
    )
    ax.text((start + end) / 2, 3.75, text, ha="center", va="bottom", fontsize=12)


box(0.1, 3.6, "#eef3fa", "R, sparse: read once")
ax.add_patch(plt.Rectangle((0.1, 3.4), 3.6, 0.3, facecolor="#0072b2"))
box(6.6, 0.8, "#fdf0e2", "U")
ax.add_patch(plt.Rectangle((6.6, 3.4), 0.8, 0.3, facecolor="#d55e00"))
box(10.4, 0.8, "#f6e8f1", "RᵀU")
box(14.2, 0.8, "#e8f5ee", "V")
arrow(3.8, 6.5, "1  row of R times V,\nsolve for the row of U")
arrow(7.5, 10.3, "2  add the row's part\nof the sum")
arrow(11.3, 14.1, "3  after all rows:\nupdate V")
plt.show()
# sphinx_gallery_end_ignore

# %%
# 4. Push: only what matters
# --------------------------
# In a large graph walks reach most nodes, but with tiny probabilities. "push" starts with a unit of mass at a node and
# spreads it along the edges, step by step. After each step, mass below a threshold times the degree of its node is
# dropped, so that the next step has fewer nodes to start from. On a grid, where one can see it:
side, epsilon = 25, 5e-4
degree = np.full((side, side), 4.0)
mass = np.zeros((side, side))
mass[side // 2, side // 2] = 1
steps = [mass]
for _ in range(8):
    flow = np.pad(mass / degree, 1)
    mass = flow[:-2, 1:-1] + flow[2:, 1:-1] + flow[1:-1, :-2] + flow[1:-1, 2:]
    mass = np.where(mass < epsilon * degree, 0, mass)
    steps.append(mass)

# sphinx_gallery_start_ignore
fig, axes = plt.subplots(1, 4, figsize=(11, 3.4), layout="constrained")
for ax, step in zip(axes, (0, 2, 4, 8), strict=True):
    shown = np.ma.masked_equal(steps[step], 0)
    ax.imshow(shown, cmap="viridis_r", norm="log", vmin=epsilon, vmax=1)
    count, share = np.count_nonzero(steps[step]), steps[step].sum()
    ax.set_title(f"step {step}: {count} nodes, {share:.0%}", fontsize=11)
    ax.set(xticks=[], yticks=[])
plt.show()
# sphinx_gallery_end_ignore

# %%
# The largest entries of a row hold most of its walks if the graph has communities. Here are walks of up to five steps
# in a graph of 3,000 nodes: of the thousands of nodes that they reach, a few hundred are visited often.
from boostne import planted_partition

larger = planted_partition(3000, communities=30).graph
walk = larger.adjacency.multiply(1 / larger.adjacency.sum(axis=1)[:, None]).tocsr()
row = total = walk[[0]]
for _ in range(4):
    row = row @ walk
    total = total + row
visits = np.sort(total.data)[::-1] / 5
for kept in (50, 200, 800, len(visits)):
    print(f"{kept:4} largest entries: {visits[:kept].sum():.0%} of the walks")

# sphinx_gallery_start_ignore
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(np.arange(1, len(visits) + 1), visits.cumsum())
ax.axvline(200, color="#d55e00", ls="--")
ax.text(215, 0.05, "200 entries", color="#d55e00")
ax.set(xscale="log", ylim=(0, 1.02))
ax.set(xlabel="largest entries of the row", ylabel="share of the walks")
plt.show()
# sphinx_gallery_end_ignore

# %%
# Finally each vector is averaged with those of its neighbors (:doc:`propagation </method>`) and scaled.
