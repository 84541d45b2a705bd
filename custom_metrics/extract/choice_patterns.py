# ruff: noqa: RUF001 - replies use typographic quotes, dashes, full-width marks and other scripts; the patterns name them
r"""The phrases with which replies name a letter: the vocabulary of `custom_metrics.extract.choice`.

Every pattern has one group, `letter`. All repetitions are bounded, so that matching takes time proportional to the
text.
"""

from __future__ import annotations

import re

from custom_metrics.extract.wording import EASTERN_ANSWER, FOREIGN_ANSWER, FOREIGN_IS, FOREIGN_WORDS

_TAG = r"</?(?:b|strong|em|i|u|code|p|span|center)>"
# What may stand between a phrase and its letter: blanks, Markdown marks, quotes, opening brackets, LaTeX wrappers.
_OPEN = (
    rf"(?:{_TAG}|[\s*_`\"'“”‘’«„$(\[{{（【<~\u200b\ufeff]|\\[(\[]"
    r"|\\(?:text|textbf|textit|mathbf|mathrm|mathit|rm|bf)\b)"
)
# Particles and nouns that follow a letter without a blank where none is written between words.
_GLUED = r"(?:选项|選項|项|項|です|だ|である|입니다|이다|이에요|번)"
# Not a letter that chooses: the start of a word, an abbreviation (e.g., D.C.), vitamin B-12, a grade B+, C#, "A = 5".
_ALONE = rf"(?:(?={_GLUED})|(?![^\W_]|['’]\w|-\w|[+#^]|_\{{|\.[A-Za-z]\b|\s{{0,2}}=))"
LETTER = rf"{_OPEN}{{0,16}}(?P<letter>[A-Za-z]){_ALONE}"
CLOSE = rf"(?:[\s*_`\"'”’».)\]}}$）】>!✓✔✅\u200b]|\\[)\]]|{_TAG})"

_LABEL = (
    r"(?:(?:the\s+|la\s+|el\s+|le\s+|die\s+|a\s+|l['’])?"
    r"(?:option|choice|letter|statement|answer|opción|opzione|opção|letra|lettera|lettre|selection|selected|Buchstabe|"
    r"вариант|буква|选项|選項)(?!\w)\s*|la\s+|el\s+)"
)
_ENGLISH_LABEL = r"(?:the\s+)?(?:option|choice|letter|statement|answer)\b\s*"
_BE = r"(?:is|was|(?:must|would|should|will|can\s+only|might|may|could|has\s+to)\s+be|(?:seems|appears)\s+to\s+be)\b"
_SEPARATOR = rf"(?:{_BE}|['’]s\b|[:：=|→⇒]|[-=]>|\s[-–—]{{1,2}}(?=\s))"
_LINK = (
    r"(?:[\s*_:：=…—]|\.{2,3}|,?\s*I\s+(?:think|believe|guess|would\s+say),?"
    r"|\b(?:is|was|be|to|must|clearly|definitely|therefore|thus|then|indeed|probably|most|likely|actually|still|really)\b)"
)
_HEAD = (
    r"(?:answer(?:\(?s\)?)?|ans|correction|(?:correct|right|best|final|appropriate|accurate|my)\s+"
    r"(?:option|choice|letter|selection|statement|response|one))"
)
# The letter is the subject of a sentence, and not the name of something: "vitamin D", "plan C", "student B".
_SUBJECT = (
    r"(?:\b(?:option|choice|statement|answer|letter)\s+|(?:^|[^\w\s*_(`\"'’\\-]|\b(?:so|thus|hence|therefore|that|think|"
    r"believe|say|then|because|since|and|but|while|only|conclude|means|shows|implies)\b)\s{0,3})"
)
_ADVERB = r"(?:(?:clearly|therefore|thus|indeed|definitely|actually|really|still)\s+)?"

_EASTERN_CHOICE = r"(?<![不没未别勿])(?:选择|選擇|选|選)(?:选项|項|项|是|为|[:：])?"

STATEMENTS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        # "the best answer is B", "Answer: (B)", "the answer to this question is option **B**", "Answer 1: B"
        (
            rf"\b{_HEAD}(?!\w)(?:\s+(?:choice|option|letter|key|\d{{1,3}}))?"
            r"(?:,?\s+(?:to|for|of|here|in|from|among|therefore|thus)\b[^.:\n]{0,80}?)?"
            rf"[*_\"'”’)]{{0,4}}\??\s{{0,4}}{_SEPARATOR}{_LINK}{{0,12}}(?:{_ENGLISH_LABEL})?{LETTER}"
        ),
        rf"\bans\.\s{LETTER}",
        # "### Answer" and the letter alone on a later line
        rf"^[#*_> ]{{0,8}}(?:final\s+|the\s+|correct\s+)?answer[*_:： ]{{0,8}}\n{LETTER}(?={CLOSE}{{0,8}}$)",
        # "Answer B" as a whole line
        rf"^[#*_> ]{{0,8}}(?:final\s+)?answer\s{LETTER}{CLOSE}{{0,8}}$",
        # "<answer>B</answer>", {"final_answer": "B"}
        rf"<(?:\w{{1,20}}_)?(?:answer|choice|option)>{LETTER}",
        rf"[\"'](?:\w{{1,20}}_)?(?:answer|choice|option|letter)(?:_\w{{1,20}})?[\"']\s{{0,4}}:\s{{0,4}}[\"']{LETTER}",
        # "B is the right answer"
        (
            rf"{_SUBJECT}{LETTER}{CLOSE}{{0,8}}\s{_BE}\s+{_ADVERB}"
            r"(?:the|my)\s+(?:most\s+|only\s+)?(?:(?:correct|right|best|final|accurate|appropriate|suitable)\s+)*"
            r"(?:answer|choice|option|one|response)\b"
        ),
        # "not A but B", "it isn't A, it's B"
        (
            rf"(?:\bnot|n['’]t)\s+(?!only\b)(?:{_ENGLISH_LABEL})?{_OPEN}{{0,8}}[A-Z]\b{CLOSE}{{0,6}}[,;]?\s*"
            rf"(?:but(?:\s+rather)?|rather|it['’]s|it\s+is)\s+(?:{_ENGLISH_LABEL})?{LETTER}"
        ),
        # "but it is actually C"
        (
            r"\b(?:(?:it|that|which)(?:['’]s|\s+(?:is|was|should\s+be|must\s+be))\s+(?:actually|really|in\s+fact)"
            r"|(?:actually|in\s+fact),?\s+(?:it|that)(?:['’]s|\s+(?:is|was|should\s+be|must\s+be)))\s+"
            rf"(?:{_ENGLISH_LABEL})?{LETTER}"
        ),
        # "Die richtige Antwort ist B", "La respuesta correcta es la opción C", "정답은 B입니다", "故选D"
        rf"\b{FOREIGN_ANSWER}{FOREIGN_WORDS}[*_]{{0,4}}{FOREIGN_IS}[\s*_]{{0,6}}{_LABEL}?{LETTER}",
        rf"(?:उत्तर|คำตอบ)\s{{1,2}}{LETTER}",
        rf"{EASTERN_ANSWER}[\s*_]{{0,6}}(?:选项|選項)?{LETTER}",
        rf"{_EASTERN_CHOICE}[\s*_]{{0,6}}{LETTER}",
    )
)
"""Phrases that say which letter is the answer."""

CLAIMS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        # "I choose (B)", "we select option B", "I would say D"
        (
            r"(?:\b(?:I|we|I['’](?:d|ll|m|ve)|let['’]?s|let\s+us|so|thus|therefore|hence)\s+(?:[a-z]{2,9}\s+){0,2}?|^)"
            r"(?:choo?se|choosing|select(?:ed|ing)?|pick(?:ed|ing)?|go(?:ing)?\s+with|opt(?:ed|ing)?\s+for|say|guess"
            rf"|settle\s+(?:on|for))\s+(?:{_ENGLISH_LABEL})?{LETTER}"
        ),
        # "option B is correct", "only (B) fits"
        (
            rf"{_SUBJECT}{LETTER}{CLOSE}{{0,8}}\s{_BE}\s+{_ADVERB}"
            r"(?:the\s+)?(?:most\s+|only\s+)?(?:correct|right|best|accurate|appropriate)\b"
        ),
        (
            rf"\bonly\s+(?:{_ENGLISH_LABEL})?{LETTER}{CLOSE}{{0,8}}\s"
            r"(?:is|fits|works|matches|satisfies|remains|makes|can)\b"
        ),
    )
)
"""Phrases that favour a letter, also while options are weighed; they count where they agree."""

BOXED = re.compile(
    rf"(?:{_OPEN}{{0,4}}(?i:(?:the\s+)?(?:(?:correct|best|final)\s+)?(?:answer|option|choice)(?:\s+is)?\s*:?\s*))?{LETTER}"
    r"(?:[\s*_)\]}$]|\\[)\] ,;!]|\\\Z)*(?:(?<=[)\]}*]\s).*|[.:,](?:\s.*)?)?",
    re.DOTALL,
)
OR_BOX = re.compile(r"[\s$*]{0,6}(?:or|and)[\s$*]{0,6}\\(?:boxed|fbox)")
BOX_OR = re.compile(r"\}[\s$*]{0,6}(?:or|and)[\s$*]{0,6}\Z")

_BULLET = r"[#*>\s•✅✔✓☑️👉➡🔹→-]{0,8}"
# "A: ..." opens an answer in a question-and-answer text and names no letter.
OPENING = re.compile(
    rf"\A(?!\{{\s*[\"']){_BULLET}(?i:{_ENGLISH_LABEL})?{LETTER}(?={CLOSE}{{0,8}}(?:(?<=[).])\s|(?<!A):|[,;、。，]|$|\n|\s[-–—]\s"
    r"|\s(?:because|since|due\s+to)\b))"
)
DIRECT = re.compile(
    r"\A(?:[\s:：]|\b(?:clearly|definitely|probably|I\s+think|option|(?:the\s+)?letter)\b){0,4}" + LETTER, re.IGNORECASE
)
OPTION_LINE = re.compile(r"^[^\w\n]{0,4}([A-Z])[).:]", re.MULTILINE)
WHOLE_LINE = re.compile(
    r"\A[#>\s|•*-]{0,8}(?:\d{1,2}[.)]\s{1,3})?"
    rf"(?:(?:{_ENGLISH_LABEL}|(?:solution|correct|letter|choice|option|selection)\s{{0,2}}[:：])\s{{0,3}})?"
    rf"{LETTER}{CLOSE}*\Z",
    re.IGNORECASE,
)
CONCLUSION = re.compile(
    r"(?:\b(?i:so|thus|therefore|hence|consequently|conclude|implies|gives|leaves|leaving|guess|say|option|choice|answer|is|be|"
    r"elimination|probably|definitely|obviously|clearly)|['’]s)[\s,:]{1,4}"
    rf"(?i:{_ENGLISH_LABEL})?{_OPEN}{{0,16}}(?P<letter>[A-HJ-Z]|I(?=[.)\]}}*])){_ALONE}{CLOSE}{{0,8}}$"
)
MARKED = re.compile(r"(?:[(（\[【]\s?|\*\*\(?|\\text(?:bf)?\{\(?)(?P<letter>[A-Z])(?=\s?[)）\]】]|\)?[.:]?\*\*|\)?\})")

# "A or B", "A/C", "A, B and D", "(A)(B)", "A B C": no choice was made. "B, and A is wrong" is one: a verb follows.
_ROMAN = r"(?:[A-Z]|I{2,3}|I?V|VI{1,3}|IX)(?![^\W_]|['’]\w)"
_JOIN = (
    r"(?:\b(?:or|and|oder|und|ou|et|o|y|e|или|и)\b(?:\s+(?:maybe|perhaps|possibly|also|even))?|/|&|\+|或|和|または|또는"
    r"|,(?:\s{0,2}(?:or|and)\b)?|(?<=[)\]])(?=[(\[]))"
)
HEDGE = re.compile(
    rf"{CLOSE}{{0,8}}(?:\((?:or|and)\b|{_JOIN})\s{{0,4}}(?:{_ENGLISH_LABEL})?{_OPEN}{{0,16}}(?!I\s+(?!and\b|or\b)[a-z]{{2}}){_ROMAN}"
    rf"(?!{CLOSE}{{1,6}}(?:is|are|was|has|have|can|cannot|does|do|would|fails?|uses?|gives?|says?|ignores?|assumes?)\b)"
    r"|(?:\s{1,3}(?:[-*•]\s)?\(?[A-Z]\)?){1,25}[\s.]*\Z|(?:[ \t]+[A-Z]){1,25}[ \t.]*\n"
)
# The same seen from the last of the letters: "A, B or" stands before it.
HEDGED = re.compile(
    rf"(?<![^\W_])[A-Z]{CLOSE}{{0,4}}(?:,?\s*\b(?:or|and|nor|oder|und|ou|et)\b|[/&,])\s*(?:{_ENGLISH_LABEL})?\s{{0,2}}\Z"
)
REFUSED = re.compile(
    r"(?:\b(?:not|or|never|cannot|neither|nor|except|unlike|without|than|instead\s+of|against|about|at|out|consider(?:ing)?|check(?:ing)?|"
    r"examine|evaluate|eliminat(?:e|es|ed|ing)|exclude[sd]?|excluding|reject(?:s|ed|ing)?|discard(?:s|ed)?|analy[sz]e|wrong|see)|n['’]t)\b"
    r"[^.!?\n,;]{0,24}\Z",
    re.IGNORECASE,
)
"""What stands before a letter that is named without being chosen."""
DENIED = re.compile(
    r"(?:\bcan(?:not|['’]t)\s+\w+|\b(?:do|did|does)(?:n['’]t|\s+not)\s+(?:think|believe|mean)|\bunlikely|\bimpossible|\bdoubt"
    r"|\b(?:might|may|could)\s+(?:say|think|argue|believe)|\bwhether|\bif|\bsuppose|\bassum(?:e|ing))\b[^.!?\n,;:]{0,25}\Z",
    re.IGNORECASE,
)
"""What stands before a statement that is denied, or made for the sake of argument."""
REJECTED = re.compile(
    rf"{CLOSE}{{0,8}}[:,–—-]?\s(?:(?:is|are|was|seems?|looks?|must\s+be|can|cannot|does|would)\s+)?(?:(?:clearly|also|therefore|definitely)\s+)?"
    r"(?:wrong|incorrect|false|not\b|out\b|eliminated|excluded|invalid|fails?\b|(?:be|been)\s+(?:eliminated|excluded|ruled|rejected)"
    r"|(?:is|does|was)n['’]t|ruled)",
    re.IGNORECASE,
)
RETRACTED = re.compile(
    rf"{CLOSE}{{0,4}}(?:\?|[,;…–—-]?\s{{0,3}}(?:no|wait|hmm|sorry|scratch\s+that)\b(?!\s+(?:doubt|other|need)))",
    re.IGNORECASE,
)
"""What follows a letter that is named without being chosen: a verdict against it, a question mark, second thoughts."""

# "Answer: A triangle has ..." and "The answer is G proteins" hold words, "Answer: A because ..." holds a letter.
_GOES_ON = (
    "because|since|as|and|or|for|due|given|which|is|with|based|but|by|if|when|while|"
    "the|this|that|these|it|they|we|he|she"
)
_GOES_ON_LONGER = (
    _GOES_ON
    + "|not|are|was|were|has|have|would|can|could|cannot|must|should|does|do|from|in|on|to|at|here|rather|instead|"
    "where|although|though|however|after|then|thus|therefore|only|correct|right|so|i|you|there|according|over|best|also|"
    "again|indeed|will|represents|describes|states|explains|says|matches|fits|seems|makes|gives|shows|satisfies|works|remains"
)
WORD_AFTER = re.compile(rf"[*_]{{0,3}}[ \t]+(?!(?:{_GOES_ON})\b)[a-z]")
NOUN_AFTER = re.compile(rf"[ \t]+(?!(?:{_GOES_ON_LONGER})\b)[a-z]{{2}}")
BLANK_THEN_MORE = re.compile(r"[ \t]+\S")
SPECIES = re.compile(
    r"\.\s(?:coli|pylori|elegans|melanogaster|subtilis|difficile|botulinum|albicans|perfringens|tetani|anthracis|cereus|"
    r"thaliana|gondii|faecalis|influenzae|vulgaris|sapiens|baumannii)\b"
)
FULL_WIDTH = {ord("Ａ") + place: ord("A") + place for place in range(26)}
