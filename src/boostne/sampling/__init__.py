"""Training samples of the skip-gram methods: random walks, and the chunks of a training run."""
