"""Fuzz tests of everything that reads input: graphs, labels, embeddings, checkpoints, objects, the command line.

``python -m fuzz`` (or ``make fuzz``) generates cases from a seed: valid files, whose content must be read exactly, and
damaged or hostile ones, which must be read correctly or refused with a documented error. Cases are executed in worker
processes with limited memory, so that a crash or a hang is attributed to its case and the run continues.

Cases are generated rather than searched for by coverage. Atheris, the coverage-guided fuzzer for Python, was measured
too (3.0.0, edge lists) and is about as fast. But it is guided by the Python part of the code under test only, not by
SciPy, Arrow or the kernels, by default it ends at the first crash, it has wheels for Linux on x86-64 alone, and it does
not know what the content of a file should have been.
"""
