"""Sequences of different lengths that decode in one pass: their caches side by side, padded on the left."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import pad
from transformers import DynamicCache

from inference.engine import Engine, Forward


class Streams:
    """The sequences a worker decodes. All of them take part in every pass, greedily."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cache = DynamicCache()
        self._names: list[int] = []
        self._lengths: list[int] = []
        self._newest: list[int] = []

    def __len__(self) -> int:
        return len(self._names)

    @property
    def names(self) -> tuple[int, ...]:
        return tuple(self._names)

    @property
    def context_len(self) -> int:
        """Of the longest sequence; the others are padded to it."""
        return max(self._lengths, default=0)

    def join(self, name: int, newest: int, cache: DynamicCache) -> None:
        """Take over a sequence: its cache, and its newest token, which is not in the cache yet."""
        length = cache.get_seq_length()
        longest = max(self.context_len, length)
        ours, theirs = list(_layers(self._cache)), list(_layers(cache))
        self._cache = DynamicCache()
        for place, (keys, values) in enumerate(theirs):
            new = [_padded(keys, longest), _padded(values, longest)]
            if ours:
                new = [torch.cat([_padded(old, longest), one]) for old, one in zip(ours[place], new, strict=True)]
            self._cache.update(new[0], new[1], place)
        self._names.append(name)
        self._lengths.append(length)
        self._newest.append(newest)

    def leave(self, name: int) -> None:
        """Forget a sequence and whatever padding it was that made it necessary."""
        keep = [place for place, other in enumerate(self._names) if other != name]
        for kept in (self._names, self._lengths, self._newest):
            kept[:] = [kept[place] for place in keep]
        layers, self._cache = list(_layers(self._cache)), DynamicCache()
        if keep:
            for place, (keys, values) in enumerate(layers):
                start = keys.shape[-2] - self.context_len
                self._cache.update(keys[keep, :, start:], values[keep, :, start:], place)

    def step(self) -> tuple[dict[int, int], Forward]:
        """One decode pass for all: the token each sequence got."""
        logits, forward = self._engine.forward_padded(self._newest, self._cache, self._lengths)
        self._newest = logits.argmax(-1).tolist()
        self._lengths = [length + 1 for length in self._lengths]
        return dict(zip(self._names, self._newest, strict=True)), forward


def _layers(cache: DynamicCache) -> Iterator[tuple[Tensor, Tensor]]:
    return ((layer.keys, layer.values) for layer in cache.layers)


def _padded(states: Tensor, length: int) -> Tensor:
    """[..., length, head_dim], zeros before what was there."""
    return pad(states, (0, 0, length - states.shape[-2], 0))
