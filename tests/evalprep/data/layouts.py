"""Layouts of repositories: the files, and what is asked of each; `compare_layouts.py` reads them in two ways.

No layout has damage in a split that is not asked for: `datasets` makes all splits to give one, and refuses then.
"""

import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq


def rows(word, count=2):
    return [{"q": f"{word} {number}", "n": number} for number in range(count)]


def lines(word, count=2):
    return "".join(json.dumps(row) + "\n" for row in rows(word, count)).encode()


def listed(word):
    return json.dumps(rows(word), indent=1).encode()


def table(word, separator=",", count=2):
    return (
        "\n".join(["q,n", *(f"{row['q']},{row['n']}" for row in rows(word, count)), ""])
        .replace(",", separator)
        .encode()
    )


def parquet(word, count=2):
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows(word, count)), file)
    return file.getvalue()


def card(*configs, **more):
    return f"---\n{json.dumps({**({'configs': list(configs)} if configs else {}), **more})}\n---\n# Data\n".encode()


def config(name, data_files=None, **more):
    return {"config_name": name, **({"data_files": data_files} if data_files is not None else {}), **more}


TRAIN = [{"split": "train"}]
BOTH = [{"split": "train"}, {"split": "test"}]
A_AND_B = {"a/x.csv": table("a"), "b/x.csv": table("b")}
AB = (config("a", "a/*.csv"), config("b", "b/*.csv"))
HEAD = "README.md"

#: Name -> files, and the questions that are asked of it.
LAYOUTS = {
    "one_csv": ({"any.csv": table("x")}, TRAIN),
    "one_tsv": ({"any.tsv": table("x", "\t")}, TRAIN),
    "one_jsonl": ({"any.jsonl": lines("x")}, TRAIN),
    "one_ndjson": ({"any.ndjson": lines("x")}, TRAIN),
    "one_json": ({"any.json": listed("x")}, TRAIN),
    "one_parquet": ({"any.parquet": parquet("x")}, TRAIN),
    "csv_gz": ({"any.csv.gz": gzip.compress(table("x"))}, TRAIN),
    "jsonl_gz": ({"any.jsonl.gz": gzip.compress(lines("x"))}, TRAIN),
    "json_gz": ({"any.json.gz": gzip.compress(listed("x"))}, TRAIN),
    "parquet_gzip": ({"any.parquet.gzip": parquet("x")}, TRAIN),
    "bom": ({"train.csv": b"\xef\xbb\xbf" + table("x"), "test.csv": b"\xef\xbb\xbf" + table("y")}, BOTH),
    "bom_jsonl": ({"train.jsonl": b"\xef\xbb\xbf" + lines("x")}, TRAIN),
    "cells": ({"a.csv": b'q,n,a\n"one, with\ntwo lines",1,\n"say ""x""",,NA\n\n007,3,1.5\n'}, TRAIN),
    "splits_in_names": ({"train.csv": table("x"), "test.csv": table("y")}, [*BOTH, {"split": "validation"}]),
    "splits_in_names_below": ({"data/train.jsonl": lines("x"), "data/test.jsonl": lines("y")}, BOTH),
    "numbered": ({f"{split}_{n}.csv": table(f"{split}{n}") for split in ("train", "test") for n in (10, 2, 1)}, BOTH),
    "splits_as_folders": ({"train/a.csv": table("x"), "train/b.csv": table("y"), "test/a.csv": table("z")}, BOTH),
    "splits_as_folders_below": ({"data/train/0.jsonl": lines("x"), "data/test/0.jsonl": lines("z")}, BOTH),
    "folders_with_words": ({"my-train-set/0.csv": table("x"), "test_set/0.csv": table("z")}, BOTH),
    "other_words": (
        {"training.csv": table("x"), "dev.csv": table("y"), "evaluation.csv": table("z")},
        [*BOTH, {"split": "validation"}],
    ),
    "shards": (
        {f"data/{one}-0000{n}-of-00002.parquet": parquet(f"{one}{n}") for one in ("train", "odd") for n in (0, 1)},
        [{"split": "train"}, {"split": "odd"}, {"split": "test"}],
    ),
    "shards_with_hash": ({"data/test-00000-of-00001-0a1b2c3d.parquet": parquet("x")}, [{"split": "test"}]),
    "shards_elsewhere": ({"set/train-00000-of-00001.parquet": parquet("x")}, TRAIN),
    "dotted": ({"my.set.v1.train.jsonl": lines("x"), "my.set.v1.test.jsonl": lines("y")}, BOTH),
    "word_in_the_middle": ({"qa-test-v1.csv": table("x"), "qa-train-v1.csv": table("y")}, BOTH),
    "no_word": ({"contest.csv": table("x"), "trains.csv": table("y")}, BOTH),
    "blanks_and_accents": ({"données d'été/train 1.csv": table("x"), "données d'été/test 1.csv": table("y")}, BOTH),
    "deep": ({"a/b/c/d.csv": table("x"), "a/e.csv": table("y")}, TRAIN),
    "hidden": ({"train.csv": table("x"), ".train.csv": table("y"), ".git/train.csv": table("z")}, TRAIN),
    "special_folder": ({"train.csv": table("x"), "__MACOSX/train.csv": table("y")}, TRAIN),
    "files_about_it": ({"a.jsonl": lines("x"), "dataset_infos.json": b"{}", "config.json": b"{}"}, TRAIN),
    "licence_and_code": ({"a.csv": table("x"), "LICENSE": b"free", "load.py": b"raise SystemExit"}, TRAIN),
    "licence_in_markdown": ({"a.csv": table("x"), "LICENSE.md": b"free"}, TRAIN),
    "most_are_csv": ({"a.csv": table("x"), "b.csv": table("y"), "c.jsonl": lines("z")}, TRAIN),
    "as_many_of_each": ({"a.csv": table("x"), "c.parquet": parquet("z")}, TRAIN),
    "splits_differ": ({"train.csv": table("x"), "test.jsonl": lines("y")}, BOTH),
    "a_script_called_test": ({"train.csv": table("x"), "test.sh": b"exit"}, TRAIN),
    "images": ({"a.png": b"no", "b.png": b"no", "a.csv": table("x")}, TRAIN),
    "capitals": ({"A.CSV": table("x")}, TRAIN),
    "nothing": ({"notes": b"none"}, TRAIN),
    "empty_csv": ({"train.csv": b""}, TRAIN),
    "card_without_yaml": ({HEAD: b"# Words\n", "train.csv": table("x")}, TRAIN),
    "card_without_configs": ({HEAD: card(license="mit"), "train.csv": table("x"), "test.csv": table("y")}, BOTH),
    "configs_with_default": (
        {HEAD: card(*AB, config("default", "*/x.csv")), **A_AND_B},
        [{"split": "train"}, {"split": "train", "config": "b"}],
    ),
    "configs_with_a_flag": ({HEAD: card(AB[0], {**AB[1], "default": True}), **A_AND_B}, TRAIN),
    "configs_without_default": (
        {HEAD: card(*AB), **A_AND_B},
        [{"split": "train"}, {"split": "train", "config": "b"}, {"split": "train", "config": "c"}],
    ),
    "two_defaults": ({HEAD: card({**AB[0], "default": True}, {**AB[1], "default": True}), **A_AND_B}, TRAIN),
    "one_config": ({HEAD: card(AB[1]), **A_AND_B}, [{"split": "train"}, {"split": "train", "config": "b"}]),
    "one_info": ({HEAD: card(*AB, dataset_info={"config_name": "b"}), **A_AND_B}, TRAIN),
    "split_map": (
        {
            HEAD: card(config("x", [{"split": "train", "path": "a/*"}, {"split": "test", "path": ["b/x.csv"]}])),
            **A_AND_B,
        },
        [*BOTH, {"split": "dev"}],
    ),
    "list_of_patterns": ({HEAD: card(config("x", ["b/*.csv", "a/*.csv"])), **A_AND_B}, TRAIN),
    "pattern_over_folders": ({HEAD: card(config("x", "**/x.csv")), **A_AND_B, "y.csv": table("y")}, TRAIN),
    "pattern_with_class": ({HEAD: card(config("x", "[b-c]/?.csv")), **A_AND_B}, TRAIN),
    "file_of_the_card_is_absent": ({HEAD: card(config("x", "c/x.csv")), **A_AND_B}, TRAIN),
    "config_with_folder": (
        {HEAD: card(config("a", data_dir="a"), config("b", data_dir="b")), "a/train.csv": table("a"),
         "b/train.csv": table("b"), "b/test.csv": table("c")},
        [{"split": "train", "config": "a"}, {"split": "test", "config": "b"}],
    ),
    "config_with_nothing": ({HEAD: card(config("x")), "train.csv": table("a"), "test.csv": table("b")}, BOTH),
    "separator": ({HEAD: card(config("x", "a.csv", sep=";")), "a.csv": table("x", ";")}, TRAIN),
    "card_in_a_file_of_its_own": (
        {".huggingface.yaml": json.dumps({"configs": [AB[1]]}).encode(), **A_AND_B},
        [{"split": "train", "config": "b"}],
    ),
    "asked_by_pattern": (
        {"x/train.csv": table("x"), "y/train.csv": table("y")},
        [
            {"split": "train", "data_files": "y/*.csv"},
            {"split": "test", "data_files": {"test": "x/train.csv"}},
            {"split": "train", "data_files": ["y/train.csv", "x/train.csv"]},
            {"split": "train", "data_files": "z.csv"},
        ],
    ),
    "asked_by_folder": (
        {"x/train.csv": table("x"), "y/train.csv": table("y"), "y/test.csv": table("z")},
        [{"split": "test", "data_dir": "y"}, {"split": "train", "data_dir": "x"}, {"split": "train", "data_dir": "z"}],
    ),
}  # fmt: skip


def write(folder):
    """Write every layout as a folder of its own."""
    for name, (files, _) in LAYOUTS.items():
        for path, content in files.items():
            file = folder / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
