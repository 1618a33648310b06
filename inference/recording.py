"""What a generation writes down about a run and about each pass."""

import datetime
import math
from array import array

import torch
import transformers
from torch import Tensor
from torch.nn.functional import pad
from transformers import DynamicCache

from inference import APP_VERSION
from inference.device import device_name
from inference.engine import ATTENTION, Engine
from inference.run.params import SamplingParams
from inference.run.tokens import TokenBytes
from inference.trace import Candidate, Metadata, Step

NUM_CANDIDATES = 12


def candidates(
    logprobs: Tensor, last: Tensor, token_id: int, *, is_greedy: bool, token_bytes: TokenBytes
) -> tuple[Candidate, ...]:
    """The most probable tokens and the chosen one; `logprobs` and `last`, the logits drawn from, are [vocab]."""
    best = logprobs.topk(min(NUM_CANDIDATES, logprobs.numel()))
    ids = best.indices.tolist()
    if token_id not in ids:
        ids = [*ids[:-1], token_id]
    at = torch.tensor(ids)
    raw = logprobs[at].exp().clamp(max=1.0).tolist()
    kept = torch.isfinite(last[at]).tolist()
    if is_greedy:
        sampled = [float(candidate == token_id) for candidate in ids]
    else:
        sampled = (last[at] - last.logsumexp(-1)).exp().clamp(max=1.0).tolist()
    return tuple(
        Candidate(candidate, token_bytes[candidate], probability, chance, is_kept)
        for candidate, probability, chance, is_kept in zip(ids, raw, sampled, kept, strict=True)
    )


def entropy(logprobs: Tensor) -> float:
    """In nats. Tokens of probability 0 add nothing."""
    return float(torch.special.entr(logprobs.exp()).sum())


def key_norms(cache: DynamicCache, num_new: int) -> "list[array[float]]":
    """L2 norms of the newest keys, over KV heads and head_dim: one array of [layers] per position.

    Four digits, as in the file, so that an opened trace shows the same picture. 0 where a sliding layer keeps
    none: a prompt longer than its window leaves only the last keys behind.
    """
    newest = [layer.keys[0, :, -num_new:] for layer in cache.layers]
    padded = [pad(keys, (0, 0, num_new - keys.shape[1], 0)) if keys.shape[1] < num_new else keys for keys in newest]
    norms = torch.linalg.vector_norm(torch.stack(padded), dim=(1, 3), dtype=torch.float32).T
    return [array("f", [float(f"{norm:.4g}") for norm in column]) for column in norms.tolist()]


def known_logprob(step: Step, logits: Tensor | None, token_id: int) -> float:
    """Natural logarithm of a token's probability at a step: from its pass, or from the candidates kept of it."""
    if logits is not None:
        return min(float(torch.log_softmax(logits, dim=-1)[token_id]), 0.0)
    for candidate in step.candidates:
        if candidate.token_id == token_id:
            return math.log(candidate.probability) if candidate.probability > 0 else -1e9
    raise ValueError(
        f"token {token_id} was not among the {len(step.candidates)} candidates kept for step {step.index}; "
        "choose one of them, or fork at the newest step"
    )


def metadata(
    engine: Engine,
    params: SamplingParams,
    max_new_tokens: int,
    chat_template: bool,
    stop: tuple[str, ...],
    *,
    num_left_out: int,
) -> Metadata:
    return Metadata(
        model=engine.name,
        revision=engine.revision,
        spec=engine.spec,
        dtype=str(engine.dtype).removeprefix("torch."),
        device=device_name(engine.device),
        threads=torch.get_num_threads(),
        attention=ATTENTION,
        execution="eager",
        torch_version=torch.__version__,
        transformers_version=transformers.__version__,
        app_version=APP_VERSION,
        date=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        has_random_weights=engine.has_random_weights,
        chat_template=chat_template,
        max_new_tokens=max_new_tokens,
        stop=stop,
        sampling=((0, params),),
        num_left_out=num_left_out,
    )
