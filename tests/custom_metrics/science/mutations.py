"""Replies as models give them: an exact answer, altered in its values, then damaged as text."""

import json

VALUES = (None, 3, 2.5, True, "", "x", [], {}, "null", [None], [[]], {"a": 1}, ["a", ["b", 3]], "the", -1e308, "\ud800")
SNIPPETS = ("[", "]", "{", "}", '"', ",", ":", "'", "\\", " ", "\n", "0", "</s>", "<|eot_id|>", "NaN", "1e999", "\x00")


def mutate_value(value, random):
    """The value with parts replaced by others of the wrong type, dropped, doubled or renamed."""
    if random.random() < 0.12:
        return random.choice(VALUES)
    if isinstance(value, list):
        changed = [mutate_value(item, random) for item in value]
        if changed and random.random() < 0.15:
            changed.pop(random.randrange(len(changed)))
        if changed and random.random() < 0.15:
            changed.append(changed[0])
        return changed
    if isinstance(value, dict):
        return {
            key if random.random() > 0.03 else key.lower() + "s": mutate_value(item, random)
            for key, item in value.items()
        }
    if isinstance(value, str) and random.random() < 0.2:
        return random.choice([value.upper(), value[: len(value) // 2], f" {value} ", f"{value} and more", ""])
    return value


def mutate_text(text, random):
    """The text with up to four faults: cut, pieces inserted or deleted, quotes swapped, wrapped in prose or a fence."""
    for _ in range(random.randrange(5)):
        place = random.randrange(len(text) + 1)
        text = random.choice(
            [
                lambda text=text, place=place: text[:place] + text[place + 1 :],
                lambda text=text, place=place: text[:place] + random.choice(SNIPPETS) + text[place:],
                lambda text=text, place=place: text[:place],
                lambda text=text: f"Sure: {text}",
                lambda text=text: f"{text}\nLet me know.",
                lambda text=text: f"```json\n{text}\n```",
                lambda text=text: text.replace('"', "'"),
                lambda text=text: text + text,
                lambda text=text: random.choice("[]{}") + text,
            ]
        )()
    return text


def mutated_reply(reference, random):
    """A damaged reply to a question whose exact answer is the JSON text `reference`."""
    return mutate_text(json.dumps(mutate_value(json.loads(reference), random)), random)


PROSE = (
    ("Here is the answer:\n", ""),
    ("", "\nLet me know if you need more."),
    ("```json\n", "\n```"),
    ("```\n", "\n```\nNote: the order follows the text."),
    ("Reasoning: the passage says \"so\", 'thus' & more.\n\nFinal answer: ", " That's it!"),
    ("  \n", "\n\n"),
)
"""Text before and after an answer that must not change its score: prose without brackets, and fences."""
