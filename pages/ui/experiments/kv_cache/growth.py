"""How the KV cache of any catalogue model grows: against its weights, and in an accelerator's memory."""

from dataclasses import dataclass

from inference.arithmetic.hardware import Hardware
from inference.arithmetic.spec import ModelSpec
from inference.arithmetic.units import scaled
from inference.catalogue import hardware, models
from inference.cost import kv_bytes_per_token
from inference.kv_cache.growth import (
    MOST_CONVERSATIONS,
    MOST_TOKENS,
    Room,
    cache_bytes,
    in_bits,
    matching_context,
    outweighing_batch,
    room,
)
from pages.charts.kv_cache.growth import cache_growth as chart
from pages.ui.parts.card import Card, Figure, text_card
from pages.ui.parts.controls import Controls, row
from pages.ui.parts.framed import framed
from pages.ui.parts.live_chart import Table, live_chart

_BITS = (16, 8, 4)
_LENGTHS = (4096, 8192, 32_768, 65_536, 131_072)


@dataclass(frozen=True, slots=True)
class GrowthSettings:
    model: str = "llama-3.1-8b"
    """Id of a catalogue model."""
    batch_size: int = 1
    context_len: int = 131_072
    kv_bits: int = 16
    weight_bits: int = 16
    machine: str = "h100-sxm-80gb"
    """Id of a catalogue machine with a fixed memory."""


_DEFAULT = GrowthSettings()


def cache_growth(settings: GrowthSettings = _DEFAULT, *, key: str = "growth", is_fixed: bool = False) -> None:
    """One chart, one line of settings, and the numbers the chart is read for. All estimated."""
    controls = Controls(key, is_fixed=is_fixed)
    drawing = framed(f"{key}-chart")
    names = {name: spec.name for name, spec in models().items()}
    machines = {name: sheet for name, sheet in hardware().items() if sheet.memory_bytes}
    with row(key):
        model = controls.select(
            "Model", list(names), settings.model, format_func=lambda name: names[name], width=190
        )
        batch_size = controls.number("Batch", settings.batch_size, 1, MOST_CONVERSATIONS, width=115)
        context_len = controls.number("Context", settings.context_len, 1, MOST_TOKENS, width=145)
        kv_bits = controls.select("Cache bits", _BITS, settings.kv_bits, width=95)
        weight_bits = controls.select("Weight bits", _BITS, settings.weight_bits, width=95)
        machine = machines[
            controls.select(
                "Accelerator",
                list(machines),
                settings.machine,
                format_func=lambda machine_id: machines[machine_id].name,
                width=215,
            )
        ]
    spec = in_bits(models()[model], weight_bits=weight_bits, kv_bits=kv_bits)
    with drawing:
        _draw(spec, batch_size, context_len, machine, key)
    text_card(numbers(spec, batch_size, context_len, machine), key=f"{key}-numbers")


def _draw(spec: ModelSpec, batch_size: int, context_len: int, machine: Hardware, key: str) -> None:
    space = room(spec, machine, context_len=context_len)
    live_chart(
        lambda: chart(
            spec,
            batch_size=batch_size,
            context_len=context_len,
            free_bytes=space.free_bytes,
            machine=machine.name,
        ),
        version=(spec, batch_size, context_len, machine.id),
        key=f"{key}-chart",
        title="KV cache against weights",
        caption=f"{spec.name}, {spec.kv_bits:g}-bit cache, {spec.weight_bits:g}-bit weights; estimated; "
        "both axes grow by factors",
        alt="Bytes of the KV caches against tokens of context, with the weights as a level line and the crossing.",
        table=lambda: _table(spec, context_len, machine),
    )


def _table(spec: ModelSpec, context_len: int, machine: Hardware) -> Table:
    rows = []
    for length in sorted({*_LENGTHS, context_len}):
        beyond = " (beyond its own)" if length > spec.max_context else ""
        fits = room(spec, machine, context_len=length).conversations
        rows.append(
            [
                f"{length:,}{beyond}",
                scaled(cache_bytes(spec, context_len=length), "B"),
                f"{outweighing_batch(spec, context_len=length):,}",
                f"{fits:,}",
            ]
        )
    return Table(["context", "one cache, estimated", "batch that outweighs", f"fit in {machine.name}"], rows)


def numbers(spec: ModelSpec, batch_size: int, context_len: int, machine: Hardware) -> Card:
    """Where the caches pass the weights, what fits beside them, and the rule the curve follows."""
    matching = matching_context(spec, batch_size=batch_size)
    each = "" if batch_size == 1 else " each"
    space = room(spec, machine, context_len=context_len)
    figures = (
        Figure(
            scaled(cache_bytes(spec, context_len=context_len, batch_size=batch_size), "B"),
            f"caches at {context_len:,} tokens{each}" if each else f"cache at {context_len:,} tokens",
        ),
        Figure("never" if matching is None else f"{matching:,.0f}", f"tokens{each} to match the weights"),
        Figure(f"{outweighing_batch(spec, context_len=context_len):,}", "smallest batch that outweighs them"),
        Figure(f"{space.conversations:,}", "conversations fit beside them"),
        Figure(_longest(space), "tokens fit in one conversation"),
    )
    return Card(figures=figures, sentence=" ".join(_words(spec, context_len, machine, space)), height=_HEIGHT)


_HEIGHT = 128


def _longest(space: Room) -> str:
    return "any number" if space.longest_context is None else f"{space.longest_context:,}"


def _words(spec: ModelSpec, context_len: int, machine: Hardware, space: Room) -> list[str]:
    sentences = [rule(spec)]
    if context_len > spec.max_context:
        sentences.append(
            f"The model's own context ends at {spec.max_context:,} tokens: beyond it this is arithmetic."
        )
    if spec.weight_bits < 16:
        sentences.append(
            f"Every weight is counted with {spec.weight_bits:g} bits; usual checkpoints leave the embedding and "
            "the LM head in 16 and are larger."
        )
    if space.free_bytes <= 0:
        sentences.append(
            f"The weights alone, {scaled(spec.weight_bytes, 'B')}, do not fit in {machine.name}: it takes several."
        )
    else:
        sentences.append(f"At best: {machine.name} also has to hold activations and the program.")
    return sentences


def rule(spec: ModelSpec) -> str:
    """What one more token costs in this model, and why."""
    each = scaled(kv_bytes_per_token(spec), "B")
    if spec.mla:
        return f"MLA keeps one latent vector per layer in place of keys and values: {each} a token."
    windows = [window for window in spec.layer_windows if window]
    if not windows:
        return f"Every layer keeps every token: {each} a token."
    window = max(windows)
    if len(windows) == spec.num_layers:
        return f"Every layer keeps its last {window:,} tokens only: {each} a token until then, nothing after."
    growing = scaled(kv_bytes_per_token(spec) * (spec.num_layers - len(windows)) / spec.num_layers, "B")
    return (
        f"{len(windows)} of {spec.num_layers} layers keep their last {window:,} tokens only: {each} a token until "
        f"then, {growing} after."
    )
