"""Fuzz tests of everything that reads input: graphs, labels, embeddings, checkpoints, objects, the command line.

``python -m fuzz`` (or ``make fuzz``) generates cases from a seed: valid files, whose content must be read exactly, and
damaged or hostile ones, which must be read correctly or refused with a documented error. Cases are executed in worker
processes with limited memory, so that a crash or a hang is attributed to its case and the run continues.

Cases are generated rather than searched for by coverage. Atheris, the coverage-guided fuzzer for Python, was measured
too (3.0.0, edge lists): it is about as fast, but it sees only the Python part of the code under test and not SciPy,
Arrow or the kernels, it ends at the first crash, its runs cannot be repeated from a seed and a number, it has no
current wheels for macOS and Windows, and it does not know what the content of a file should have been.
"""
