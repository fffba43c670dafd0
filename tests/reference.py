"""Reference implementations in slow, readable NumPy: dense float64 matrices, one line of code per equation.

The optimized code is tested against these functions, which must not import from the package.
"""

import numpy as np


def inverse(values):
    """``1 / x``, or 0 if x is 0."""
    return np.array([1 / x if x > 0 else 0.0 for x in values])


def exact_connectivity(A, window, negative):
    """``log max( vol(G) / (b T) (S + S^2 + … + S^T) D^-1 , 1 )`` with ``S = D^-1 A``."""
    A = np.asarray(A, dtype=np.float64)
    D_inverse = np.diag(inverse(A.sum(axis=1)))
    S = D_inverse @ A
    powers = sum(np.linalg.matrix_power(S, r) for r in range(1, window + 1))
    M = A.sum() / (negative * window) * powers @ D_inverse
    return np.log(np.maximum(M, 1))


def directed_walk(A):
    """Transition matrix of a directed graph: a node without outgoing edges passes back what it received."""
    A = np.asarray(A, dtype=np.float64)
    W = np.array([A[u] if A[u].any() else A[:, u] for u in range(len(A))])
    return np.diag(inverse(W.sum(axis=1))) @ W


def directed_connectivity(A, window, negative):
    """``log max( p_uv / (b mean_u p_uv) , 1 )``, ``p = (S + S^2 + … + S^T) / T``; no walk starts at a dead end."""
    A, S = np.asarray(A, dtype=np.float64), directed_walk(A)
    p = sum(np.linalg.matrix_power(S, r) for r in range(1, window + 1)) / window
    p[~A.any(axis=1)] = 0
    X = np.zeros_like(p)
    for u, v in zip(*np.nonzero(p), strict=True):
        X[u, v] = max(np.log(p[u, v] / (negative * p[:, v].mean())), 0)
    return X


def spectrum(A):
    """Eigenvalues of ``D^-1/2 A D^-1/2`` in descending order, and their eigenvectors."""
    A = np.asarray(A, dtype=np.float64)
    root = np.diag(np.sqrt(inverse(A.sum(axis=1))))
    values, vectors = np.linalg.eigh(root @ A @ root)
    return values[::-1], vectors[:, ::-1]


def window_filter(eigenvalue, window):
    """``max( (λ + λ^2 + … + λ^T) / T , 0 )``."""
    return max(sum(eigenvalue**r for r in range(1, window + 1)) / window, 0.0)


def spectral_connectivity(A, window, negative, eigenpairs):
    """``log max( vol(G) / b D^-1/2 Q f(Λ) Q^T D^-1/2 , 1 )`` with the ``eigenpairs`` largest eigenvalues."""
    A = np.asarray(A, dtype=np.float64)
    values, Q = spectrum(A)
    f = np.diag([window_filter(value, window) for value in values[:eigenpairs]])
    root = np.diag(np.sqrt(inverse(A.sum(axis=1))))
    M = A.sum() / negative * root @ Q[:, :eigenpairs] @ f @ Q[:, :eigenpairs].T @ root
    return np.log(np.maximum(M, 1))


def well_defined_sizes(A, window):
    """Numbers of eigenpairs for which the spectral form is unique: no tie between kept and dropped eigenvalues."""
    values, _ = spectrum(A)
    f = [window_filter(value, window) for value in values]
    return [h for h in range(1, len(f)) if f[h] < 1e-12 or values[h - 1] - values[h] > 1e-3]


def objective(R, U, V):
    """``||R - U V^T||_F^2``."""
    return float(np.sum((np.asarray(R, np.float64) - np.asarray(U, np.float64) @ np.asarray(V, np.float64).T) ** 2))


def residual(R, U, V):
    """``max(R - U V^T, 0)``."""
    return np.maximum(np.asarray(R, np.float64) - np.asarray(U, np.float64) @ np.asarray(V, np.float64).T, 0)


def hals_row(x, p, gram, sweeps):
    """``min_{x >= 0} ||r - F x||^2`` by coordinate descent; ``p = F^T r``, ``gram = F^T F``."""
    x = x.copy()
    for _ in range(sweeps):
        for c in range(len(x)):
            x[c] = max(x[c] + (p[c] - gram[c] @ x) / gram[c, c], 0.0) if gram[c, c] > 0 else 0.0
    return x


def hals_level(R, V, passes, sweeps):
    """One level that starts from V: each pass updates U, then V. Returns U, V and ``||R - U V^T||^2`` per pass."""
    R, V = np.asarray(R, np.float64), np.array(V, np.float64)
    U = np.zeros((R.shape[0], V.shape[1]))
    history = []
    for _ in range(passes):
        U = np.array([hals_row(U[i], V.T @ R[i], V.T @ V, sweeps) for i in range(len(U))])
        V = np.array([hals_row(V[j], U.T @ R[:, j], U.T @ U, sweeps) for j in range(len(V))])
        history.append(objective(R, U, V))
    return U, V, history


def transition(A):
    """``S = D^-1 A``."""
    return np.diag(inverse(A.sum(axis=1))) @ A


def normalized_adjacency(A):
    """``D^-1/2 A D^-1/2``."""
    root = np.diag(np.sqrt(inverse(A.sum(axis=1))))
    return root @ A @ root


def modularity(A):
    """``A - d d^T / 2m``, entry by entry."""
    d, volume = A.sum(axis=1), A.sum()
    n = len(A)
    return np.array([[A[i, j] - d[i] * d[j] / volume for j in range(n)] for i in range(n)])


def grarep(A, step, b):
    """``max( log( S^p_ij / Σ_t S^p_tj ) - log b , 0 )``."""
    P = np.linalg.matrix_power(transition(A), step)
    X = np.zeros_like(P)
    for i, j in zip(*np.nonzero(P), strict=True):
        X[i, j] = max(np.log(P[i, j] / P[:, j].sum()) - np.log(b), 0)
    return X


def line(A, negative):
    """``log max( vol(G) S D^-1 / b , 1 )``."""
    M = A.sum() / negative * transition(A) @ np.diag(inverse(A.sum(axis=1)))
    return np.log(np.maximum(M, 1))


def katz(A, beta):
    """``(I - β A)^-1 β A``."""
    return np.linalg.inv(np.eye(len(A)) - beta * A) @ (beta * A)


def rooted_pagerank(A, alpha):
    """``(1 - α) (I - α S)^-1``."""
    return (1 - alpha) * np.linalg.inv(np.eye(len(A)) - alpha * transition(A))


def common_neighbors(A):
    """``Σ_t A_it A_tj``."""
    n = len(A)
    return np.array([[sum(A[i, t] * A[t, j] for t in range(n)) for j in range(n)] for i in range(n)])


def adamic_adar(A):
    """``Σ_t A_it A_tj / (out-degree + in-degree of t)``."""
    n = len(A)
    weight = inverse(A.sum(axis=1) + A.sum(axis=0))
    return np.array([[sum(A[i, t] * weight[t] * A[t, j] for t in range(n)) for j in range(n)] for i in range(n)])


def second_order_transitions(A, p, q):
    """node2vec's ``P[t, v, x]``: the probability that a walk that moved from t to v continues to x."""
    n = len(A)
    P = np.zeros((n, n, n))
    for t, v in zip(*np.nonzero(A), strict=True):
        for x in np.flatnonzero(A[v]):
            bias = 1 / p if x == t else 1 if A[t, x] > 0 else 1 / q
            P[t, v, x] = A[v, x] * bias
        if P[t, v].any():
            P[t, v] /= P[t, v].sum()
    return P


def node2vec(A, p, q, window, negative):
    """The node2vec matrix of Qiu et al., from the full tensor of second-order transition probabilities."""
    n = len(A)
    P = second_order_transitions(A, p, q)
    step = np.zeros((n * n, n * n))  # from (t, v), the previous and the current node, to (v, x)
    for t, v, x in zip(*np.nonzero(P), strict=True):
        step[t * n + v, v * n + x] = P[t, v, x]
    Y = (A / A.sum()).ravel()
    states = np.flatnonzero(Y)
    steps = step[np.ix_(states, states)]
    Y = Y[states] @ np.linalg.matrix_power((np.eye(len(states)) + steps) / 2, 2**17)
    node_of = np.array([[float(e % n == w) for w in range(n)] for e in states])  # current node of each state
    powers = [np.linalg.matrix_power(steps, r) for r in range(1, window + 1)]
    joint = sum(node_of.T @ np.diag(Y) @ power @ node_of for power in powers)
    inverse_visits = inverse(node_of.T @ Y)
    M = (joint + joint.T) / (2 * window * negative) * np.outer(inverse_visits, inverse_visits)
    return np.log(np.maximum(M, 1))
