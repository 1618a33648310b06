"""A small course that has nothing wrong with it, written into a folder for tests to spoil."""

from pathlib import Path

from lessons.checking.check import ContentFolders

GLOSSARY = """\
- id: prefill
  term: prefill
  text: One pass over the whole prompt.
- id: kv-cache
  term: KV cache
  text: The keys and values of {{layers_default:int}} layers.
- id: kv-head
  term: KV head
  text: One set of keys and values.
  not: [attention heads]
"""

QUIZ = """\
- id: first-guess
  kind: choice
  prompt: Which phase reads the prompt?
  idea: phases
  choices:
    - {id: prefill, text: Prefill, is_correct: true, feedback: In one pass.}
    - {id: decode, text: Decode, is_correct: false, feedback: That one writes.}
- id: cache-size
  kind: number
  prompt: How many bytes does a token add?
  idea: cache
  fact: kv_bytes_per_token_default
  unit: B
  tolerance: 0.01
  feedback: It is {{kv_bytes_per_token_default:bytes}}.
- id: what-grows
  kind: term
  prompt: What grows with every token?
  idea: cache
  accepts: [KV cache]
  feedback: It keeps keys and values.
"""

LESSON = """\
---
title: A lesson
summary: What the two phases are.
minutes: 5
can:
  - tell the phases apart
quiz: a-lesson
terms: [prefill, kv-cache]
sources:
  - "A paper, 2024, says so, arXiv 2401.00000"
---
:::question first-guess

## Reading

The [[prefill]] reads the prompt. WORDS

:::experiment batching preset="Burst" slots=4

:::question cache-size

> **Takeaway.** One pass reads
> all of it.

## Keeping

The [[kv-cache|cache]] grows by {{kv_bytes_per_token_default:bytes}} a token.

```
## no section, [[no term]] 5 ms
```

:::question what-grows

> **Takeaway.** It grows by {{kv_bytes_per_token_default:bytes}} a token.
""".replace("WORDS", "It takes a while to say what that means. " * 50).replace("[[no term]] 5 ms", "only code")


def course(folder: Path) -> ContentFolders:
    """What is in `folder` now, read again."""

    def experiment_problem(name: str, settings: str) -> str:
        return "" if name == "batching" else f"no experiment {name!r}"

    return ContentFolders.of(folder / "lessons", folder / "quizzes", experiment_problem)


def write(folder: Path) -> Path:
    """The lesson's path; the folder then holds a whole course of one lesson."""
    for name, text in (
        ("lessons/glossary.yaml", GLOSSARY),
        ("lessons/01_a-lesson.md", LESSON),
        ("quizzes/a-lesson.yaml", QUIZ),
    ):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "lessons/01_a-lesson.md"
