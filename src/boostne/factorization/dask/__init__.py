"""The Dask engine: the residual on the workers of a cluster."""
