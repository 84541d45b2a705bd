"""What is a credential and what only looks like one."""

import base64
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalprep import credentials
from evalprep.check.patterns import slowness
from evalprep.credentials import is_secret, redacted, secret_paths, without_secrets
from tests.loops import each

# Every one of these is made up. Name -> (setting, the part that must not be seen again).
PLANTED = {
    "password in a URL": ({"base_url": "http://ann:Pw4ann99@host:8000/v1"}, "Pw4ann99"),
    "token in a URL": (
        {"base_url": "https://a1B2c3D4e5F6g7H8i9J0@host/v1"},
        "a1B2c3D4e5F6g7H8i9J0",
    ),
    "key in a query": ({"base_url": "https://host/v1?api_key=q1w2e3r4t5&model=m"}, "q1w2e3r4t5"),
    "short key in a query": ({"base_url": "https://host/v1?model=m&key=zz9plural"}, "zz9plural"),
    "header map": ({"header": {"X-Api-Key": "alpha-beta-gamma"}}, "alpha-beta-gamma"),
    "header map of a bearer": (
        {"default_headers": {"Authorization": "Bearer letmeinplease"}},
        "letmeinplease",
    ),
    "header in a text": ({"header": "Authorization: Bearer letmeinplease"}, "letmeinplease"),
    "JSON in a text": ({"header": '{"X-Auth-Token": "alphabetagamma7"}'}, "alphabetagamma7"),
    "cookie": ({"headers": {"Cookie": "session=deadbeefcafe"}}, "deadbeefcafe"),
    "GitHub": ({"revision": "github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ"}, "11ABCDEFG0"),
    "GitHub, classic": ({"note": "ghp_abcdefghijklmnopqrstuvwxyz0123456789"}, "ghp_abc"),
    "AWS": ({"note": "AKIAABCDEFGHIJKLMNOP"}, "AKIAABCD"),
    "JSON web token": (
        {"note": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123_-"},
        "eyJhbGci",
    ),
    "name of a service": ({"openai_key": "whatever"}, "whatever"),
    "passwd": ({"passwd": "whatever"}, "whatever"),
    "camel case": ({"apiKey": "whatever"}, "whatever"),
    "a token by name": ({"hf_token": "whatever"}, "whatever"),
    "sk- inside a value": ({"extra": "--header x=sk-proj-abcDEF123456789012345"}, "abcDEF1234"),
    "option inside a value": ({"extra": "serve --api-key whatever9 --port 1"}, "whatever9"),
    "model arguments in one text": (
        {"model_args": "model=m,api_key=whatever,dtype=auto"},
        "whatever",
    ),
    "hub token": ({"extra": "use hf_AbCdEfGhIjKlMnOpQrStUvWxYz please"}, "hf_AbCd"),
    "Slack": ({"note": "xoxb-123456789012-abcdefghijkl"}, "xoxb-1234"),
    "Google": ({"note": "AIzaSyA1234567890abcdefghijklmnopqrstu"}, "AIzaSyA"),
    "NVIDIA": ({"note": "nvapi-abcdefghij_klmnopqrst"}, "nvapi-abc"),
    "private key": (
        {"note": "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----"},
        "MIIEabc",
    ),
    "connection text": ({"store": "Server=db;User=ann;Password=hunter22;"}, "hunter22"),
    "a header without a digit": (
        {"default_headers": ["Basic YWxhZGRpbjpvcGVu"]},
        "YWxhZGRpbjpvcGVu",
    ),
    "a second key": ({"openai_key_2": "whatever"}, "whatever"),
    "a key for reading": ({"HF_TOKEN_READ": "whatever"}, "whatever"),
    "a pair of user and password": ({"auth": ["ann", "Pw4ann99"]}, "Pw4ann99"),
    "basic_auth": ({"basic_auth": "ann:Pw4ann99"}, "Pw4ann99"),
    "a token of a directory": ({"azure_ad_token": "whatever9"}, "whatever9"),
    "short for password": ({"db_pass": "whatever9"}, "whatever9"),
    "option with an equals sign": (
        {"extra": "vllm serve --api-key=whatever9 --port 1"},
        "whatever9",
    ),
    "user of curl": ({"extra": "curl -u ann:Pw4ann99 http://h"}, "Pw4ann99"),
    "GitLab's trigger": ({"note": "glptt-0123456789abcdef0123456789abcdef01234567"}, "glptt-0123"),
    "an encoded name in a query": ({"base_url": "https://host/v1?api%5Fkey=q1w2e3r4"}, "q1w2e3r4"),
    "a fragment of a URL": ({"base_url": "https://host/v1#access_token=zz9plural"}, "zz9plural"),
    "an @ in a password": ({"base_url": "http://ann:p@ssw0rd@host/v1"}, "ssw0rd"),
    "a URL without a scheme": ({"base_url": "ann:Pw4ann99@host:8000/v1"}, "Pw4ann99"),
    "a slash in a password": ({"base_url": "http://ann:Pw4/ann99@host:8000/v1"}, "ann99"),
    "a question mark in a password": ({"base_url": "postgres://ann:Pw4?ann99@host"}, "ann99"),
    "a hash in a password": ({"base_url": "http://ann:Pw4#ann99@host/v1"}, "Pw4"),
    "a password of a service in a text": ({"extra": "run PGPASSWORD=hunter22 psql"}, "hunter22"),
    "Together": ({"note": "tgp_v1_abcdefghijklmnop1234567890ABCDEF"}, "tgp_v1_abc"),
    "a name of two words": ({"api key": "whatever9"}, "whatever9"),
    "a name of two words in a text": ({"extra": "my api key: whatever9"}, "whatever9"),
    "a name in full width": (
        {"\uff41\uff50\uff49\uff3f\uff4b\uff45\uff59": "whatever9"},
        "whatever9",
    ),
    "a name in full width in a text": (
        {"extra": "\uff41\uff50\uff49\uff3f\uff4b\uff45\uff59\uff1dwhatever9"},
        "whatever9",
    ),
    "a name with a letter of no width": ({"api\u200b_key": "whatever9"}, "whatever9"),
    "a name with a letter of no width in a text": (
        {"extra": "api\u200b_key=whatever9"},
        "whatever9",
    ),
    "a slash in a password among others": (
        {"model_args": "base_url=http://ann:Pw4/ann99@h/v1,model=m"},
        "ann99",
    ),
    "a slash, and no scheme": ({"base_url": "ann:Pw4/ann99@host/v1"}, "ann99"),
    "half a URL": ({"base_url": "//ann:Pw4ann99@host/v1"}, "Pw4ann99"),
    "below its name": ({"api_key": {"value": "whatever9"}}, "whatever9"),
    "digits alone": ({"password": 12345678}, "12345678"),
    "a key of a mapping": ({"https://ann:Pw4ann99@host": "v"}, "Pw4ann99"),
    "a token of sixteen signs before a host": (
        {"source": "https://abcdef0123456789@host.example/x"},
        "abcdef0123456789",
    ),
    "a list": ({"model_args": {"headers": [{"name": "a"}, {"api-key": "whatever"}]}}, "whatever"),
    "Azure": ({"note": f"{'a1B2' * 13}JQQJ99{'c3D4' * 6}aa"}, "JQQJ99"),
    "a hook of Slack": (
        {"note": "https://hooks.slack.com/services/T0/B0/abcDEF0123456789"},
        "abcDEF0",
    ),
    "a hook of Discord": (
        {"note": f"https://discord.com/api/webhooks/123456789012/{'aB3_' * 10}"},
        "aB3_aB3_",
    ),
    "Linear": ({"note": f"lin_api_{'aB3d' * 10}"}, "aB3daB3d"),
    "Notion": ({"note": f"ntn_{'1aB3' * 11}"}, "1aB31aB3"),
    "Shopify": ({"note": f"shpat_{'0a1b' * 8}"}, "0a1b0a1b"),
    "Figma": ({"note": f"figd_{'aB3-' * 10}"}, "aB3-aB3-"),
    "Postman": ({"note": f"PMAK-{'0a1b' * 6}-{'0a1b' * 8}"}, "0a1b0a1b"),
    "Voyage": ({"note": f"pa-{'aB3d' * 11}"}, "aB3daB3d"),
    "Jina": ({"note": f"jina_{'aB3d' * 12}"}, "aB3daB3d"),
    "E2B": ({"note": f"e2b_{'0a1b' * 10}"}, "0a1b0a1b"),
    "Modal": ({"note": "use as-aB3daB3daB3daB3daB3daB"}, "aB3daB3d"),
    "OpenRouter": ({"note": f"sk-or-v1-{'0a1b' * 16}"}, "0a1b0a1b"),
    "PGP": ({"note": "-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQVYBGabc"}, "lQVYBG"),
    "JSON in JSON in JSON": (
        {"arg": json.dumps(json.dumps({"a": json.dumps({"api_key": "whatever9"})}))},
        "whatever9",
    ),
    "bytes of Python": ({"arg": "{b'api_key': b'whatever9'}"}, "whatever9"),
    "a value with spaces": ({"arg": 'password="hunter two 22"'}, "two 22"),
    "a header as a pair": ({"headers": [["X-Api-Key", "whatever9"]]}, "whatever9"),
    "a header by name and value": (
        {"headers": [{"name": "X-Api-Key", "value": "whatever9"}]},
        "whatever9",
    ),
    "an encoded URL": ({"base_url": "http%3A%2F%2Fann%3APw4ann99%40host%2Fv1"}, "Pw4ann99"),
    "a password without a user": ({"base_url": "redis://:Pw4ann99@host:6379/0"}, "Pw4ann99"),
    "a key in base64": ({"note": "c2stcHJvai1hYmNERUYxMjM0NTY3ODkwMTIzNDU="}, "c2stcHJvai"),
    "a bearer in base64": (
        {"note": base64.b64encode(b"Bearer abcdef0123456789").decode()},
        "QmVhcmVy",
    ),
    "a name with a slash": ({"api/key": "whatever9"}, "whatever9"),
    "another ending": ({"secretKeyBase": "whatever9"}, "whatever9"),
    "the service last": ({"API_KEY_OPENAI": "whatever9"}, "whatever9"),
    "a token of a service last": ({"token_hf": "whatever9"}, "whatever9"),
    "a password in German": ({"Kennwort": "whatever9"}, "whatever9"),
    "a password in French": ({"mot_de_passe": "whatever9"}, "whatever9"),
    "a password in Spanish": ({"contraseña": "whatever9"}, "whatever9"),
    "a password in Chinese": ({"extra": "密码=whatever9"}, "whatever9"),
    "a name with a Cyrillic letter": ({"\u0430pi_key": "whatever9"}, "whatever9"),
    "the same in a text": ({"extra": "\u0430pi_key=whatever9"}, "whatever9"),
    "an arrow": ({"arg": "api_key => whatever9"}, "whatever9"),
    "an element of XML": ({"arg": "<api_key>whatever9</api_key>"}, "whatever9"),
    "a line of .netrc": ({"arg": "machine h.example login ann password Pw4ann99"}, "Pw4ann99"),
    "no width within a key": ({"note": "sk-pro\u200bj-abcDEF123456789012345"}, "abcDEF1234"),
}
HARMLESS = {
    "choices": {"doc_to_choice": ["token", "word"], "fields": ["password", "name"]},
    "an encoded address": {"source": "https%3A%2F%2Fhost.example%2Fv1"},
    "base64 of a picture": {"note": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"},
    "an element without a secret": {"description": "<answer>whatever9</answer>"},
    "where a key is": {"api_key_env": "OPENAI_API_KEY"},
    "commit": {"revision": "0e9e39f249a16976918f6564b8830bc894c89659"},
    "digest": {"sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},
    "hub id": {"pretrained": "meta-llama/Llama-3.1-8B-Instruct"},
    "hub id with many words": {"pretrained": "org/sk-3b-instruct-v2024-hf_transformers"},
    "path": {
        "pretrained": "/data/models/hf_cache/models--org--name/snapshots/0e9e39f249a16976918f6564b8830bc894c89659"
    },
    "think_end_token": {"think_end_token": "</think>"},
    "eos_token": {"eos_token": "<|eot_id|>"},
    "pad_token": {"pad_token": "<pad>"},
    "add_bos_token": {"add_bos_token": True},
    "max_tokens": {"max_tokens": 512},
    "token as a switch": {"token": True},
    "tokenizer": {"tokenizer": "org/tokenizer"},
    "tokenized_requests": {"tokenized_requests": "False"},
    "base_url": {"base_url": "http://127.0.0.1:8000/v1/completions"},
    "URL with a query": {"base_url": "https://host.example/v1?model=a&version=2024-10-21"},
    "ssh": {"source": "ssh://git@host.example/repository.git"},
    "port and a path with an @": {"base_url": "http://host:8000/v1/models/me@org"},
    "the same without a scheme": {"base_url": "host:8000/v1/models/me@org"},
    "path with an @": {"source": "https://example.org/@ann/posts:all/x@y"},
    "a name of fifteen signs": {"source": "ssh://deployment-user@host.example/repository.git"},
    "ssh with a path": {"source": "git+ssh://git@host.example:org/repo.git@v1.0"},
    "scp": {"source": "git@host.example:org/repository.git"},
    "IPv6": {"base_url": "http://[::1]:8000/v1/me@org"},
    "drive": {"source": "file://C:/data/me@org"},
    "URL and mail": {
        "description": "See https://host.example:443/a?b and write to ann@example.org"
    },
    "label of a build": {"source": "@repo//pkg:target/x@1.2"},
    "place in a file": {"description": "/etc/passwd:1: not JSON, and secrets/api_key:12:3"},
    "environment": {"api_key": "$OPENAI_API_KEY"},
    "environment in braces": {"api_key": "${OPENAI_API_KEY}"},
    "local server": {"api_key": "EMPTY"},
    "environment by name": {"api_key": {"env": "OPENAI_API_KEY"}},
    "number of keys": {"api_keys": 4},
    "id of a token": {"eos_token_id": 128_001, "bos_token": 128_000},
    "host and port": {"base_url": "127.0.0.1:8000/v1"},
    "user and group": {"extra": "docker run -u 1000:1000 image"},
    "basic words": {"description": "Basic arithmetic: Basic mathematics, auth: none, pass: 3 of 4"},
    "stop string": {"until": ["Question:", "</s>", "\n\nQ: "]},
    "keyword": {"primary_key": "sample_id"},
    "sort key": {"sort_key": "subject"},
    "key of a mapping": {"key": "answer"},
    "column": {"columns": {"question": "prompt", "answer": "target_token"}},
    "prose": {
        "description": "Answer the question. Basic mathematics is enough; a token is a word."
    },
    "prose with a password": {"doc_to_text": "Is a password: yes or no?"},
    "template": {"doc_to_text": "{{question}}\nAnswer: {{answer}}"},
    "mail": {"contact": "ann@example.org"},
    "dtype": {"dtype": "bfloat16"},
    "limits": {"gpu_memory_utilization": 0.9, "max_model_len": 8192},
    "uuid": {"run": "123e4567-e89b-12d3-a456-426614174000"},
    "run id": {"metadata": "run=r0123456789a,command=c1-plain"},
    "a name with sk": {"task": "ask-a-question-of-2000-words-and-risk-taking-behaviour-1234567890"},
    "regex": {"regex_pattern": r"(?i)answer\s*(?:is|:)\s*\(?([A-J])\)?"},
}


@pytest.mark.parametrize(("setting", "secret"), PLANTED.values(), ids=PLANTED)
def test_planted_credentials_are_found_and_hidden(setting, secret):
    assert list(secret_paths(setting))
    hidden = str(without_secrets(setting))
    assert secret not in hidden
    assert "***" in hidden


@pytest.mark.parametrize("setting", HARMLESS.values(), ids=HARMLESS)
def test_harmless_settings_pass_unchanged(setting):
    assert list(secret_paths(setting)) == []
    assert without_secrets(setting) == setting


def test_the_rest_of_a_text_is_kept():
    text = "curl -H 'Authorization: Bearer abc12345' http://ann:pw@host/v1?model=m&api_key=abc --port 1"
    hidden = redacted(text)
    assert all(secret not in hidden for secret in ("abc12345", "ann:pw", "api_key=abc"))
    assert all(
        kept in hidden for kept in ("curl -H 'Authorization: ", "@host/v1?model=m", "--port 1")
    )


@given(st.text(max_size=300))
def test_hiding_twice_is_hiding_once(text):
    once = redacted(text)
    assert redacted(once) == once


def test_what_stands_beside_a_password_with_a_slash_is_kept():
    assert (
        redacted("base_url=http://ann:p/w@h/v1,model=a,note=b@c")
        == "base_url=http://***@h/v1,model=a,note=b@c"
    )


def test_a_switch_or_a_number_is_no_credential():
    assert not is_secret("api_key", None)
    assert not is_secret("token", 3)


def test_the_patterns_are_linear():
    from evalprep import credentials

    values = {**vars(credentials), **credentials._QUOTED}
    patterns = [
        (name, value.text)
        for name, value in values.items()
        if isinstance(value, credentials._Pattern)
    ]
    for name, pattern in each(patterns):
        slow = slowness(pattern)
        assert slow is None, (name, slow)


@pytest.mark.parametrize("provider", credentials._KEYS)
@settings(max_examples=10)
@given(data=st.data())
def test_each_key_holds_a_mark_of_its_provider(provider, data):
    marks, form = credentials._KEYS[provider]
    without_conditions = re.sub(r"\(\?=[^)]*\)", "", form)  # of more texts than keys
    key = data.draw(st.from_regex(without_conditions, fullmatch=True))
    assert any(mark in key for mark in marks.split())
