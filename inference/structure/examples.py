"""Constraints to begin with, each with a prompt that asks for what it describes."""

from dataclasses import dataclass

from inference.structure.records import Constraint


@dataclass(frozen=True, slots=True)
class Example:
    title: str
    constraint: Constraint
    prompt: str
    moral: str = ""
    """What to see in the output, where it is worth a sentence."""


def _json(title: str, schema: str, prompt: str, moral: str = "") -> Example:
    return Example(title, Constraint("JSON schema", schema.strip()), prompt, moral)


EXAMPLES: dict[str, Example] = {
    "person": _json(
        "Person",
        """
{
  "type": "object",
  "properties": {
    "name": {"type": "string", "maxLength": 30},
    "born": {
      "type": "integer",
      "minimum": 1000,
      "maximum": 2100
    },
    "city": {"type": "string", "maxLength": 20}
  },
  "required": ["name", "born", "city"],
  "additionalProperties": false
}""",
        "Ada Lovelace was an English mathematician, born in London in 1815. Write what is known about her as JSON.",
        "Compare the year and the city with the prompt: the mask cannot copy for the model.",
    ),
    "order": _json(
        "Order, nested",
        """
{
  "type": "object",
  "properties": {
    "table": {
      "type": "integer",
      "minimum": 1,
      "maximum": 20
    },
    "items": {
      "type": "array",
      "minItems": 1,
      "maxItems": 3,
      "items": {"$ref": "#/$defs/item"}
    },
    "paid_by": {"enum": ["card", "cash"]}
  },
  "required": ["table", "items", "paid_by"],
  "additionalProperties": false,
  "$defs": {
    "item": {
      "type": "object",
      "properties": {
        "drink": {
          "enum": ["coffee", "tea", "water"]
        },
        "count": {
          "type": "integer",
          "minimum": 1,
          "maximum": 9
        }
      },
      "required": ["drink", "count"],
      "additionalProperties": false
    }
  }
}""",
        "Order two coffees and one tea for table 4, to be paid by card. Write the order as JSON.",
    ),
    "review": _json(
        "Review, enum",
        """
{
  "type": "object",
  "properties": {
    "sentiment": {
      "enum": ["positive", "neutral", "negative"]
    }
  },
  "required": ["sentiment"],
  "additionalProperties": false
}""",
        "Is this review positive or negative? 'The soup was cold and the waiter rude.'",
    ),
    "date": _json(
        "Date, pattern",
        r"""
{
  "type": "object",
  "properties": {
    "date": {
      "type": "string",
      "pattern": "^[0-9]{4}-[01][0-9]-[0-3][0-9]$"
    }
  },
  "required": ["date"],
  "additionalProperties": false
}""",
        "When did Apollo 11 land on the Moon? Answer with the date.",
        "Apollo 11 landed on 1969-07-20. The pattern lets every date pass, and 2020-19-39 too.",
    ),
    "colours": _json(
        "List, minItems",
        """
{
  "type": "array",
  "items": {
    "type": "string",
    "pattern": "^[a-z]{3,10}$"
  },
  "minItems": 3,
  "maxItems": 5
}""",
        "Name some colours of the rainbow as a JSON list.",
    ),
    "keys": _json(
        "Unicode keys",
        """
{
  "type": "object",
  "properties": {
    "größte Stadt": {
      "enum": ["東京", "大阪", "京都"]
    },
    "人口 (百万)": {
      "type": "integer",
      "minimum": 1,
      "maximum": 99
    }
  },
  "required": ["größte Stadt", "人口 (百万)"],
  "additionalProperties": false
}""",
        "What is the largest city of Japan, and how many million people live there?",
        "Most of these characters take several tokens: the mask follows the bytes, not the letters.",
    ),
    "time": Example(
        "Time, regular expression",
        Constraint("regular expression", "([01][0-9]|2[0-3]):[0-5][0-9]"),
        "At what time does the sun rise in summer? Answer with a time of day.",
    ),
    "planet": Example(
        "Planet, choices",
        Constraint("choices", "Mercury\nMars\nJupiter\nSaturn"),
        "Which planet is the largest? Answer with its name.",
        "Jupiter is the largest. The first allowed token decides, before the model has written anything else.",
    ),
    "wrong": _json(
        "Valid and wrong",
        """
{
  "type": "object",
  "properties": {
    "capital": {
      "enum": ["London", "Berlin", "Madrid"]
    }
  },
  "required": ["capital"],
  "additionalProperties": false
}""",
        "What is the capital of France?",
        "Valid and wrong: the schema has no room for Paris. A mask guarantees the form, never the answer.",
    ),
}
