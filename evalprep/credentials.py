"""Texts and settings that look like a credential.

A credential must not reach a file, a log, a page, a message or a command line.

Three rules: the name of a setting (`api_key`, `X-Auth-Token`, `passwd`), the form of a value that a
provider publishes (`sk-...`, `github_pat_...`, `AKIA...`, a JSON web token), and the place in a URL
(`http://user:password@host`, `?api_key=...`). Long random texts alone say nothing: commit hashes
and digests look the same.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, wraps
from typing import Any
from urllib.parse import unquote

from custom_metrics.patterns import any_of

HIDDEN = "***"
_LONGEST_NAME = 40
_LONGEST_KEPT = 200  # letters of names about which answers are kept


class _Pattern:
    """A regular expression that is compiled when it is first used.

    Compiling all of them would take as long as the rest of a config check.
    """

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.text)

    def search(self, text: str) -> re.Match[str] | None:
        return self._compiled.search(text)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self._compiled.match(text, start)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text)

    def sub(self, by: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self._compiled.sub(by, text)


_KIND = any_of("value text string plain raw b64 base64 hash read write prod dev test old new base")
_SUFFIX = rf"(?:_?{_KIND}|_?\d{{1,3}})?"
_WHAT_A_KEY_OPENS = any_of(
    "access secret private account storage subscription signing encryption master service deploy",
    "admin license client",
)
_WHAT_A_TOKEN_OPENS = any_of(
    "auth access bearer refresh session api id personal security secret service user csrf private",
    "deploy bot ad aad oauth client app",
)
_SECRET_PART = any_of("pass(?:word|wd|phrase) passwort api_?keys?")
_SECRET_WORD = any_of(
    "passcode pwd secrets? credentials? authorization cookies? jwt bearer",
    f"{_WHAT_A_KEY_OPENS}_?keys?",
    "kennwort mot_de_passe contra[s]e[ñn]a senha",  # German, French, Spanish, Portuguese
    "wachtwoord salasana lösenord пароль",  # Dutch, Finnish, Swedish, Russian
    "密码 密钥 パスワード 비밀번호",  # Chinese, Japanese, Korean
    f"{_WHAT_A_TOKEN_OPENS}_?tokens?",
    "signature sig sas connection_?string (?:basic|http|proxy|digest)_?auth",
)
# Names whose last words say that the value is secret, whatever stands before: openai_api_key,
# PGPASSWORD, client_secret_2.
_SECRET_NAME = _Pattern(rf"(?:(?:^|_|(?<=[a-z])){_SECRET_PART}|(?:^|_){_SECRET_WORD}){_SUFFIX}$")
# As the name of a setting, or before an equals sign, these hold a secret too; "auth: none" in a
# sentence does not.
_SHORT_NAME = _Pattern(r"(?:^|_)(?:pass|pw|auth)$")
_SERVICES = any_of(
    "ai21 anthropic anyscale atlassian aws azure baidu cerebras claude cloudflare cohere comet",
    "dashscope databricks deep_?seek discord docker e2b figma fireworks gemini gh github gitlab",
    "google groq hf hub hugging_?face ibm jina kaggle langsmith linear litellm minimax mistral",
    "modal moonshot nebius nim notion npm nvidia octo open_?ai open_?router perplexity pinecone",
    "proxy pypi replicate runpod sambanova sendgrid serp slack stripe tavily telegram together",
    "twilio vault vertex vllm voyage wand_?b watsonx xai zhipu",
)
_OPENS_A_SERVICE = any_of("keys? tokens? pat auth secrets?")
_OF_A_SERVICE = _Pattern(rf"(?:^|_){_SERVICES}_?{_OPENS_A_SERVICE}{_SUFFIX}$")
_FOR_A_SERVICE = _Pattern(rf"(?:^|_)(?:api_?key|token|secret|password)_{_SERVICES}$")
# In URLs and headers every key, token or code is one that opens something.
_IN_A_REQUEST = _Pattern(
    r"(?:^|_)(?:key|token|auth|sig|signature|credential|cookie|secret|password)$"
)
_TOKEN = _Pattern(r"^tokens?$")
_REFERS = _Pattern(r"^(?:env|environment|from|name|file|path|type|var|variable)$")
# Where an address is expected, what stands before its @ opens it, with or without a scheme.
_ADDRESS = _Pattern(r"(?:^|_)(?:urls?|uri|hosts?|proxy|endpoint|server|base|address|dsn)$")
_USER_AT_HOST = _Pattern(
    r"([\w.+%-]{0,100}"  # user
    r":(?!\d{0,5}[/?#])[^\s@]{3,200})"  # password
    r"@([\w.-]{1,200}(?::\d{1,5})?"  # host and port
    r"(?:[/?].*)?)"  # path
)
_HEADERS = _Pattern(r"(?:^|_)headers?$")
_WORDS = _Pattern(r"(?<=[a-z0-9])(?=[A-Z])|[-./:\s]+")
# Letters of other scripts that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "аеіјкорсѕтухԁΑΕΙΚΟΡΤΥΧАЕІЈКОРСЅТУХ", "aeijkopcstyxdAEIKOPTYXAEIJKOPCSTYX"
)

# Provider -> texts of which each of its keys holds one, which are found fast, and the form of its
# keys, as the provider's documentation or public scanners name it.
_KEYS = {
    "OpenAI, Anthropic": (
        "sk-",
        r"sk-(?:[a-z0-9]{2,10}-){0,3}(?=[A-Za-z_]{0,60}\d)[A-Za-z0-9_]{10,200}(?:-[\w-]{1,100})?",
    ),
    "Hugging Face": (
        "hf_",
        r"hf_(?:(?=[a-z0-9]{0,40}[A-Z])[A-Za-z0-9]{16,100}|[A-Za-z0-9]{30,100})",
    ),
    "Hugging Face, organizations": ("api_org_", r"api_org_[A-Za-z0-9]{20,100}"),
    "GitHub, fine-grained": ("github_pat_", r"github_pat_[A-Za-z0-9_]{10,200}"),
    "GitHub": ("gho_ ghp_ ghr_ ghs_ ghu_", r"gh[oprsu]_[A-Za-z0-9]{16,255}"),
    "GitLab": (
        "glpat- glptt- gldt- glrt- glcbt- glft- glsoat- gloas- glimt- glagent-",
        r"gl(?:pat|ptt|dt|rt|cbt|ft|soat|oas|imt|agent)-[\w-]{16,100}",
    ),
    "AWS": (
        "AKIA ASIA ABIA ACCA AGPA AIDA AIPA ANPA ANVA AROA",
        r"(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AIPA|ANPA|ANVA|AROA)[A-Z0-9]{12,24}",
    ),
    "Google": ("AIza", r"AIza[\w-]{20,60}"),
    "Google, access tokens": ("ya29.", r"ya29\.[\w-]{20,400}"),
    "Google, client secrets": ("GOCSPX-", r"GOCSPX-[\w-]{16,60}"),
    "Slack": ("xox", r"xox[abeoprs]-[A-Za-z0-9-]{10,250}"),
    "Slack, apps": ("xapp-", r"xapp-[A-Za-z0-9-]{10,250}"),
    "Stripe": ("_live_ _test_", r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,250}"),
    "SendGrid": ("SG.", r"SG\.[\w-]{16,80}\.[\w-]{16,80}"),
    "npm": ("npm_", r"npm_[A-Za-z0-9]{20,60}"),
    "PyPI": ("pypi-", r"pypi-[\w-]{30,400}"),
    "DigitalOcean": ("dop_v1_", r"dop_v1_[0-9a-f]{40,70}"),
    "HashiCorp Vault": ("hvs.", r"hvs\.[\w-]{20,200}"),
    "NVIDIA": ("nvapi-", r"nvapi-[\w-]{16,100}"),
    "Groq": ("gsk_", r"gsk_[A-Za-z0-9]{16,100}"),
    "xAI": ("xai-", r"xai-[A-Za-z0-9]{16,120}"),
    "Perplexity": ("pplx-", r"pplx-[A-Za-z0-9]{16,100}"),
    "Replicate": ("r8_", r"r8_[A-Za-z0-9]{16,60}"),
    "Databricks": ("dapi", r"dapi[0-9a-f]{32}"),
    "LangSmith": ("lsv2_", r"lsv2_[a-z]{2}_[0-9a-f_]{20,80}"),
    "age": ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{20,80}"),
    "Together": ("tgp_v1_", r"tgp_v1_[\w-]{16,100}"),
    "Fireworks": ("fw_", r"fw_[A-Za-z0-9]{20,60}"),
    "Cerebras": ("csk-", r"csk-[A-Za-z0-9]{20,80}"),
    "Tavily": ("tvly-", r"tvly-[\w-]{16,80}"),
    "Docker": ("dckr_pat_", r"dckr_pat_[\w-]{20,80}"),
    "RunPod": ("rpa_", r"rpa_[A-Za-z0-9]{30,80}"),
    "Supabase": ("sbp_", r"sbp_[0-9a-f]{40}"),
    "Telegram": (":AA", r"\d{8,10}:AA[\w-]{30,40}"),
    "Azure": ("JQQJ99", r"[A-Za-z0-9]{40,80}JQQJ99[A-Za-z0-9]{20,40}"),
    "Linear": ("lin_api_", r"lin_api_[A-Za-z0-9]{30,60}"),
    "Notion": ("ntn_", r"ntn_[A-Za-z0-9]{30,60}"),
    "Shopify": ("shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    "Figma": ("figd_", r"figd_[\w-]{30,60}"),
    "Postman": ("PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{30,40}"),
    "DigitalOcean, OAuth": ("doo_v1_ dor_v1_", r"do[or]_v1_[0-9a-f]{40,70}"),
    "Vercel": ("vck_ vcp_ vcr_", r"vc[kpr]_[A-Za-z0-9]{24,80}"),
    "E2B": ("e2b_", r"e2b_[0-9a-f]{40}"),
    "Voyage": ("pa-", r"pa-(?=[A-Za-z_-]{0,40}\d)[\w-]{40,60}"),
    "Jina": ("jina_", r"jina_[A-Za-z0-9]{40,80}"),
    "Modal": ("ak- as-", r"a[ks]-(?=[A-Za-z]{0,21}\d)[A-Za-z0-9]{22}"),
    "Slack, webhooks": ("hooks.slack.com/", r"hooks\.slack\.com/services/[\w/]{20,100}"),
    "Discord, webhooks": (
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{10,25}/[\w-]{30,100}",
    ),
    "JSON web token": ("eyJ", r"eyJ[\w-]{6,4000}\.eyJ[\w-]{6,4000}\.?[\w-]{0,4000}"),
}
_FORMS_OF_KEYS = [form for _, form in _KEYS.values()]
_FORMS = _Pattern("(?<![A-Za-z0-9])" + any_of(*_FORMS_OF_KEYS))
_MARKS_OF_KEYS = [marks for marks, _ in _KEYS.values()]
_MARKS = tuple(" ".join(_MARKS_OF_KEYS).split())
# As the whole value the shorter ones are keys too; inside of a text they may be the name of a model
# or a folder.
_WHOLE = _Pattern(r"(?i)(?:hf_[a-z0-9]{8,}|sk-[a-z0-9_-]{8,})")
_KEY_BLOCK = r"[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
_PEM = _Pattern(
    rf"-----BEGIN {_KEY_BLOCK}"
    r"[^-]{0,10000}"
    rf"(?:-----END {_KEY_BLOCK})?"
)
_BEARER = _Pattern(
    r"(?i)(?<![A-Za-z0-9])(bearer|basic|apikey|negotiate)"
    r"[ \t]{1,4}(?=[^\s\d]{0,60}\d)[\w.~+/-]{8,4000}={0,2}"
)
_BASIC = _Pattern(
    r"(?i)(?<![A-Za-z0-9])(basic[ \t]{1,4})"
    r"([A-Za-z0-9+/]{6,2000}={0,2})"
)
_USERINFO = _Pattern(
    r"((?:[A-Za-z][A-Za-z0-9+.-]{0,20}:)?//)"  # scheme
    r"([^\s/?#'\"<>]{1,1000})@"  # user and password
)
# A password with a slash ends the host by the rules of URLs, and what stands behind its colon is
# then no port.
_SLASHED = _Pattern(
    r"([A-Za-z][A-Za-z0-9+.-]{0,20}://)"  # scheme
    r"[^\s/?#:@\[\]'\"<>]{1,200}"  # user
    r":(?!\d{0,5}[/?#])[^\s/?#@'\"<>]{0,200}"  # password up to its slash
    r"[/?#](?:[^\s,'\"<>]|,(?!\w{1,60}=)){0,1000}"  # the rest of it
    r"@(?=[\w\[])"
)
_USER_OPTION = _Pattern(
    r"(?<![\w-])(-u|--(?:proxy-)?user)"
    r"([ =]\s{0,3}[\"']?)"
    r"([^\s:\"'=]{1,100}:(?!\d)[^\s\"']{1,200})"
)
# Characters without width, which a name may hold and no reader sees.
_UNSEEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
_ESCAPED = r"\\(?:u[0-9a-f]{4}|xad)"  # as Python shows them
_UNSEEN_LETTERS = _Pattern(rf"[{_UNSEEN}]")
_WITHOUT_WIDTH = _Pattern(rf"[{_UNSEEN}]|{_ESCAPED}")
_NAME_PART = rf"(?:[\w.%\uff3f\uff0d{_UNSEEN}-]|{_ESCAPED})"
# "OpenAI key", "Access Token"
_SECOND_WORD = any_of("[Kk]eys? [Tt]okens? [Pp]assword [Ss]ecrets?", "KEY TOKEN PASSWORD SECRET")
_SIGN = (
    r"""\\{0,8}["']?[ \t]{0,2}"""  # the end of a name
    r"""(?:[=:\uff1d\uff1a]>?|->)"""
    r"""[ \t]{0,2}\\{0,8}(?:[bru](?=["']))?"""  # before a value
)
# `name=value`, `name: value`, `"name": "value"`, as in model arguments, query strings, headers and
# JSON in a text.
_NAME = _Pattern(
    r"(?P<start>[?&;#]?)(?<![\w.-])(?:--?)?"
    rf"(?P<name>[^\W\d_]{_NAME_PART}{{0,60}}(?:[ \t]{_SECOND_WORD})?)"
    rf"""(?P<between>{_SIGN}(?P<quote>["']?))"""
)
# What a quote opens ends where it closes, spaces included.
_QUOTED = {'"': _Pattern(r'[^\n"\\]{1,4000}(?=")'), "'": _Pattern(r"[^\n'\\]{1,4000}(?=')")}
_ELEMENT = _Pattern(
    r"<(?P<name>[A-Za-z][\w.-]{1,60})>"
    r"(?P<value>[^<>]{1,4000})"
    r"</(?P=name)>"
)
_NETRC = _Pattern(
    r"(?i)(\bmachine\s{1,9}\S{1,200}\s{1,9}"
    r"login\s{1,9}\S{1,200}\s{1,9}"
    r"password\s{1,9})\S{1,400}"
)
# How keys and bearer headers begin in base64: sk-, hf_, github_, ghp_, AKIA, AIza, xox, gsk_,
# nvapi, Bearer, and the inside of a web token.
_ENCODED_BEGINNING = any_of(
    "c2st aGZf Z2l0aHVi Z2hw QUtJQ QUl6", "eG94 Z3NrX bnZhcGkt QmVhcmVy ZXlK"
)
_ENCODED = _Pattern(
    rf"(?<![A-Za-z0-9+/]){_ENCODED_BEGINNING}"
    r"[A-Za-z0-9+/_-]{12,4000}={0,2}"
)
_ENCODED_URL = _Pattern(r"(?i)[a-z][a-z0-9+.-]{1,20}%3a%2f%2f[^\s\"'<>]{1,2000}")
_ASSIGNING = ("=", ":", "\uff1d", "\uff1a", "->")
_PLACE = _Pattern(r"\d{1,6}(?::\d{1,6})?[:.,)]?")
_VALUE = _Pattern(
    r"""[^\s,;&'"(){}\[\]<>$%*|\\]"""  # the first character
    r"""[^\s,;&'"<>\\]{0,4000}"""
)
_OPTION = _Pattern(
    r"(?<![\w-])--?(?P<name>[A-Za-z][\w-]{1,60})"
    r"[ \t]{1,4}"
    r"(?P<value>[^\s\-][^\s]{3,4000})"
)
_HEADER_LINE = _Pattern(
    r"""(?i)(?<![\w-])((?:proxy-)?authorization|(?:set-)?cookie)"""
    r"""(\\?["']?[ \t]{0,2}[:=][ \t]{0,2}\\?["']?)"""
    r"""[^\n"'\\*$]{4,4000}"""
)
# What stands for a credential without being one: references to the environment, and what local
# servers are given.
_STANDS_FOR = _Pattern(
    r"(?i)\$\{?\w+\}?|env:\w+|<[^<>]*>|\*+"
    r"|empty|none|null|true|false"
    r"|dummy|no|not[-_]needed|"
)


def _kept(function: Callable[[str, str], bool]) -> Callable[[str, str], bool]:
    """A question about two names, whose answers are kept: logs repeat a few keys for each row."""
    kept = lru_cache(maxsize=4096)(function)

    @wraps(function)
    def ask(name: str, within: str) -> bool:
        is_short = len(name) + len(within) <= _LONGEST_KEPT
        return kept(name, within) if is_short else function(name, within)

    return ask


def _plain_name(name: str) -> str:
    """A name in lower case with one underscore between its words: `X-Api-Key` -> `x_api_key`.

    Letters in full width count as the plain ones, and what has no width does not count.
    """
    normal = unicodedata.normalize("NFKC", name)
    visible = _WITHOUT_WIDTH.sub("", normal)
    if not visible.isascii():
        latin = visible.translate(_LOOKALIKES)
        if latin.isascii():
            visible = latin
    joined = _WORDS.sub("_", visible.strip())
    return joined.strip("_").lower()


def secret_name(name: str, *, within: str = "") -> bool:
    """Returns whether a setting of this name holds a credential.

    Args:
        name: The key.
        within: The key of the mapping that it stands in; in headers more names are secret.

    >>> [secret_name(name) for name in ("openai_key", "passwd", "X-Api-Key")]
    [True, True, True]
    >>> [secret_name(name) for name in ("think_end_token", "tokenizer")]
    [False, False]
    """
    return _is_secret_name(name, within)


@_kept
def _is_secret_name(name: str, within: str) -> bool:
    plain = _plain_name(name)
    if _TOKEN.match(plain):
        return True
    patterns = (_SECRET_NAME, _OF_A_SERVICE, _FOR_A_SERVICE)
    if any(pattern.search(plain) for pattern in patterns):
        return True
    in_headers = _HEADERS.search(_plain_name(within))
    return bool(in_headers and _IN_A_REQUEST.search(plain))


def redacted(text: str) -> str:
    """A text with every credential in it replaced.

    >>> redacted("base_url=http://ann:pw@host/v1?api_key=abc,model=org/name")
    'base_url=http://***@host/v1?api_key=***,model=org/name'
    """
    if len(text) < 4:  # shorter than any name with its value
        return text
    return _redacted_name(text) if len(text) <= _LONGEST_NAME else _redacted(text)


@lru_cache(maxsize=4096)
def _redacted_name(text: str) -> str:
    """The same for a short text: logs repeat the few names of their keys for each row."""
    return _redacted(text)


def _redacted(text: str) -> str:
    visible = text if text.isascii() else _UNSEEN_LETTERS.sub("", text)
    if visible != text:
        hidden = redacted(visible)
        if hidden != visible:
            return hidden
    text = _hide_keys_and_addresses(text)
    assigns = any(sign in text for sign in _ASSIGNING)
    if assigns:
        text = _HEADER_LINE.sub(_hide_third_part, text)
    text = _ENCODED.sub(_hide_encoded, text)
    text = _hide_words(text)
    return _hide_values(text) if assigns else text


def _hide_keys_and_addresses(text: str) -> str:
    """Replaces what is a credential by its form alone, without a name before it."""
    if "-----BEGIN" in text:
        text = _PEM.sub(HIDDEN, text)
    if "%" in text:
        text = _ENCODED_URL.sub(_hide_encoded_url, text)
    if "//" in text:
        text = _SLASHED.sub(rf"\1{HIDDEN}@", text)
        text = _USERINFO.sub(_hide_userinfo, text)
    if any(mark in text for mark in _MARKS):
        text = _FORMS.sub(HIDDEN, text)
    return text


def _hide_words(text: str) -> str:
    """Replaces what stands behind an option, or behind the name of a scheme."""
    has_blank = " " in text or "\t" in text
    if "-" in text and (has_blank or "=" in text):
        text = _OPTION.sub(_hide_option, text)
        text = _USER_OPTION.sub(_hide_third_part, text)
    if has_blank:
        text = _BEARER.sub(rf"\1 {HIDDEN}", text)
        text = _BASIC.sub(_hide_basic, text)
        text = _NETRC.sub(rf"\1{HIDDEN}", text)
    if "</" in text:
        text = _ELEMENT.sub(_hide_element, text)
    return text


def _hide_third_part(match: re.Match[str]) -> str:
    """Replaces what stands behind the two parts that a pattern keeps, a name and its sign."""
    return f"{match[1]}{match[2]}{HIDDEN}"


def _hide_basic(match: re.Match[str]) -> str:
    """`Basic` before an encoded `user:password`, and not before a word."""
    scheme, encoded = match.groups()
    padding = "=" * (-len(encoded) % 4)
    try:
        decoded = base64.b64decode(encoded + padding).decode()
    except (binascii.Error, ValueError):
        return match[0]
    if ":" in decoded and decoded.isprintable():
        return f"{scheme}{HIDDEN}"
    return match[0]


def _hide_encoded(match: re.Match[str]) -> str:
    """A key in base64, and not what only begins like one."""
    encoded = match[0].rstrip("=").translate(_URLSAFE)
    try:
        decoded = base64.urlsafe_b64decode(encoded + "===").decode("ascii")
    except (binascii.Error, ValueError):
        return match[0]
    if _FORMS.search(decoded) or _BEARER.search(decoded):
        return HIDDEN
    return match[0]


_URLSAFE = str.maketrans("+/", "-_")


def _hide_encoded_url(match: re.Match[str]) -> str:
    address = unquote(match[0])
    return match[0] if redacted(address) == address else HIDDEN


def _hide_element(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if not secret_name(name) or _STANDS_FOR.fullmatch(value.strip()):
        return match[0]
    return f"<{name}>{HIDDEN}</{name}>"


def _hide_userinfo(match: re.Match[str]) -> str:
    scheme, userinfo = match.groups()
    if ":" not in userinfo and len(userinfo) < 16 and not _FORMS.search(userinfo):
        return match[0]  # a user's name, as in ssh://git@host
    password = userinfo.partition(":")[2]
    if _STANDS_FOR.fullmatch(password or userinfo):
        return match[0]
    return f"{scheme}{HIDDEN}@"


def _hide_values(text: str) -> str:
    """Replaces what stands behind a name that says secret."""
    parts: list[str] = []
    done = 0
    for match in _NAME.finditer(text):
        end = match.end()
        if end < done:
            continue
        value = _value_at(text, end, match["quote"])
        if value is None:
            continue
        if _is_secret_value(text, match, value[0]):
            parts += [text[done:end], HIDDEN]
            done = value.end()
    parts.append(text[done:])
    return "".join(parts)


def _is_secret_value(text: str, match: re.Match[str], value: str) -> bool:
    """Returns whether the value behind a name of `_NAME` is a credential."""
    if _STANDS_FOR.fullmatch(value) or not _names_secret(match):
        return False
    between = match["between"]
    before = text[match.start() - 1 : match.start()]
    is_file_name = before in {"/", "\\"}
    if is_file_name and between == ":" and _PLACE.fullmatch(value):
        return False  # a line of a file: /etc/passwd:1
    is_unquoted = between.strip() == ":" and not match["quote"]
    is_word = value.isalpha() and len(value) < 8
    is_prose = is_unquoted and is_word  # "Password: yes"
    return not is_prose


def _names_secret(match: re.Match[str]) -> bool:
    """Returns whether a name of `_NAME` is that of a credential, in its place."""
    name = unquote(match["name"])
    is_assigned = "=" in match["between"]
    if is_assigned and _SHORT_NAME.search(_plain_name(name)):
        return True
    if secret_name(name):
        return True
    in_url = match["start"] in {"?", "&", "#"}
    return in_url and bool(_IN_A_REQUEST.search(_plain_name(name)))


def _value_at(text: str, start: int, quote: str) -> re.Match[str] | None:
    """The value that begins somewhere in a text, up to its closing quote where it has one."""
    value = _VALUE.match(text, start)
    if not quote or value is None:
        return value
    quoted = _QUOTED[quote].match(text, start)
    return quoted or value


def _hide_option(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if not secret_name(name) or _STANDS_FOR.fullmatch(value):
        return match[0]
    before_value = match[0].removesuffix(value)
    return before_value + HIDDEN


def is_secret(key: str, value: Any, *, within: str = "") -> bool:
    """Returns whether a setting looks like a credential, by its name or by its value.

    Args:
        key: Its name.
        value: A text; a number counts where the name says that it is a password.
        within: The key of the mapping that it stands in: `api_key: {value: ...}`.

    >>> is_secret("api_key", "x"), is_secret("tokenizer", "org/model")
    (True, False)
    >>> is_secret("add_bos_token", True)
    False
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) >= _LEAST_NUMBER:
            return False
        return _named_secret(key, within) and "token" not in key.lower()
    if not isinstance(value, str) or not value:
        return False
    stripped = value.strip()
    if _named_secret(key, within) and not _STANDS_FOR.fullmatch(stripped):
        return True
    if _WHOLE.fullmatch(stripped):
        return True
    return _hidden(key, value) != value


_LEAST_NUMBER = 1_000
"""`api_keys: 4` counts keys."""


@_kept
def _named_secret(key: str, within: str) -> bool:
    plain = _plain_name(key)
    if secret_name(key, within=within) or _SHORT_NAME.search(plain):
        return True
    if _REFERS.match(plain):
        return False
    around = _plain_name(within)
    return bool(_SECRET_NAME.search(around) or _OF_A_SERVICE.search(around))


def _hidden(key: str, value: str) -> str:
    """A text redacted; of an address also what stands before its host.

    The name of the key tells whether a text is an address.
    """
    if not _ADDRESS.search(_plain_name(key)):
        return redacted(value)
    match = _USER_AT_HOST.fullmatch(value.strip())
    if match is None:
        return redacted(value)
    host = match[2]
    return f"{HIDDEN}@{redacted(host)}"


def variable_for(path: str, value: object) -> str:
    """The environment variable that is read in place of a setting.

    The usual ones where that is not known.

    >>> variable_for("model_args.hf_token", "x")
    'HF_TOKEN'
    """
    setting = f"{path} {value}".lower()
    for mark, variable in _VARIABLES:
        if mark in setting:
            return variable
    return "OPENAI_API_KEY, HF_TOKEN, ..."


# What a setting holds, and the variable that its service reads; the first that occurs counts.
_VARIABLES = (
    ("hf_", "HF_TOKEN"),
    ("hugging", "HF_TOKEN"),
    ("hub", "HF_TOKEN"),
    ("sk-ant", "ANTHROPIC_API_KEY"),
    ("anthropic", "ANTHROPIC_API_KEY"),
    ("openai", "OPENAI_API_KEY"),
    ("sk-", "OPENAI_API_KEY"),
    ("api_key", "OPENAI_API_KEY"),
    ("akia", "AWS_ACCESS_KEY_ID"),
    ("aws", "AWS_SECRET_ACCESS_KEY"),
    ("wandb", "WANDB_API_KEY"),
)


_KeyPath = tuple[str | int, ...]
"""Keys and positions that lead to a value in nested data."""


def secret_paths(data: Any, key: str = "", within: str = "") -> Iterator[_KeyPath]:
    """Returns the places of possible credentials in nested data, as keys and positions.

    >>> list(secret_paths({"headers": [{"Authorization": "Bearer 0123456789"}]}))
    [('headers', 0, 'Authorization')]
    """
    if isinstance(data, dict):
        yield from _secret_paths_of_mapping(data, key or within)
    elif isinstance(data, list | tuple):
        yield from _secret_paths_of_list(data, key, within)
    elif is_secret(key, data, within=within):
        yield ()


def _secret_paths_of_mapping(data: dict[Any, Any], within: str) -> Iterator[_KeyPath]:
    secret = _name_beside(data)
    for key, value in data.items():
        if isinstance(key, str) and redacted(key) != key:
            yield (key,)
        name = _name_of_value(key, secret)
        for path in secret_paths(value, name, within):
            yield (key, *path)


def _secret_paths_of_list(
    data: list[Any] | tuple[Any, ...], key: str, within: str
) -> Iterator[_KeyPath]:
    secret = _first_of_pair(data, key)
    around = key if secret else within
    for place, value in enumerate(data):
        is_value = bool(secret) and place > 0
        name = secret if is_value else key
        for path in secret_paths(value, name, around):
            yield (place, *path)


def without_secrets(data: Any, key: str = "", within: str = "") -> Any:
    """The same data with everything that looks like a credential replaced.

    The rest of a text is kept.
    """
    if isinstance(data, dict):
        return _mapping_without_secrets(data, key or within)
    if isinstance(data, list | tuple):
        return _list_without_secrets(data, key, within)
    if not is_secret(key, data, within=within):
        return data
    if not isinstance(data, str):
        return HIDDEN
    return _without_secret_part(data, key, within)


def _without_secret_part(text: str, key: str, within: str) -> str:
    """A text that holds a credential, of which an address keeps the rest."""
    hidden = _hidden(key, text)
    if hidden == text:
        return HIDDEN
    if _named_secret(key, within) and "://" not in text:
        return HIDDEN
    return hidden


def _list_without_secrets(data: list[Any] | tuple[Any, ...], key: str, within: str) -> list[Any]:
    secret = _first_of_pair(data, key)
    if secret:
        name, value = data
        return [name, without_secrets(value, secret, key)]
    return [without_secrets(item, key, within) for item in data]


def _mapping_without_secrets(data: dict[Any, Any], within: str) -> dict[Any, Any]:
    secret = _name_beside(data)
    clean = {}
    for key, value in data.items():
        is_text = isinstance(key, str) and not (len(key) < 9 and key.isdecimal())  # a row's number
        clean_key = redacted(key) if is_text else key
        name = _name_of_value(key, secret)
        clean[clean_key] = without_secrets(value, name, within)
    return clean


def _name_of_value(key: Any, secret: str) -> str:
    """The name by which a value of a mapping is judged: `secret` of `_name_beside`, or its key."""
    text = key if type(key) is str else str(key)
    if secret and _plain_name(text) == "value":
        return secret
    return text


def _name_beside(data: dict[Any, Any]) -> str:
    """The secret name in `{"name": "X-Api-Key", "value": ...}`; empty without one."""
    if "value" not in data:
        return ""
    for key in ("name", "key", "header"):
        name = data.get(key)
        if isinstance(name, str) and secret_name(name, within="headers"):
            return name
    return ""


def _first_of_pair(data: list[Any] | tuple[Any, ...], within: str) -> str:
    """The secret name in the header `["X-Api-Key", ...]`; empty without one."""
    if len(data) != 2 or not _HEADERS.search(_plain_name(within)):
        return ""
    if not all(isinstance(item, str) for item in data):
        return ""
    name = data[0]
    return name if secret_name(name, within=within) else ""
