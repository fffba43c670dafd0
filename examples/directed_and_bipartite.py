"""
Directed and bipartite graphs
=============================

In a directed graph a node plays two parts: as the source of edges and as their target. In a bipartite graph, such
as users and items, every node plays one of them. In both cases the product of a source vector and a target vector
is the score of an edge.
"""

# %%
# Directed: who cites whom
# ------------------------
# Papers are numbered by age, and each cites ten earlier ones, mostly of its own field.
import matplotlib.pyplot as plt
import numpy as np

from boostne import BoostNE, Graph, evaluate_links, planted_bipartite

rng = np.random.default_rng(0)
papers, fields = 600, 6
field = rng.integers(fields, size=papers)
citing, cited = [], []
for paper in range(20, papers):
    earlier = np.arange(paper)
    weight = np.where(field[:paper] == field[paper], 20.0, 1.0) * np.exp(
        (earlier - paper) / 150
    )
    chosen = rng.choice(earlier, 10, replace=False, p=weight / weight.sum())
    citing += [paper] * 10
    cited += chosen.tolist()
graph = Graph.from_edges(citing, cited, directed=True)
print(graph)

# %%
model = BoostNE(dimensions=32, levels=4).fit(graph)
score = model.embedding_.vectors @ model.targets_.vectors.T
u, v = citing[-1], cited[-1]
row = {int(node): i for i, node in enumerate(graph.nodes)}
print(f"{u} cites {v}: score {score[row[u], row[v]]:.2f}")
print(f"the reverse: {score[row[v], row[u]]:.2f}")

# %%
# So it is for most citations: the scores in their direction are higher than those of the reverse.
rows, columns = graph.adjacency.nonzero()
fig, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
bins = np.linspace(0, score.max(), 40)
ax.hist(score[columns, rows], bins, alpha=0.6, label="reverse")
ax.hist(score[rows, columns], bins, alpha=0.6, label="citation")
ax.set(xlabel="score", ylabel="citations")
ax.legend()
plt.show()

# %%
# ``direction`` is the share of held-out edges that score higher than their reverse. Without directions it would be
# a half.
print(
    evaluate_links(BoostNE(dimensions=32, levels=4), graph, repeats=2, operator="dot")
)

# %%
# Methods that do not use directions refuse a directed graph, so that none is lost unnoticed. If directions do not
# matter, drop them.
print(graph.to_undirected())

# %%
# Bipartite: users and items
# --------------------------
# Edges lead from users (the first column) to items.
purchases = planted_bipartite(400, 200, communities=8, mean_degree=12).graph
print(purchases)
model = BoostNE(dimensions=32, levels=4).fit(purchases)
print(model.embedding_, model.targets_, sep="\n")

# %%
# ``recommend`` ranks the items that a user is not linked to yet, or the users for an item.
user = int(model.embedding_.nodes[0])
print([(item, round(value, 2)) for item, value in model.recommend(user, n=5)])
item = int(model.targets_.nodes[0])
print([(user, round(value, 2)) for user, value in model.recommend(item, n=5)])

# %%
# Does it work? Hide a fifth of the edges, recommend twenty items to each user, and count how many of the hidden
# ones are among them.
edges = np.argwhere(model.known_.toarray())
hidden = rng.random(len(edges)) < 0.2
users, items = model.embedding_.nodes, model.targets_.nodes
remaining = Graph.from_edges(
    users[edges[~hidden, 0]], items[edges[~hidden, 1]], sides="columns"
)
model = BoostNE(dimensions=32, levels=4).fit(remaining)
hits = total = 0
for user in model.embedding_.nodes.tolist():
    wanted = set(items[edges[hidden & (users[edges[:, 0]] == user), 1]].tolist())
    hits += len(wanted & {item for item, _ in model.recommend(user, n=20)})
    total += len(wanted)
print(f"recall@20: {hits / total:.2f}; by chance: {20 / len(items):.2f}")

# %%
# More about :doc:`directed graphs </method>` and :doc:`bipartite graphs </bipartite>`.
