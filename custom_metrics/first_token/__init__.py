"""Log-probabilities of the token that a reply begins with, on the unmodified `lm_eval` command.

Chat services score no text of ours, but name the likeliest first tokens of a reply. A task whose
options are letters can read from them how probable each letter is:

```yaml
task: my_choice
class: !function custom_metrics.first_token.FirstTokenTask
output_type: generate_until
doc_to_text: prompt
doc_to_target: target
generation_kwargs: {until: [], max_gen_toks: 5}
process_results: !function my_metrics.process_results
```

Each response is a JSON object, token -> log-probability, of the 20 likeliest ones (`tokens` reads
it). It is empty where a model or a service gives none. Back ends: those for OpenAI's chat
completions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from custom_metrics.first_token.answer import tokens

if TYPE_CHECKING:
    FirstTokenTask: type

__all__ = ["FirstTokenTask", "tokens"]


def __getattr__(name: str) -> Any:
    # The class derives from one of lm_eval's, which takes seconds to import: build it when it is
    # asked for.
    if name == "FirstTokenTask":
        from custom_metrics.first_token.task import task_class

        return task_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
