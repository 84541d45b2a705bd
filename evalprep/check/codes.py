"""Every finding that `evalprep check` can make.

`evalprep check --explain all` and docs/reference/codes.md show this table.

A code never changes its meaning; a finding that is no longer made leaves a gap.
"""

from __future__ import annotations

from typing import NamedTuple

from evalprep.tables import Column, Kind, Table, markdown_lines

LEVELS = ("error", "warning", "note")


class Code(NamedTuple):
    """One row of the table.

    Attributes:
        level: One of `LEVELS`.
        meaning: What it means and why it matters.
        fix: What to do.
        house_style: It is advice on how this project writes its own tasks; other people's folders
            are spared it unless asked for.
        for_authors: A task's author should hear it, while its users can change nothing about a
            published definition.
        of_file: By the mistake lm-eval skips a file, or reads it otherwise than meant: nothing to
            whoever does not ask for it.
    """

    level: str
    meaning: str
    fix: str
    house_style: bool = False
    for_authors: bool = False
    of_file: bool = False


FAMILIES = {
    "EP1": "Task files, names and groups",
    "EP2": "Settings of a task",
    "EP3": "Loading through lm-eval",
    "EP4": "Data",
    "EP5": "Scoring",
    "EP6": "Prompts and tokens",
    "EP7": "Model, machine and command",
}

CODES: dict[str, Code] = {
    # EP1: files
    "EP101": Code(
        "error",
        "A file is not valid YAML. lm-eval skips it in silence and later reports the task as "
        "unknown.",
        "correct the YAML",
        of_file=True,
    ),
    "EP102": Code(
        "warning", "A task file ends in .yml; lm-eval reads .yaml only.", "rename it to .yaml"
    ),
    "EP103": Code(
        "error",
        "An included file does not exist, cannot be read, or includes itself. lm-eval skips the "
        "task in silence.",
        "correct the path; it is relative to the including file",
        of_file=True,
    ),
    "EP104": Code(
        "error",
        "Two files declare the same name. lm-eval takes the first in path order.",
        "rename one of them",
        of_file=True,
    ),
    "EP105": Code(
        "warning",
        "A name is also the name of a task, group or tag of lm-eval; ours then replaces that one, "
        "also inside lm-eval's own groups.",
        "give it a prefix of your own",
    ),
    "EP106": Code(
        "error",
        "A tag has the name of a task or group. lm-eval attaches the tag to that entry, so that "
        "asking for the tag runs only the one task.",
        "rename the tag",
    ),
    "EP107": Code(
        "warning",
        "A YAML file is neither a task nor a group nor a class; lm-eval skips it in silence.",
        "add `task:` or `group:`, or give files that are only included another suffix",
        for_authors=True,
    ),
    "EP108": Code(
        "error",
        "A requested name is not a task, group or tag of the folder.",
        "see the names that are there",
    ),
    "EP109": Code(
        "error",
        "The `task` of a group is not a list; lm-eval loads such a group without members.",
        "write a YAML list",
    ),
    "EP110": Code(
        "error", "A group names a member that does not exist.", "correct the name, or add the task"
    ),
    "EP111": Code(
        "error",
        "A task is requested twice, alone and through a group, or through two groups. lm-eval "
        "refuses that.",
        "ask for the group alone",
    ),
    "EP112": Code(
        "warning",
        "The folder holds things that are not tasks (a Python environment, results); lm-eval "
        "searches all of it.",
        "keep tasks in a folder of their own",
    ),
    "EP113": Code(
        "warning",
        "`task_list` is not implemented in lm-eval 0.4.13: its entries are not registered.",
        "write one file per task with `include:`",
        for_authors=True,
    ),
    "EP114": Code(
        "warning",
        "A group has a custom aggregation function; lm-eval accepts and ignores it.",
        "use mean, and compute the number afterwards from the task scores",
    ),
    "EP115": Code(
        "warning",
        "The path contains /lm_eval/tasks/, so that lm-eval imports its modules under the names "
        "of its own.",
        "keep the folder elsewhere",
    ),
    "EP116": Code("error", "A group contains itself.", "remove it from its own members"),
    "EP118": Code(
        "error",
        "A key is written twice in one mapping; YAML keeps the last in silence.",
        "remove one of them",
        for_authors=True,
        of_file=True,
    ),
    "EP119": Code(
        "error",
        "There is no folder at the include path, or nothing in it is a task; lm-eval prints "
        "no message.",
        "correct the path",
    ),
    "EP120": Code(
        "note",
        "One of lm-eval's own tasks has settings that deserve a warning in a task of one's own. "
        "They belong to its published definition.",
        "gen_kwargs of the run can overrule generation_kwargs; name the change with the result",
    ),
    "EP121": Code(
        "error",
        "An entry of a group's aggregate_metric_list has not the form that lm-eval reads: "
        "`metric`, `filter_list`, `aggregation: mean`, `weight_by_size`.",
        "correct the entry",
    ),
    "EP122": Code(
        "warning",
        "A group aggregates a metric or filter that some of its tasks do not have; lm-eval leaves "
        "those tasks out, or the number.",
        "see metric_list and filter_list of the tasks",
        for_authors=True,
    ),
    "EP125": Code(
        "error",
        "A task file has `group:` beside the name of one task, as older versions of lm-eval "
        "allowed. lm-eval 0.4.13 takes it for a group and does not register the task.",
        "rename `group:` to `tag:`",
        of_file=True,
    ),
    "EP126": Code(
        "warning",
        "A tag, declared by a file that comes earlier in path order, has the name of a group or "
        "task. lm-eval keeps the tag and skips the file, so that nothing of the group but its "
        "name is used.",
        "rename one of them",
    ),
    "EP124": Code(
        "note",
        "The task's rows are made from the replies of earlier tasks; it is checked once they are "
        "there.",
        "",
    ),
    "EP127": Code(
        "note",
        "A file that the run does not ask for has a mistake; lm-eval skips it or never looks at "
        "it.",
        "",
    ),
    "EP123": Code(
        "error",
        "YAML reads a bare yes, no, on or off as true or false, where lm-eval wants a text.",
        "put it into quotes",
        of_file=True,
    ),
    # EP2: settings
    "EP201": Code(
        "error",
        "generation_kwargs has neither `do_sample` nor `temperature`, or samples without a "
        "temperature. vLLM and SGLang then sample at temperature 1 (lm-eval 0.4.10 and later).",
        "write `do_sample: false` and `temperature: 0.0`, or give them as gen_kwargs of the run",
    ),
    "EP202": Code(
        "error",
        "generation_kwargs lacks `until`; lm-eval then stops at the first blank line.",
        "write `until: []` for the end-of-text token alone, or the stop strings",
        for_authors=True,
    ),
    "EP203": Code(
        "warning",
        "There are no generation_kwargs: replies end at the first blank line or after 256 tokens.",
        "write until, do_sample, temperature and max_gen_toks",
        for_authors=True,
    ),
    "EP204": Code(
        "error",
        "A generation argument is unknown to vLLM, which raises after the model is loaded.",
        "remove it; vLLM takes the keys of SamplingParams",
    ),
    "EP205": Code(
        "warning",
        "Generation arguments contradict each other.",
        "decide for greedy or for sampling",
        for_authors=True,
    ),
    "EP206": Code(
        "warning",
        "generation_kwargs has no max_gen_toks: replies are cut after 256 tokens.",
        "write max_gen_toks",
        for_authors=True,
    ),
    "EP207": Code(
        "error",
        "A metric of one's own has no `aggregation` or no `higher_is_better`; lm-eval fails on it.",
        "add both to its metric_list entry",
    ),
    "EP208": Code(
        "error",
        "A metric is unknown to lm-eval; it would be fetched from the network as a program and "
        "run.",
        "correct its name, or compute it in process_results",
        for_authors=True,
    ),
    "EP209": Code(
        "error", "An aggregation is unknown to lm-eval.", "use one of lm-eval's, or `!function`"
    ),
    "EP210": Code(
        "error",
        "A metric_list or filter_list entry has not the form that lm-eval reads.",
        "see lm-eval's task guide",
    ),
    "EP211": Code(
        "warning",
        "The task has process_docs. lm-eval calls it six times per run, and serves the old result "
        "from its cache after the function was edited.",
        "prepare the rows beforehand",
        house_style=True,
        for_authors=True,
    ),
    "EP212": Code(
        "warning",
        "A zero-shot task without few-shot source: lm-eval copies the whole split into memory as "
        "a pool.",
        "add `fewshot_config: {sampler: first_n, samples: []}`",
        house_style=True,
        for_authors=True,
    ),
    "EP213": Code(
        "warning",
        "The task is marked unsafe_code: lm-eval asks for --confirm_run_unsafe_code after the "
        "model is loaded, and some metrics for HF_ALLOW_CODE_EVAL=1 after all generation.",
        "give the flag, or score afterwards",
    ),
    "EP214": Code(
        "error",
        "data_files is a relative path; it is resolved against the folder in which lm_eval is "
        "started.",
        "write an absolute path",
    ),
    "EP215": Code("error", "A data file does not exist.", "prepare it, or correct the path"),
    "EP216": Code(
        "error",
        "A key is unknown to lm-eval, which refuses the task.",
        "correct its name, or move it into `metadata`",
    ),
    "EP217": Code(
        "error",
        "The output_type is unknown.",
        "generate_until, multiple_choice, loglikelihood or loglikelihood_rolling",
    ),
    "EP218": Code(
        "error", "Two filters have the same name; the second overwrites the first.", "rename one"
    ),
    "EP219": Code(
        "error",
        "A filter is unknown to lm-eval.",
        "use one of lm-eval's, or `function: custom` with a filter_fn",
    ),
    "EP220": Code(
        "error",
        "A regular expression of a filter cannot be compiled, or its group_select (which counts "
        "matches, not groups) fails on replies with fewer matches.",
        "correct the pattern; group_select is 0 for the first match and -1 for the last",
    ),
    "EP221": Code(
        "error",
        "A function named with !function does not exist.",
        "correct the name; `module.function`, beside the YAML or importable",
    ),
    "EP222": Code(
        "error",
        "The module beside the YAML uses something that fails when lm-eval loads it: a relative "
        "import, an import of a file beside it, or @dataclass with postponed annotations.",
        "move the code into an importable package",
    ),
    "EP223": Code(
        "error",
        "Two modules register the same filter, metric or aggregation name; lm-eval stops on the "
        "second.",
        "use `!function` instead of registering",
    ),
    "EP224": Code(
        "note",
        "The standard error of this aggregation takes 100,000 resamples.",
        "score afterwards, or accept the time",
        house_style=True,
    ),
    "EP225": Code(
        "warning",
        "The primary metric or filter named in `metadata` is not one of the task's.",
        "correct the name",
    ),
    "EP226": Code(
        "error", "A stop string is empty or no text; the engine fails on it.", "remove it"
    ),
    "EP227": Code(
        "warning",
        "generation_kwargs on a task that does not generate.",
        "remove them",
        for_authors=True,
    ),
    "EP228": Code(
        "warning",
        "`repeats` makes several equal replies, or lm-eval scores the first of them only.",
        "sample with a temperature and without a fixed seed; `repeats` of the config scores each "
        "reply, and take_first_k keeps them for a scorer of your own",
        for_authors=True,
    ),
    "EP229": Code("error", "The task has no dataset_path and no custom_dataset.", "name the data"),
    "EP230": Code("error", "The task has no split to evaluate.", "write test_split"),
    "EP231": Code(
        "note",
        "generation_kwargs leaves do_sample, temperature or top_p to the back end.",
        "write all of them",
        house_style=True,
        for_authors=True,
    ),
    "EP232": Code(
        "note",
        "A metric is fetched from the network (hf_evaluate), as a program that is then run.",
        "fetch it before the run, or compute it in process_results",
        for_authors=True,
    ),
    "EP233": Code(
        "error",
        "The value of a generation argument is outside of what the engine takes; it raises after "
        "the model is loaded.",
        "correct the value",
    ),
    "EP234": Code(
        "error",
        "A regular expression of a filter takes exponential time: one reply that repeats itself "
        "holds up the run for ever, and lm-eval writes nothing before all replies are scored.",
        "repeat nothing that repeats itself, e.g. (a|b)+ for (a+|b)+",
    ),
    "EP235": Code(
        "warning",
        "A regular expression of a filter takes quadratic time, which is long for replies of this "
        "task's length.",
        "give repeats an upper bound, e.g. .{0,2000}? for .*?, or lower max_gen_toks",
    ),
    "EP236": Code(
        "error",
        "A filter is given an argument that lm-eval does not know. It raises when the replies are "
        "filtered, after all generation, and the run is lost.",
        "correct the name of the argument",
    ),
    "EP237": Code(
        "warning",
        "A filter looks for a mark that no prompt of the task asks for or shows, so that most "
        "replies of a model that was not told to write it are unparsed.",
        "ask for the mark in the prompt, show it in examples, or filter for what the prompt asks",
    ),
    "EP239": Code(
        "warning",
        "lm-eval does not read an argument of a metric: it hands arguments to metrics of "
        "generate_until tasks without process_results alone.",
        "remove the argument, or do the same in process_results",
    ),
    "EP238": Code(
        "warning",
        "The gold answer is a single letter and nothing takes the letter out of the reply: only a "
        "reply that is that letter and nothing else is right.",
        "add a filter that extracts the letter",
    ),
    # EP3: loading
    "EP301": Code("error", "lm-eval cannot load the task.", "see the message"),
    "EP302": Code(
        "note",
        "The data set could not be read from the hub or its cache; rows, prompts and scoring were "
        "not checked.",
        "run the check where the data are",
    ),
    "EP303": Code(
        "error",
        "doc_to_text is a word that is not a column of the data: every prompt is that word.",
        "name a column",
    ),
    "EP304": Code(
        "error", "The prompt of a row cannot be built.", "correct the template or the row"
    ),
    "EP305": Code("note", "The task builds requests of its own; scoring was not checked.", ""),
    "EP307": Code(
        "warning",
        "doc_to_target is a word that is not a column of the data: every gold answer is that word.",
        "name a column",
    ),
    # EP4: data
    "EP401": Code(
        "error",
        "Rows have no sample_id; nothing can be joined after the run.",
        "prepare the data anew",
    ),
    "EP402": Code(
        "note",
        "The data have no sample_id; results of two runs are joined by content.",
        "add a unique sample_id column",
        house_style=True,
    ),
    "EP403": Code("error", "A sample_id occurs twice.", "make ids unique"),
    "EP404": Code(
        "error",
        "A prompt is empty; the engine stops on it.",
        "remove the row, or correct its prompt",
    ),
    "EP405": Code("error", "A prompt or a gold answer is null.", "remove the row, or correct it"),
    "EP406": Code(
        "warning",
        "A number is NaN or infinite; lm-eval writes it as invalid JSON into the sample log.",
        "write null",
    ),
    "EP407": Code("error", "A data file cannot be read.", "repair the file, or prepare it anew"),
    "EP408": Code("error", "The data have no rows.", "check the source"),
    "EP409": Code(
        "error",
        "Gold answers change their type from row to row, or a text that looks like a list is "
        "turned into one. lm-eval decides by the first row how all are compared.",
        "make the column one type; use doc_to_target with a column",
    ),
    "EP410": Code(
        "note", "The same prompt occurs with different gold answers.", "look at the rows"
    ),
    "EP411": Code("error", "A gold answer is none of the choices.", "correct the row"),
    "EP412": Code(
        "error",
        "The splits of the data do not hold the one that the task evaluates.",
        "correct test_split",
    ),
    "EP413": Code(
        "warning",
        "Rows stand among their own few-shot examples, with the answer.",
        "take the examples from another split: fewshot_split, or fewshot_config.samples",
    ),
    "EP414": Code(
        "note",
        "Rows occur more than once, with the same prompt and gold answer.",
        "look at the rows",
    ),
    "EP415": Code(
        "error",
        "A choice or continuation is empty: its likelihood is 1, so that it always wins, or the "
        "back end stops on it.",
        "correct the row",
    ),
    "EP416": Code(
        "warning",
        "The same choice stands twice in one row, so that its gold answer is ambiguous.",
        "correct the row",
    ),
    "EP417": Code(
        "note",
        "The gold answer of some rows is an empty text; an empty reply to them is right.",
        "look at the rows",
    ),
    "EP418": Code(
        "warning",
        "The gold answer is the same choice in every row, so that always naming that choice is "
        "right.",
        "shuffle the choices, or look at doc_to_target",
    ),
    "EP419": Code(
        "error",
        "The gold index counts from one: it is never 0, and in some rows it is the number of "
        "choices, which lm-eval, counting from zero, does not have.",
        'subtract one in doc_to_target: "{{answer - 1}}" or `!function`',
    ),
    # EP5: scoring
    "EP501": Code(
        "error",
        "A filter or scorer raises. lm-eval writes nothing before all tasks are scored, so the "
        "whole run is lost.",
        "return a value for every reply",
    ),
    "EP502": Code(
        "error",
        "A perfect reply, made from the row's own gold answer, does not score 1.",
        "correct the filter or the gold answer",
    ),
    "EP503": Code("error", "An empty reply is counted as right.", "an empty reply must score 0"),
    "EP504": Code(
        "error",
        "A reply that has nothing to do with the question is counted as right.",
        "tighten the filter or the scorer",
    ),
    "EP505": Code(
        "note",
        "There is no gold answer to build a reply from; only failures of the scorer were looked "
        "for.",
        "",
    ),
    "EP506": Code(
        "error",
        "The scorer returns a key that lm-eval's sample log uses itself, so that the log is "
        "overwritten.",
        "rename the metric",
    ),
    "EP507": Code(
        "error",
        "The scorer does not return the same keys for every reply; averages are then taken over "
        "fewer rows.",
        "return every key for every row",
    ),
    "EP508": Code(
        "error",
        "The scorer returns a key that metric_list does not declare. Anything but a number then "
        "ends the run.",
        "declare it with an aggregation, or do not return it",
    ),
    "EP509": Code(
        "error",
        "The scorer returns a value that JSON cannot hold; lm-eval then leaves the sample log "
        "truncated.",
        "return numbers, texts, lists and mappings with text keys",
    ),
    "EP510": Code("warning", "The scorer returns NaN or infinity.", "return null or 0"),
    "EP511": Code(
        "warning",
        "A declared metric is never returned; lm-eval leaves it out of the results.",
        "remove it from metric_list",
    ),
    "EP512": Code(
        "error", "An aggregation raises; the whole run is lost then.", "correct the aggregation"
    ),
    "EP513": Code(
        "warning",
        "The scorer disagrees with the published verdict on the published outputs of many rows.",
        "look at the rows with `evalprep preview`",
    ),
    "EP514": Code(
        "note",
        "The scorer disagrees with the published verdict on the published outputs of a few rows.",
        "",
    ),
    "EP515": Code("warning", "Scoring a reply takes long.", "bound the work per reply"),
    "EP516": Code(
        "error",
        "Scoring a reply goes over the time bound; such a reply would hold up the whole run.",
        "bound the work per reply, e.g. by its length",
    ),
    "EP517": Code(
        "note", "A filter other than the primary one does not find some gold answers.", ""
    ),
    "EP518": Code(
        "note",
        "Published replies state an answer without a box; a filter for boxes alone leaves them "
        "out.",
        "choose the filter with metadata.primary_filter",
    ),
    "EP519": Code(
        "note",
        "No reply could be made for the filter's regular expression, so that its gold answers were "
        "not tried.",
        "look at some replies with `evalprep samples` after a run with --limit",
    ),
    # EP6: tokens
    "EP601": Code(
        "note",
        "The model's tokenizer is not on this machine: begin-of-text, lengths and stop strings "
        "were not checked.",
        "download the model first, or pass --set model_args.tokenizer=FOLDER",
    ),
    "EP602": Code(
        "error",
        "Prompts begin with more than one begin-of-text token.",
        "set add_bos_token: false, or remove it from the text",
    ),
    "EP603": Code(
        "warning",
        "Prompts have no begin-of-text token although the tokenizer puts one by default.",
        "leave out add_bos_token: false; without the key the tokenizer does as it was trained",
    ),
    "EP604": Code(
        "error",
        "Prompt and reply do not fit the context. lm-eval cuts such prompts from the left in "
        "silence.",
        "raise max_model_len, or lower max_gen_toks",
    ),
    "EP605": Code(
        "error",
        "max_gen_toks does not leave room for a prompt; vLLM drops all of it and the run ends.",
        "raise max_model_len, or lower max_gen_toks",
    ),
    "EP606": Code(
        "error",
        "The prompt holds chat markup already, and a chat template is applied on top.",
        "set apply_chat_template: false",
    ),
    "EP607": Code(
        "note",
        "The model has a chat template, and neither the prompts nor the command use one.",
        "set apply_chat_template: true, unless the comparison wants it so",
    ),
    "EP608": Code(
        "warning",
        "The prompt holds markup of another model family, which this tokenizer spells out letter "
        "by letter.",
        "use the data that belong to the model",
    ),
    "EP609": Code("note", "A stop string can never act.", "remove it"),
    "EP610": Code(
        "error",
        "A stop string occurs inside a right reply, which is cut there.",
        "choose another stop string",
    ),
    "EP611": Code(
        "warning",
        "A stop string is nothing but white space, and chat prompts end with a turn marker; the "
        "reply begins with white space then.",
        "use `until: []`",
    ),
    "EP612": Code(
        "warning",
        "Context and continuation meet in two spaces, or without one between two words; "
        "likelihoods of such texts are lower.",
        "end the prompt without a blank, and begin the continuation with one (see "
        "target_delimiter)",
        for_authors=True,
    ),
    "EP613": Code(
        "warning",
        "Right replies are longer than max_gen_toks: the gold answer itself, or the published "
        "outputs.",
        "raise max_gen_toks",
    ),
    "EP614": Code(
        "warning",
        "The chat template refuses the system message; lm-eval then drops it in silence, with the "
        "task's description.",
        "put the text into doc_to_text, or leave out system_instruction",
    ),
    "EP615": Code(
        "error",
        "A chat template is to be applied, and the tokenizer has none; the run ends after the "
        "model is loaded.",
        "set apply_chat_template: false, or use the instruct model",
    ),
    "EP616": Code(
        "warning",
        "There are more than four stop strings, and this back end sends the first four only.",
        "put the important ones first",
    ),
    "EP617": Code(
        "warning",
        "The config sets the chat template another way than the run that the published values are "
        "from; a difference may come from that alone.",
        "leave apply_chat_template out, or choose a reference that was run this way",
    ),
    # EP7: model, machine, command
    "EP701": Code(
        "warning",
        "The model path begins with ./ or ends in /; lm-eval writes its results into a hidden or "
        "odd folder.",
        "write it without",
    ),
    "EP702": Code(
        "error",
        "The model's folder does not exist or holds no model.",
        "correct the path, or download the model",
    ),
    "EP703": Code(
        "error",
        "More GPUs are asked for than there are.",
        "tensor, pipeline and data parallel sizes multiply to at most their number",
    ),
    "EP704": Code(
        "error",
        "The disk has too little room for results and caches.",
        "free some, or choose another output_path",
    ),
    "EP705": Code(
        "error",
        "NLTK's punkt_tab data are missing; lm-eval's IFEval would fail after all generation.",
        "python -m nltk.downloader punkt_tab, or set NLTK_DATA",
    ),
    "EP706": Code(
        "error",
        "antlr4-python3-runtime is absent or not 4.11, so that answers in LaTeX cannot be parsed.",
        "pip install antlr4-python3-runtime==4.11.0",
    ),
    "EP707": Code(
        "error",
        "The installed lm-eval is not one that this tool was tested with.",
        "pip install 'lm-eval>=0.4.12,<0.5'",
    ),
    "EP708": Code(
        "warning",
        "model_args holds something like a password; lm-eval writes all of them into its results.",
        "use an environment variable",
    ),
    "EP709": Code(
        "warning",
        "Scores are left out, as a model or data that they need are not on this machine; nothing "
        "is fetched.",
        "bring it here and name it in the config, or turn the scores off",
    ),
    "EP710": Code(
        "error",
        "The attention heads, or the key and value heads, cannot be divided among "
        "tensor_parallel_size GPUs.",
        "choose a divisor",
    ),
    "EP711": Code(
        "error",
        "max_model_len is longer than the model's own context; vLLM refuses to start.",
        "lower it",
    ),
    "EP712": Code(
        "note",
        "The back end, or a package that its arguments need, is not installed here.",
        "run the command where it is",
    ),
    "EP713": Code(
        "warning",
        "Weights and cache do not fit the memory of the GPUs.",
        "more GPUs, a shorter context or a quantised model",
    ),
    "EP714": Code("note", "gen_kwargs of the config overrule the settings of every task.", ""),
    "EP716": Code(
        "warning",
        "log_samples is off; nothing can be compared or scored anew after the run.",
        "set log_samples: true",
    ),
    "EP718": Code(
        "error", "data_parallel_size above 1 needs ray.", "pip install ray, or run shards"
    ),
    "EP734": Code(
        "error",
        "lm-eval refuses enable_expert_parallel together with data_parallel_size above 1: copies "
        "on Ray share no experts.",
        "data_parallel_size: 1 and a larger tensor_parallel_size; or start `vllm serve "
        "--data-parallel-size N --enable-expert-parallel` and use backend: local-completions",
    ),
    "EP735": Code(
        "error",
        "The model is loaded by code that lies beside its weights, which the back end refuses to "
        "run.",
        "read that code, then set trust_remote_code in model_args",
    ),
    "EP719": Code(
        "error",
        "enable_thinking needs think_end_token, and does not work with likelihood tasks.",
        "set think_end_token",
    ),
    "EP730": Code(
        "note",
        "The run is for another machine than this one: its packages, its disk and what the config "
        "does not say of it are not looked at here.",
        "run `evalprep check` there",
    ),
    "EP731": Code(
        "warning",
        "What computes values after the run lacks what it needs on this machine; the scores "
        "behind it will have no value.",
        "install it, or run `evalprep score` on a machine that has it",
    ),
    "EP732": Code(
        "error",
        "A variable of this shell makes the engine fail at its first reply, after it has loaded "
        "the model.",
        "unset it",
    ),
    "EP733": Code(
        "error",
        "vLLM gives each copy of the model a core of its own, and the machine of the server has "
        "fewer: it does not start.",
        "lower data_parallel_size or tensor_parallel_size; for GPUs elsewhere: target: {gpus: N}; "
        "for copies that share cores: `export VLLM_CPU_OMP_THREADS_BIND=nobind`",
    ),
    "EP720": Code(
        "warning",
        "batch_size is a number; vLLM then works on that many prompts at a time.",
        "set batch_size: auto",
    ),
    "EP721": Code("error", "model_args names both max_length and max_model_len.", "keep one"),
    "EP722": Code(
        "error",
        "A likelihood task cannot run on this back end.",
        "use vllm, hf or local-completions",
    ),
    "EP723": Code(
        "warning",
        "num_fewshot of the run has no effect on a task whose own file says 0.",
        "change the task's file",
    ),
    "EP724": Code(
        "warning",
        "The chat template makes the model think before it answers, and no think_end_token is "
        "set: the thinking is scored as the answer, and stop strings act inside of it.",
        "set think_end_token in model_args (and a larger max_gen_toks), or enable_thinking: false",
    ),
    "EP725": Code(
        "warning",
        "lm-eval discards enable_thinking inside chat_template_args.",
        "write enable_thinking itself into model_args",
    ),
    "EP727": Code(
        "error",
        "Each of several copies of the model asks Ray for a GPU, and there is none: the run waits "
        "for one for ever.",
        "data_parallel_size: 1, or start Ray with pretended GPUs (docs/running.md)",
    ),
    "EP728": Code(
        "note",
        "A token that an earlier run of Ray left in the home folder makes `ray start` turn "
        "authentication on, while a run with RAY_ADDRESS does not send it and is refused "
        "(InvalidAuthToken).",
        "`export RAY_AUTH_MODE=disabled` before `ray start` and before the command, or remove the "
        "file",
    ),
    "EP726": Code(
        "note",
        "Results of adapters (lora_local_path) go into the folder of the base model.",
        "use one output_path for each",
    ),
}


def markdown() -> str:
    """The table as docs/reference/codes.md."""
    lines = [
        "# Findings of `evalprep check`",
        "",
        (
            "Errors stop a preparation before anything is written (exit code 2); warnings and "
            "notes are printed."
        ),
        "See [check](../commands/check.md).",
        "",
    ]
    for family, title in FAMILIES.items():
        columns = [Column("code", Kind.NAME), Column("level")]
        columns += [Column(name, Kind.MARKDOWN) for name in ("meaning", "what to do")]
        table = Table(f"{family}xx: {title}", columns)
        for code, row in CODES.items():
            if code.startswith(family):
                table.add(code, row.level, row.meaning, row.fix or "-")
        lines += markdown_lines(table)
    return "\n".join(lines)
