# ruff: noqa: RUF001, RUF003 - replies use typographic quotes, dashes, full-width marks and other
# scripts; the patterns name them
r"""The phrases with which replies name a letter: the vocabulary of `custom_metrics.extract.choice`.

Every pattern has one group, `letter`. All repetitions are bounded, so that matching takes time
proportional to the text.
"""

from __future__ import annotations

import re
from functools import cached_property

from custom_metrics.extract.wording import (
    EASTERN_ANSWER,
    FOREIGN_ANSWER,
    FOREIGN_ANSWER_STEMS,
    FOREIGN_IS,
    FOREIGN_WORDS,
)
from custom_metrics.patterns import any_of

_TAG = r"</?(?:b|strong|em|i|u|code|p|span|center)>"
# What may stand between a phrase and its letter: blanks, Markdown marks, quotes, opening brackets,
# LaTeX wrappers.
_OPENING_MARK = r"[\s*_`\"'“”‘’«„「『$(\[{（【<~\u200b\ufeff]"
_LATEX_WRAPPER = r"\\(?:text|textbf|textit|mathbf|mathrm|mathit|rm|bf)\b"
OPEN = rf"(?:{_TAG}|{_OPENING_MARK}|\\[(\[]|{_LATEX_WRAPPER})"
# Particles and nouns that follow a letter without a blank where none is written between words.
_GLUED = any_of(
    "选项 選項 项 項",  # Chinese
    "です だ である となり を選 が正 が最 ではなく",  # Japanese
    "입니다 이다 이에요 번",  # Korean
)
# Not a letter that chooses: the start of a word, an abbreviation (e.g., D.C.), vitamin B-12, a
# grade B+, C#, "A = 5".
_IN_A_NAME = r"[^\W_]|['’]\w|-\w|[+#^]|_\{|\.[A-Za-z]\b|\s{0,2}="
_ALONE = rf"(?:(?={_GLUED})|(?!{_IN_A_NAME}))"
LETTER = rf"{OPEN}{{0,16}}(?P<letter>[A-Za-z]){_ALONE}"
_CLOSING_MARK = r"[\s*_`\"'”’».)\]}$）】>!✓✔✅\u200b]"
CLOSE = rf"(?:{_CLOSING_MARK}|\\[)\]]|{_TAG})"

_ARTICLE = any_of(r"the\s+ la\s+ el\s+ le\s+ die\s+ a\s+ l['’]")
# "option", "letter", "answer" before a letter.
_LABEL_NOUN = any_of(
    "option choice letter statement answer",
    "réponse respuesta risposta antwort opción opzione opção letra lettera lettre",
    "selection selected Buchstabe",
    "вариант буква",  # Russian
    "选项 選項 選択肢",  # Chinese, Japanese
    "الخيار الإجابة",  # Arabic
)
_LABEL = rf"(?:{_ARTICLE}?{_LABEL_NOUN}(?!\w)\s*|la\s+|el\s+)"
ENGLISH_LABEL = r"(?:the\s+)?(?:option|choice|letter|statement|answer)\b\s*"
_MODAL = any_of(r"must would should will can\s+only might may could has\s+to")
_BE = rf"(?:is|was|{_MODAL}\s+be|(?:seems|appears)\s+to\s+be)\b"
_DASH = r"\s[-–—]{1,2}(?=\s)"
_SEPARATOR = rf"(?:{_BE}|['’]s\b|[:：=|→⇒]|[-=]>|{_DASH})"
# What may stand between "the answer is" and the letter: "clearly", "most likely", "I think".
_LINK_WORD = any_of(
    "is was be to must clearly definitely therefore thus then indeed probably most likely",
    "actually still really",
)
_OPINION = r",?\s*I\s+(?:think|believe|guess|would\s+say),?"
_LINK = rf"(?:[\s*_:：=…—]|\.{{2,3}}|{_OPINION}|\b{_LINK_WORD}\b)"
_HEAD_ADJECTIVE = any_of("correct right best final appropriate accurate my")
_HEAD_NOUN = any_of("option choice letter selection statement response one")
_HEAD_PHRASE = rf"{_HEAD_ADJECTIVE}\s+{_HEAD_NOUN}"
# "answer", "answer(s)", "correct option", "my choice"
_HEAD = rf"(?:answer(?:\(?s\)?)?|ans|correction|{_HEAD_PHRASE})"
_BEFORE_SUBJECT = any_of(
    "so thus hence therefore that think believe say then because since and but while only",
    "conclude means shows implies",
)
# The letter is the subject of a sentence, and not the name of something: "vitamin D", "plan C",
# "student B".
_SUBJECT = (
    r"(?:\b(?:option|choice|statement|answer|letter)\s+"
    rf"|(?:^|[^\w\s*_(`\"'’\\-]|\b{_BEFORE_SUBJECT}\b)\s{{0,3}})"
)
_ADVERB_WORD = any_of("clearly therefore thus indeed definitely actually really still")
_ADVERB = rf"(?:{_ADVERB_WORD}\s+)?"

_EASTERN_CHOOSES = r"(?:选择|選擇|选(?!项)|選(?!項))"
_EASTERN_CHOICE = rf"(?<![不没未别勿]){_EASTERN_CHOOSES}(?:选项|項|项|是|为|[:：])?"

_EASTERN_LABEL = r"(?:选项|選項|選択肢)"
_FOREIGN_NOUN = any_of(
    "antwort option lösung aussage réponse opción respuesta alternativa opção risposta",
    "lettre letra",
    "الخيار الإجابة",  # Arabic
)
_FOREIGN_LABEL = rf"(?:la\s+|l['’]|die\s+|der\s+|el\s+)?{_FOREIGN_NOUN}\s+"
_FOREIGN_ARTICLE = r"la\s+|el\s+|die\s+|le\s+|a\s+|il\s+"


class Phrase:
    """A phrase that names a letter, and quick tests that rule it out.

    Attributes:
        text: The pattern, which has one group, `letter`.
        words: A text in lower case that holds none of these has no match; empty for no such test.
            Blanks separate them in the call.
        cue: A text without a match of this one has none of the pattern either; None for no such
            test.
    """

    def __init__(self, text: str, words: str = "", *, cue: re.Pattern[str] | None = None) -> None:
        self.text = text
        self.words = words.split()
        self.cue = cue

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The pattern, compiled for the first text that the tests do not rule out."""
        return re.compile(self.text, re.IGNORECASE | re.MULTILINE)

    def may_occur(self, text: str, lowered: str) -> bool:
        """Tells whether the pattern can match in a text.

        Args:
            text: What will be searched.
            lowered: The same in lower case.
        """
        if self.words and not any(word in lowered for word in self.words):
            return False
        return self.cue is None or self.cue.search(text) is not None


# Before the slow patterns that begin with any subject: a letter, "is", and praise behind it.
_PRAISE = any_of(
    "correct right best final accurate appropriate suitable likely logical plausible probable",
    "reasonable answer choice option one response",
)
# "Option C (42.30%) is ...": the text of the option in brackets.
_TEXT_IN_BRACKETS = r"(?:\s\([^()\n]{1,60}\))?"
_LETTER_IS = rf"{_TEXT_IN_BRACKETS}{CLOSE}{{0,8}}\s{_BE}\s+{_ADVERB}"
_PRAISED_LETTER = re.compile(
    rf"(?<![^\W_])[A-Z]{_LETTER_IS}"
    rf"(?:(?:the|my)\s+)?(?:(?:most|only)\s+)?{_PRAISE}\b",
    re.IGNORECASE,
)

_BEFORE_DETAIL = any_of("to for of here in from among therefore thus")
_BEFORE_GROUNDS = any_of("focusing based considering given according")
# "the answer to this question", "the answer, based on the text,"
_HEAD_DETAIL = (
    rf"(?:,?\s+{_BEFORE_DETAIL}\b[^.:\n]{{0,80}}?"
    rf"|,\s{_BEFORE_GROUNDS}\b[^.,:\n]{{1,60}},)"
)
_CORRECT = any_of(
    "correct right best final accurate appropriate suitable",
    "likely logical plausible probable reasonable",
)
_IT_IS = r"(?:['’]s|\s+(?:is|was|should\s+be|must\s+be))"
_OPTIONAL_LABEL = rf"(?:{ENGLISH_LABEL})?"
_ACTUALLY_IT_IS = (
    rf"(?:(?:it|that|which){_IT_IS}\s+(?:actually|really|in\s+fact)"
    rf"|(?:actually|in\s+fact),?\s+(?:it|that){_IT_IS})"
)
_BUT_RATHER = r"(?:but(?:\s+rather)?|rather|it['’]s|it\s+is)"
_FOREIGN_SO = r"(?:(?:donc|also|daher|entonces)\s)?"
_CONCLUSION_NOUN = any_of("conclusion verdict pick guess solution choice selection decision")
STATEMENTS = (
    # "the best answer is B", "Answer: (B)", "the answer to this question is option **B**",
    # "Answer 1: B"
    Phrase(
        rf"\b{_HEAD}(?!\w)(?:\s+(?:choice|option|letter|key|\d{{1,3}}))?"
        rf"{_HEAD_DETAIL}?[*_\"'”’)]{{0,4}}\??"
        rf"\s{{0,4}}{_SEPARATOR}{_LINK}{{0,12}}{_OPTIONAL_LABEL}{LETTER}"
    ),
    Phrase(rf"\bans\.\s{LETTER}", "ans."),
    # "### Answer" and the letter alone on a later line
    Phrase(
        r"^[#*_> ]{0,8}(?:final\s+|the\s+|correct\s+)?answer[*_:： ]{0,8}\n"
        rf"{LETTER}(?={CLOSE}{{0,8}}$)",
        "answer",
    ),
    # "Answer B" as a whole line
    Phrase(rf"^[#*_> ]{{0,8}}(?:final\s+)?answer\s{LETTER}{CLOSE}{{0,8}}$", "answer"),
    # "<answer>B</answer>", {"final_answer": "B"}
    Phrase(rf"<(?:\w{{1,20}}_)?(?:answer|choice|option)>{LETTER}", ">"),
    Phrase(
        r"[\"'](?:\w{1,20}_)?(?:answer|choice|option|letter)(?:_\w{1,20})?[\"']"
        rf"\s{{0,4}}:\s{{0,4}}[\"']{LETTER}",
        "answer choice option letter",
    ),
    # "B is the right answer"
    Phrase(
        rf"{_SUBJECT}{LETTER}{_LETTER_IS}"
        rf"(?:the|my)\s+(?:most\s+|only\s+)?(?:{_CORRECT}\s+)*"
        r"(?:answer|choice|option|one|response)\b",
        cue=_PRAISED_LETTER,
    ),
    # "not A but B", "it isn't A, it's B"
    Phrase(
        rf"(?:\bnot|n['’]t)\s+(?!only\b){_OPTIONAL_LABEL}{OPEN}{{0,8}}[A-Z]\b"
        rf"{CLOSE}{{0,6}}[,;]?\s*{_BUT_RATHER}\s+"
        rf"{_OPTIONAL_LABEL}{LETTER}"
    ),
    # "but it is actually C"
    Phrase(rf"\b{_ACTUALLY_IT_IS}\s+{_OPTIONAL_LABEL}{LETTER}", "actually really fact"),
    # "Die richtige Antwort ist B", "La respuesta correcta es la opción C", "정답은 B입니다"
    Phrase(
        rf"\b{FOREIGN_ANSWER}{FOREIGN_WORDS}[*_]{{0,4}}{FOREIGN_IS}"
        rf"[\s*_]{{0,6}}{_FOREIGN_SO}{_LABEL}?{LETTER}",
        " ".join(FOREIGN_ANSWER_STEMS),
    ),
    Phrase(
        r"\bRichtig\s{1,3}ist\s{1,3}(?:die\s{1,3})?"
        rf"(?:Antwort|Option|Lösung)?\s{{0,3}}{LETTER}",
        "richtig",
    ),
    Phrase(rf"\bAntwort\s+{LETTER}(?=\s+(?:ist\s+)?richtig\b)", "antwort"),
    Phrase(rf"\bcevap\s+{LETTER}", "cevap"),
    # "nicht B, sondern C", "no es la B sino la D"
    Phrase(
        r"\b(?:nicht|no|pas|non|não|не)\b[^.\n]{1,24}\b(?:sondern|sino|mais|ma|mas|а)\s+"
        rf"(?:{_FOREIGN_ARTICLE})?{LETTER}"
    ),
    # "Conclusion: C", "My pick: B"
    Phrase(
        rf"^[#*_>\s-]{{0,8}}(?:(?:my|the|final)\s)?{_CONCLUSION_NOUN}"
        rf"[*_]{{0,4}}\s?[:：][*_\s]{{0,4}}{_OPTIONAL_LABEL}"
        rf"{LETTER}(?={CLOSE}{{0,8}}$)"
    ),
    # "Not B, as I said before, but A"
    Phrase(
        rf"\bnot\s+{OPEN}{{0,4}}[A-Z]\b{CLOSE}{{0,4}},"
        r"[^.\n]{1,40},\s+but\s+(?:rather\s+)?"
        rf"{_OPTIONAL_LABEL}{LETTER}"
    ),
    Phrase(rf"\bactually,\s+{LETTER}(?={CLOSE}{{0,4}}$)", "actually,"),
)
"""Phrases that say which letter is the answer."""

EASTERN_STATEMENTS = (
    # "答案是B", "正确选项为A", "正しい選択肢はDです", "答案不是A，而是C", "AではなくC",
    # "ليست A بل C"
    Phrase(rf"(?:उत्तर|คำตอบ)\s{{1,2}}{LETTER}"),
    Phrase(rf"{EASTERN_ANSWER}[\s*_]{{0,6}}{_EASTERN_LABEL}?{LETTER}"),
    Phrase(
        r"(?:正确|正確)的?(?:选项|選項|答案)?(?:应该|应|應該)?(?:是|为|為|[:：])\s?"
        rf"{_EASTERN_LABEL}?{LETTER}"
    ),
    Phrase(
        r"(?:正しい|適切な|正解の|最適な)(?:もの|の|選択肢|答え)は\s?"
        f"{_EASTERN_LABEL}?{LETTER}"
    ),
    Phrase(rf"而是\s?{_EASTERN_LABEL}?{LETTER}"),
    Phrase(rf"[A-Z]\s?ではなく、?\s?{_EASTERN_LABEL}?{LETTER}", "ではなく"),
    Phrase(rf"ليست?\s[A-Z]\s?،?\s?بل\s{{1,2}}{LETTER}"),
    Phrase(rf"{_EASTERN_CHOICE}[\s*_]{{0,6}}{LETTER}"),
)
"""The same in other scripts; texts in ASCII need not be searched for them."""
EASTERN_CLAIMS = (Phrase(r"(?<![A-Za-z])(?P<letter>[A-Z])\s?を選(?:び|択|ぶ)", "を選"),)

_WHO_CHOOSES = any_of(r"I we I['’](?:d|ll|m|ve) you let['’]?s let\s+us", "so thus therefore hence")
_CHOOSES = any_of(
    r"choo?se choosing lean(?:ing)?\s+towards? select(?:ed|ing)? pick(?:ed|ing)?",
    r"go(?:ing)?\s+with opt(?:ed|ing)?\s+for say guess settle\s+(?:on|for)",
)
_I_CHOOSE = r"(?:ich\s+wähle|je\s+choisis|elijo|escolho|scelgo|أختار)"
_FOREIGN_CORRECT = any_of("richtig korrekt correcta?e? correta corretta juste bonne الصحيح صحيح")
_FITS = any_of("is fits works matches satisfies remains makes can")
_AGREES_WITH = r"(?:match(?:es)?|agrees?\s+with|consistent\s+with|corresponds?\s+to)"
CLAIMS = (
    # "I choose (B)", "we select option B", "I would say D"
    Phrase(
        rf"(?:\b{_WHO_CHOOSES}\s+(?:[a-z]{{2,9}}\s+){{0,2}}?|^)"
        rf"{_CHOOSES}\s+{_OPTIONAL_LABEL}{LETTER}",
        "choose chose choosing lean select pick with opt say guess settle",
    ),
    # "Ich wähle B", "Je choisis B", "Elijo B", "أختار الإجابة D", "Bを選びます"
    Phrase(
        rf"\b{_I_CHOOSE}\s+(?:{_FOREIGN_LABEL})?{LETTER}",
        "wähle choisis elijo escolho scelgo أختار",
    ),
    # "Option D ist korrekt", "L'option D est correcte", "C'est la réponse C"
    # "الخيار D هو الصحيح"
    Phrase(
        rf"\b(?:{_FOREIGN_LABEL}){LETTER}\s"
        r"(?:ist|est|es|é|è|هو)?\s?(?:daher\s|donc\s|also\s|la\s)?"
        rf"{_FOREIGN_CORRECT}\b",
        "richtig korrekt correct corretta correta juste bonne صحيح",
    ),
    Phrase(rf"\bc['’]est\s+(?:donc\s+)?(?:{_FOREIGN_LABEL}){LETTER}", "c'est c’est"),
    # "option B is correct", "only (B) fits"
    Phrase(
        rf"{_SUBJECT}{LETTER}{CLOSE}{{0,8}}\s{_BE}\s+{_ADVERB}"
        r"(?:the\s+)?(?:most\s+|only\s+)?(?:correct|right|best|accurate|appropriate)\b",
        cue=_PRAISED_LETTER,
    ),
    Phrase(rf"\bonly\s+{_OPTIONAL_LABEL}{LETTER}{CLOSE}{{0,8}}\s{_FITS}\b", "only"),
    # "which matches option H best", "this corresponds to A."
    Phrase(
        rf"\b{_AGREES_WITH}\s+(?:with\s+)?"
        rf"(?:the\s+)?(?:option|choice|answer)\s+{LETTER}",
        "option choice answer",
    ),
    Phrase(rf"\bcorresponds?\s+to\s+{LETTER}(?=[.)*\s]{{0,6}}$)", "correspond"),
)
"""Phrases that favour a letter, also while options are weighed; they count where they agree."""

# "The correct answer is: "
_BOX_LABEL = (
    r"(?:the\s+)?(?:(?:correct|best|final)\s+)?"
    r"(?:answer|option|choice)(?:\s+is)?\s*:?\s*"
)
_CLOSE_IN_BOX = r"(?:[\s*_)\]}$]|\\[)\] ,;!]|\\\Z)*"
_TEXT_IN_BOX = r"(?:(?<=[)\]}*]\s).*|[.:,](?:\s.*)?)?"
# The content of a box: "B", "The answer is (B)", "\text{(B) 12 m/s}"
BOXED = re.compile(
    rf"(?:{OPEN}{{0,4}}(?i:{_BOX_LABEL}))?"
    rf"{LETTER}{_CLOSE_IN_BOX}{_TEXT_IN_BOX}",
    re.DOTALL,
)
OR_BOX = re.compile(r"[\s$*]{0,6}(?:or|and)[\s$*]{0,6}\\(?:boxed|fbox)")
BOX_OR = re.compile(r"\}[\s$*]{0,6}(?:or|and)[\s$*]{0,6}\Z")

_BULLET = r"[#*>\s•✅✔✓☑️👉➡🔹→-]{0,8}"
# A full stop, a comma, a dash, "because"; "A: ..." opens an answer in a question-and-answer text
# and names no letter.
_LETTER_ENDS = (
    r"(?:(?<=[).])\s|(?<!A):|[,;、。，]|$|\n"
    r"|\s[-–—]\s|\s(?:because|since|due\s+to)\b)"
)
# "**B**", "Option B. The cell divides", "C because ..."; not {"answer": ...
OPENING = re.compile(
    rf"\A(?!\{{\s*[\"']){_BULLET}(?i:{ENGLISH_LABEL})?"
    rf"{LETTER}(?={CLOSE}{{0,8}}{_LETTER_ENDS})"
)
_BEFORE_DIRECT = any_of(r"clearly definitely probably I\s+think option (?:the\s+)?letter")
# Behind a prompt that ends in "The best answer is": " B", ": clearly option B"
DIRECT = re.compile(rf"\A(?:[\s:：]|\b{_BEFORE_DIRECT}\b){{0,4}}{LETTER}", re.IGNORECASE)
OPTION_LINE = re.compile(r"^[^\w\n]{0,4}([A-Za-z])[).:]", re.MULTILINE)
_LINE_LABEL = (
    rf"(?:{ENGLISH_LABEL}|(?:solution|correct|letter|choice|option|selection)\s{{0,2}}[:：])"
)
# "- **B**", "1. Option B", "Correct: (B)"
WHOLE_LINE = re.compile(
    r"\A[#>\s|•*-]{0,8}(?:\d{1,2}[.)]\s{1,3})?"
    rf"(?:{_LINE_LABEL}\s{{0,3}})?{LETTER}{CLOSE}*\Z",
    re.IGNORECASE,
)
# "I" is a pronoun far more often than an option.
_CAPITAL = r"(?P<letter>[A-HJ-Z])"
_CONCLUDES = any_of(
    "so thus therefore hence consequently conclude implies gives leaves leaving guess say option",
    "choice answer is be elimination probably definitely obviously clearly",
)
_CONCLUDING_SIGN = r"['’]s|→|⇒|[-=]>|\w(?<!one)(?<!from):"
_MARKED_I = r"I(?=[.)\]}*])"
# "Therefore, B.", "This leaves option (C)", "2 + 2 = 4 → **D**"
CONCLUSION = re.compile(
    rf"(?:\b(?i:{_CONCLUDES})|{_CONCLUDING_SIGN})[\s,:]{{1,4}}"
    rf"(?i:{ENGLISH_LABEL})?{OPEN}{{0,16}}"
    rf"(?P<letter>[A-HJ-Z]|{_MARKED_I}){_ALONE}{CLOSE}{{0,8}}$"
)
_IS_COLON = r"\b(?i:is|are|was|be)\s?[:：]\s{0,3}"
_SO_IT_IS_THE = (
    r"\b(?i:so|thus|therefore|hence)\b[^.\n]{1,120}"
    r"\b(?:is|are|was|be)\s+the\s+"
)
# "Therefore, the stage is: D. Prophase", "So the process is the B. anaphase stage."
CONCLUDED_OPTION = re.compile(
    rf"(?:{_IS_COLON}|{_SO_IT_IS_THE})"
    rf"{OPEN}{{0,8}}{_CAPITAL}[.)][)*_]{{0,4}}\s+"
    r"(?=[^\W_]|[\\$\"'])"
)
_ANNOUNCES = any_of("is was be answer option choice conclusion therefore thus hence")
# "The product would be:" and the option on a line of its own, whatever is explained behind it.
ANNOUNCED_OPTION = re.compile(
    rf"\b{_ANNOUNCES}(?:\s?[:：])[*_ ]{{0,4}}\n\s{{0,8}}"
    rf"(?:[#>•-]\s)?{OPEN}{{0,4}}{_CAPITAL}[.)][)*_]{{0,4}}\s{{1,8}}"
    r"(?=[^\W_]|[\\$\"'(])"
    rf"(?![^\n]*\n\s{{0,8}}{OPEN}{{0,4}}[A-J][.)])",
    re.IGNORECASE,
)
# "the pH is closest to **A. 12.62**": an option in bold with its text, behind a verb.
BOLD_OPTION = re.compile(
    r"\b(?:is|are|was|be|as|to|therefore|thus|hence)\s{1,2}"
    rf"\*\*\(?{_CAPITAL}[.)]\)?\s[^*\n]{{1,200}}\*\*"
)
# "(B)", "**B.**", "\textbf{(B)}"
MARKED = re.compile(
    r"(?:[(（\[【]\s?|\*\*\(?|\\text(?:bf)?\{\(?)"
    r"(?P<letter>[A-Z])"
    r"(?=\s?[)）\]】]|\)?[.:]?\*\*|\)?\})"
)

_CALLED = any_of("described classified known considered categori[sz]ed called identified regarded")
_STATED = any_of("described shown found stated given listed expressed mentioned")
_SUPPORTED = any_of(
    "illustrated described shown represented explained exemplified supported captured"
)
_EXAMPLE_OF = r"(?:example|instance|case)\s+of"
_DESCRIBES = (
    rf"(?:is|are|be|{_CALLED}\s+as|{_EXAMPLE_OF}"
    rf"|{_STATED}\s+in|{_SUPPORTED}\s+by)"
)
# "The best reason is C. There was ...", "best described as B, wry resignation", "an example of C."
DESCRIBED = re.compile(
    rf"\b{_DESCRIBES}\s{{1,2}}(?i:{ENGLISH_LABEL})?{OPEN}{{0,8}}{_CAPITAL}{_ALONE}"
    rf"(?={CLOSE}{{0,4}}(?:[.:,;)]|$))(?![.)]?\s[a-z])"
)
_GOOD = r"(?P<good>correct|yes|true|right|✓|✔|✅)"
_BAD = r"(?P<bad>incorrect|no|false|wrong|not|✗|✘|❌)"
# "C) yes", "B. Correct.", "A ✓" among lines that reject the other options.
VERDICT_LINE = re.compile(
    r"^[^\w\n]{0,6}(?:Option\s)?(?P<letter>[A-Z])[).:*]{1,4}\W{0,6}?"
    rf"(?:{_GOOD}|{_BAD})(?![\w-])",
    re.IGNORECASE | re.MULTILINE,
)
PART = re.compile(r"(?:^|[\s,;])\(?([a-h])\)\s", re.MULTILINE)
# "G. (a) 2, (b) 3": a letter whose text holds the parts of the question.
OPTION_OF_PARTS = re.compile(r"\A\W{0,4}(?P<letter>[A-Z])[.)]\s\(?a\)\s")
ROMAN = re.compile(r"\bI{2,3}\b")
FULL_WIDTH = {ord("Ａ") + place: ord("A") + place for place in range(26)}
