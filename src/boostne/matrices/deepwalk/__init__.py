"""DeepWalk's connectivity matrix: exact, from eigenpairs, and pruned by forward push."""
