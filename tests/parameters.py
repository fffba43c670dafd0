"""BoostNE from one flat set of parameters, as on the command line."""

from inspect import signature

from boostne import BoostNE, Checkpoint
from boostne.matrices import MATRICES


def boostne(dimensions=128, *, connectivity="deepwalk", keep_matrix=False, **parameters):
    """Return a BoostNE; parameters that it does not have go to its matrix or checkpoint.

    ``boostne(8, levels=2, window=3, approximation="push", max_per_row=50)`` sets the parameters of DeepWalkMatrix,
    ``boostne(8, connectivity="node2vec", p=0.5)`` those of Node2VecMatrix. A window is ignored by matrices without one,
    so that tests of several matrices can share their settings.
    """
    own = signature(BoostNE).parameters
    of_matrix = {name: parameters.pop(name) for name in list(parameters) if name not in own or name == "window"}
    if isinstance(connectivity, str) and connectivity in MATRICES:
        matrix_class = MATRICES[connectivity]
        if "window" not in signature(matrix_class).parameters:
            of_matrix.pop("window", None)
        if of_matrix.get("window", 0) is None:
            del of_matrix["window"]
        # A name stays a name where it is enough.
        if of_matrix.keys() <= {"window"}:
            parameters |= of_matrix
        else:
            connectivity = matrix_class(**of_matrix)
    elif of_matrix.keys() - {"window"}:
        raise TypeError(f"a connectivity given as {connectivity!r} has no parameters; got {of_matrix}")
    if keep_matrix:
        parameters["checkpoint"] = Checkpoint(parameters["checkpoint"], keep_matrix=True)
    return BoostNE(dimensions, connectivity=connectivity, **parameters)
