"""The explorer from a local server, for embeddings that are too large for a page.

The server listens on the loopback interface only. Its address contains a random token; requests without it, or with the
name of another host (DNS rebinding), are refused.
"""

import errno
import os
import re
import secrets
import sys
import threading
from collections.abc import Callable
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, cast

import numpy as np

from boostne.embedding import Embedding
from boostne.errors import BoostneError
from boostne.graph import Graph
from boostne.labels import Labels
from boostne.visualization.explorer.arrays import NEIGHBORS, component_array, describe, edges_of, node_arrays
from boostne.visualization.explorer.content import collect_content, strongest_components
from boostne.visualization.explorer.layouts import ProgressiveLayouts
from boostne.visualization.explorer.packing import json_bytes
from boostne.visualization.explorer.page import check_not_empty, explorer_parts, render_explorer

HOST = "127.0.0.1"
DEFAULT_PORT = 8765
_PORTS_TRIED = 20
_STEPS = 255  # values of a component, less one
_MAX_EDGES = 2000  # of one node
_JSON, _BINARY, _HTML = "application/json", "application/octet-stream", "text/html; charset=utf-8"


class Response(NamedTuple):
    """Content of a given type, or the reason why there is none."""

    kind: str
    content: bytes
    status: HTTPStatus = HTTPStatus.OK


Answer = Callable[[str | None, str], Response]  # to a request for a host and a path

_OTHER_HOST = Response("text/plain", b"refused: the request is for another host\n", HTTPStatus.FORBIDDEN)
_NO_TOKEN = Response(
    "text/plain", b"refused: the address lacks the token that 'boostne explore' printed\n", HTTPStatus.FORBIDDEN
)
_NOT_FOUND = Response("text/plain", b"not found\n", HTTPStatus.NOT_FOUND)


class ExplorerServer:
    """A server of one embedding; use it as a context manager, which closes it.

    Parameters
    ----------
    embedding : Embedding
    labels : Labels, optional
    graph : Graph, optional
    title : str
    seed : int, default 0
        Seed of the layouts.
    port : int, optional
        By default the first free one from `DEFAULT_PORT` on.

    Attributes
    ----------
    address : str
        The address to open, with the token.

    Examples
    --------
    >>> import boostne
    >>> embedding = boostne.BoostNE(8, levels=2).fit(boostne.load_dataset("karate").graph).embedding_
    >>> with ExplorerServer(embedding) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        embedding: Embedding,
        labels: Labels | None = None,
        graph: Graph | None = None,
        *,
        title: str = "Embedding",
        seed: int = 0,
        port: int | None = None,
    ) -> None:
        check_not_empty(embedding)
        self._token = secrets.token_urlsafe(18)
        self._stop = threading.Event()
        self._content = collect_content(embedding, labels, graph, title)
        self._content.log_notes()
        self._layouts = ProgressiveLayouts(embedding, seed)
        self._arrays = node_arrays(self._content, np.arange(len(embedding)))
        arrays = {name: array.described() for name, array in self._arrays.items()}
        description = describe(self._content, _STEPS) | {"served": True, "arrays": arrays}
        self._page = render_explorer(explorer_parts(description, {}), connect="'self'").encode(errors="replace")
        self._routes: list[tuple[re.Pattern[str], Callable[..., Response]]] = [
            (re.compile(r""), lambda: Response(_HTML, self._page)),
            (re.compile(r"layouts"), lambda: Response(_JSON, json_bytes(self._layouts.refined_levels()))),
            (re.compile(r"ids"), lambda: Response(_JSON, json_bytes(self._content.ids))),
            (re.compile(r"positions-(\d{1,4})"), self._positions),
            (re.compile(r"component-(\d{1,6})"), self._component),
            (re.compile(r"(label_counts|label_indices|degrees|communities)"), self._array),
            (re.compile(r"strongest/(\d{1,10})"), self._strongest),
            (re.compile(r"neighbors/(\d{1,10})"), self._neighbors),
            (re.compile(r"edges/(\d{1,10})"), self._edges),
        ]
        self._server = _listen(self._answer, port)

    @property
    def address(self) -> str:
        """The address to open, with the token."""
        return f"http://{HOST}:{self._server.server_port}/{self._token}/"

    def __enter__(self) -> "ExplorerServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def serve(self) -> None:
        """Answer requests, and improve the layouts in the background, until an exception such as KeyboardInterrupt."""
        threading.Thread(target=self._layouts.refine, args=(self._stop,), daemon=True).start()
        self._server.serve_forever(poll_interval=0.1)

    def close(self) -> None:
        """Stop listening, and stop the work in the background."""
        self._stop.set()
        self._server.server_close()

    def shutdown(self) -> None:
        """Make :meth:`serve` return; to be called from another thread."""
        self._server.shutdown()

    def _answer(self, host: str | None, path: str) -> Response:
        port = self._server.server_port
        if host not in (f"{HOST}:{port}", f"localhost:{port}"):
            return _OTHER_HOST
        token, slash, name = path.removeprefix("/").partition("/")
        if not slash or not secrets.compare_digest(token.encode(errors="replace"), self._token.encode()):
            return _NO_TOKEN
        for pattern, route in self._routes:
            match = pattern.fullmatch(name)
            if match:
                try:
                    return route(*match.groups())
                except LookupError:
                    break
        return _NOT_FOUND

    def _positions(self, level: str) -> Response:
        if int(level) and int(level) > self._content.embedding.n_levels:
            raise LookupError(level)
        return Response(_BINARY, self._layouts.grid(int(level)).astype("<u2", copy=False).tobytes())

    def _component(self, column: str) -> Response:
        if int(column) >= self._content.embedding.dimensions:
            raise LookupError(column)
        return Response(_BINARY, component_array(self._content.embedding, int(column), slice(None), _STEPS).to_bytes())

    def _array(self, name: str) -> Response:
        return Response(_BINARY, self._arrays[name].to_bytes())

    def _strongest(self, row: str) -> Response:
        embedding = self._content.embedding
        vector = embedding.vectors[int(row)]
        columns = strongest_components(embedding, np.array([int(row)]))[0]
        return Response(_JSON, json_bytes([[int(column), float(vector[column])] for column in columns]))

    def _neighbors(self, row: str) -> Response:
        embedding = self._content.embedding
        found = embedding.most_similar(embedding.nodes[int(row)], NEIGHBORS)
        return Response(_JSON, json_bytes([[self._row_of[node], similarity] for node, similarity in found]))

    def _edges(self, row: str) -> Response:
        if self._content.graph is None or int(row) >= len(self._content.ids):
            raise LookupError(row)
        return Response(_JSON, json_bytes(edges_of(self._content.graph, int(row), _MAX_EDGES)))

    @cached_property
    def _row_of(self) -> dict[Any, int]:
        return {node: row for row, node in enumerate(self._content.embedding)}


def _listen(answer: Answer, port: int | None) -> "_Server":
    """Return a server that listens on the given port, or on the first free one of the default range."""
    for candidate in [port] if port is not None else range(DEFAULT_PORT, DEFAULT_PORT + _PORTS_TRIED):
        try:
            return _Server(candidate, answer)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    tried = f"port {port}" if port is not None else f"ports {DEFAULT_PORT} to {DEFAULT_PORT + _PORTS_TRIED - 1}"
    raise BoostneError(f"cannot listen on {HOST}: {tried} in use or not permitted; choose another with --port")


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        response = cast("_Server", self.server).answer(self.headers.get("Host"), self.path)
        self.send_response(response.status)
        for name, value in (
            ("Content-Type", response.kind),
            ("Content-Length", str(len(response.content))),
            # The page itself contains the policy for its scripts.
            ("Content-Security-Policy", "frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (named by the base class)
        """Print nothing: the log would contain the token."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # on Windows two programs could then listen on one port

    def __init__(self, port: int, answer: Answer) -> None:
        super().__init__((HOST, port), _Handler)
        self.answer = answer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore that a browser closed its connection early."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
