"""What boostne raises when the fault lies in the input rather than in the program.

Each message names the thing, the value found and the remedy. The command line prints it without a traceback.
"""


class BoostneError(Exception):
    """Base of every error that a user can mend."""


class GraphError(BoostneError, ValueError):
    """A graph that cannot be embedded as it is: no edges, bad weights, a direction that would be lost."""


class FileFormatError(BoostneError, ValueError):
    """A file whose content is not what its format promises; the message gives the file and, where known, the line."""


class ParameterError(BoostneError, ValueError):
    """A parameter outside its range, or parameters that do not go together."""


class MemoryLimitError(BoostneError, MemoryError):
    """Work that would need more memory than is free; raised before the memory is asked for."""


class CheckpointError(BoostneError, ValueError):
    """A checkpoint of another run, of another version, or a folder that holds something else."""


class ClusterError(BoostneError, RuntimeError):
    """A cluster that does not answer, went away or does not fit: no workers, other versions, a closed client."""


class EngineError(BoostneError, RuntimeError):
    """An engine that this machine cannot run: a library or a device is missing."""
