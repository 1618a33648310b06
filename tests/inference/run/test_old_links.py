"""Links that older versions made: they open as they did, and say the same where a part cannot be used."""

from urllib.parse import parse_qs

import pytest

from inference.run.params import SamplingParams
from inference.run.recipe import Recipe, from_query

MADE: tuple[tuple[str, Recipe], ...] = (
    ("prompt=Hello&max=64&steps=0", Recipe(prompt="Hello")),
    (
        (
            "prompt=%C3%9Cn%C3%AFcode+%F0%9F%A7%91%E2%80%8D%F0%9F%9A%80+%26+a%3Db%3Bc+%23x%0D%0A%2B+100+%25&"
            "max=100&steps=12&"
            "sampling=temperature%3D0.7%2Ctop_k%3D50%2Ctop_p%3D0.95%2Cmin_p%3D0.05%2Crepetition_penalty%3D1.1%2Clogit_bias%3D5%3A-1.5%3B260%3A2%2Cseed%3D7%2Ctemperature_last%3DTrue&"
            "chat=1&stop=%0A%0A&stop=a%2Cb%3Ac%3Bd&stop=%26&forced=0%3A5&forced=7%3A319&change=3%3A&"
            "change=9%3Atemperature%3D1.0%2Clogit_bias%3D1%3A0.30000000000000004&model=random%3Atiny"
        ),
        Recipe(
            prompt="Ünïcode 🧑\u200d🚀 & a=b;c #x\r\n+ 100 %",
            params=SamplingParams(
                temperature=0.7,
                top_k=50,
                top_p=0.95,
                min_p=0.05,
                repetition_penalty=1.1,
                logit_bias={5: -1.5, 260: 2},
                seed=7,
                temperature_last=True,
            ),
            max_new_tokens=100,
            chat_template=True,
            stop=("\n\n", "a,b:c;d", "&"),
            num_steps=12,
            forced={0: 5, 7: 319},
            changes=(
                (3, SamplingParams()),
                (9, SamplingParams(temperature=1.0, logit_bias={1: 0.30000000000000004})),
            ),
            model="random:tiny",
        ),
    ),
    (
        (
            "prompt=The+sky+is&max=1&steps=100000&sampling=temperature%3D0.8%2Cseed%3D3&"
            "model=HuggingFaceTB%2FSmolLM2-135M"
        ),
        Recipe(
            prompt="The sky is",
            params=SamplingParams(temperature=0.8, seed=3),
            max_new_tokens=1,
            num_steps=100000,
            model="HuggingFaceTB/SmolLM2-135M",
        ),
    ),
    (
        "prompt=%E6%9D%B1%E4%BA%AC%E3%81%AF&max=64&steps=0&stop=%E3%80%82&forced=999999%3A9999999",
        Recipe(prompt="東京は", stop=("。",), forced={999999: 9999999}),
    ),
    (
        (
            "prompt=+leading%09and%0Atrailing+&max=100000&steps=0&"
            "sampling=temperature%3D1.0%2Cmin_p%3D1e-05%2Ctemperature_last%3DTrue&change=1%3Atop_k%3D1&"
            "change=2%3Atemperature%3D2.5"
        ),
        Recipe(
            prompt=" leading\tand\ntrailing ",
            params=SamplingParams(temperature=1.0, min_p=1e-05, temperature_last=True),
            max_new_tokens=100000,
            changes=((1, SamplingParams(top_k=1)), (2, SamplingParams(temperature=2.5))),
        ),
    ),
)

# after prompt=Hello
REFUSED: tuple[tuple[str, Recipe, list[str]], ...] = (
    ("max=0", Recipe(prompt="Hello"), ["max must be a whole number from 1 to 100,000, got '0'"]),
    ("max=-5&steps=", Recipe(prompt="Hello"), ["max must be a whole number from 1 to 100,000, got '-5'"]),
    ("max=many", Recipe(prompt="Hello"), ["max must be a whole number from 1 to 100,000, got 'many'"]),
    ("max=1e3", Recipe(prompt="Hello"), ["max must be a whole number from 1 to 100,000, got '1e3'"]),
    (
        "max=999999999999999999999999999999999999999999999999999999999999",
        Recipe(prompt="Hello"),
        ["max must be a whole number from 1 to 100,000, got '9999999999999999999999999999999999999999'"],
    ),
    (
        "steps=-1&max=7",
        Recipe(prompt="Hello", max_new_tokens=7),
        ["steps must be a whole number from 0 to 100,000, got '-1'"],
    ),
    ("steps=100001", Recipe(prompt="Hello"), ["steps must be a whole number from 0 to 100,000, got '100001'"]),
    (
        "sampling=heat%3D1",
        Recipe(prompt="Hello"),
        [
            (
                "sampling is left at greedy: no sampling setting is called 'heat'; there are temperature, top_k, "
                "top_p, min_p, repetition_penalty, logit_bias, seed, temperature_last"
            )
        ],
    ),
    (
        "sampling=top_p%3Dnan",
        Recipe(prompt="Hello"),
        ["sampling is left at greedy: top_p must be from 1e-06 to 1, got nan"],
    ),
    (
        "sampling=temperature%3D",
        Recipe(prompt="Hello"),
        ["sampling is left at greedy: temperature cannot be ''; give a value like 0.8"],
    ),
    ("forced=", Recipe(prompt="Hello"), ["forced must look like 5:260, got ''"]),
    ("forced=5", Recipe(prompt="Hello"), ["forced must look like 5:260, got '5'"]),
    ("forced=5%3A", Recipe(prompt="Hello"), ["forced must look like 5:260, got '5:'"]),
    ("forced=%3A5", Recipe(prompt="Hello"), ["forced must look like 5:260, got ':5'"]),
    (
        "forced=5%3A-1&forced=6%3A260",
        Recipe(prompt="Hello", forced={6: 260}),
        ["forced must look like 5:260, got '5:-1'"],
    ),
    ("forced=%C2%B2%3A5", Recipe(prompt="Hello"), ["forced must look like 5:260, got '²:5'"]),
    ("forced=1234567%3A5", Recipe(prompt="Hello"), ["forced must look like 5:260, got '1234567:5'"]),
    ("change=x%3Atemperature%3D1", Recipe(prompt="Hello"), ["change must look like 5:260, got 'x:temperature=1'"]),
    (
        "change=5%3Aheat%3D1&change=6%3Atop_k%3D3",
        Recipe(prompt="Hello", changes=((5, SamplingParams()), (6, SamplingParams(top_k=3)))),
        [
            (
                "sampling is left at greedy: no sampling setting is called 'heat'; there are temperature, top_k, "
                "top_p, min_p, repetition_penalty, logit_bias, seed, temperature_last"
            )
        ],
    ),
    (
        "stop=" + "a" * 201,
        Recipe(prompt="Hello", stop=("a" * 200,)),
        ["stop texts are read up to 8, of at most 200 characters"],
    ),
    (
        "stop=a&stop=b&stop=c&stop=d&stop=e&stop=f&stop=g&stop=h&stop=i",
        Recipe(prompt="Hello", stop=("a", "b", "c", "d", "e", "f", "g", "h")),
        ["stop texts are read up to 8, of at most 200 characters"],
    ),
    ("chat=0&chat=yes", Recipe(prompt="Hello"), []),
    ("max=3&max=4&utm_source=x", Recipe(prompt="Hello", max_new_tokens=4), []),
    ("max=%208", Recipe(prompt="Hello", max_new_tokens=8), []),
    ("model=mmmmmmmmm", Recipe(prompt="Hello", model="mmmmmmmmm"), []),
)


@pytest.mark.parametrize(("link", "recipe"), MADE)
def test_a_link_made_before_opens_the_same_recipe_and_is_written_the_same(link: str, recipe: Recipe) -> None:
    assert from_query(parse_qs(link)) == (recipe, [])
    assert recipe.to_query() == link


@pytest.mark.parametrize(("link", "recipe", "problems"), REFUSED)
def test_a_wrong_part_is_refused_in_the_same_words(link: str, recipe: Recipe, problems: list[str]) -> None:
    assert from_query(parse_qs(f"prompt=Hello&{link}", keep_blank_values=True)) == (recipe, problems)


def test_of_very_many_choices_the_first_thousand_are_read() -> None:
    recipe, problems = from_query({"prompt": ["Hello"], "forced": [f"{index}:5" for index in range(1_234)]})
    assert recipe == Recipe("Hello", forced=dict.fromkeys(range(1_000), 5))
    assert problems == ["only the first 1000 of 1,234 forced were read"]
