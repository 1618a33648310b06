"""A finished prefill's KV cache on its way to another process: every layer's keys and values, byte by byte."""

import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue

import torch
from torch import Tensor
from transformers import DynamicCache


@dataclass(frozen=True, slots=True)
class _Header:
    ask: int
    newest: int
    start_s: float
    shape: tuple[int, ...]
    """Of the keys of each layer; values may have another head_dim."""
    value_shape: tuple[int, ...]
    dtype: str
    num_layers: int


@dataclass(frozen=True, slots=True, eq=False)
class Arrived:
    """A cache as the receiver has it, and its way there on the monotonic clock."""

    ask: int
    newest: int
    cache: DynamicCache
    num_bytes: int
    start_s: float
    end_s: float


class PeerLost:
    """The other end is gone."""


def send(outbox: Connection, ask: int, newest: int, cache: DynamicCache) -> None:
    """Blocks until the receiver has taken it, but for what the pipe holds. OSError if the other end is gone."""
    first = cache.layers[0]
    header = _Header(
        ask,
        newest,
        time.monotonic(),
        tuple(first.keys.shape),
        tuple(first.values.shape),
        str(first.keys.dtype).removeprefix("torch."),
        len(cache.layers),
    )
    outbox.send(header)
    for layer in cache.layers:
        for states in (layer.keys, layer.values):
            outbox.send_bytes(_bytes(states))


def receive(inbox: Connection) -> Arrived:
    """EOFError or OSError if the other end is gone."""
    header: _Header = inbox.recv()
    dtype: torch.dtype = getattr(torch, header.dtype)
    cache, num_bytes = DynamicCache(), 0
    for place in range(header.num_layers):
        both = []
        for shape in (header.shape, header.value_shape):
            content = bytearray(inbox.recv_bytes())
            num_bytes += len(content)
            both.append(torch.frombuffer(content, dtype=dtype).view(shape))
        cache.update(both[0], both[1], place)
    return Arrived(header.ask, header.newest, cache, num_bytes, header.start_s, time.monotonic())


def receive_all(inbox: Connection) -> "SimpleQueue[Arrived | PeerLost]":
    """Receive in a thread of its own, while this one decodes; the queue ends with PeerLost."""
    arrivals: SimpleQueue[Arrived | PeerLost] = SimpleQueue()

    def run() -> None:
        try:
            while True:
                arrivals.put(receive(inbox))
        except (EOFError, OSError):
            arrivals.put(PeerLost())

    threading.Thread(target=run, name="caches arriving", daemon=True).start()
    return arrivals


def _bytes(states: Tensor) -> memoryview:
    """Of the tensor's values in order; numpy knows no bfloat16, so they go as plain bytes."""
    return states.contiguous().view(torch.uint8).flatten().numpy().data
