r"""Replies whose number was missed, misread or invented, by cause; None where a reply states no number."""

import pytest

from custom_metrics.extract.number import extract_number
from tests.tables import each_row

CAUSES = {
    "digit groups": [
        (r"\boxed{1,\!375}", "1375"),
        (r"The answer is 1,\!375.", "1375"),
        (r"\boxed{\$1{,}375}", "1375"),
        (r"\boxed{1\,375}", "1375"),
        (r"\boxed{1\;375}", "1375"),
        (r"\boxed{12~375}", "12375"),
        ("The answer is 12\u2009375.", "12375"),
        ("The answer is 12\u202f375.", "12375"),
        ("The answer is 12\xa0375", "12375"),
        (r"\boxed{\$1,\!234,\!567.50}", "1234567.5"),
        (r"So the total is $\$2{,}050$.", "2050"),
        (r"He earns \$1\,200 per week. Therefore, his total is \$4\,800.", "4800"),
        (r"\boxed{1\:375}", "1375"),
        (r"\boxed{10{,}500 \text{ km}}", "10500"),
        (r"#### 1,\!375", "1375"),
        (r"the total is $1\,375\,000$ dollars.", "1375000"),
        (r"\boxed{1\ 375}", "1375"),
        (r"\boxed{\text{\$}1,\!375}", "1375"),
        (r"\boxed{€1{,}375}", "1375"),
    ],
    "letters of a currency": [
        ("Therefore, the answer is CHF2,000.", "2000"),
        ("The gain is USD58.33, so the answer is USD 58.33", "58.33"),
        ("Final answer: HK$1,250", "1250"),
        ("So the loss is EUR 45.8.", "45.8"),
        ("The answer is model X300.", None),
    ],
    "a blank before the answer": [
        ("Therefore, the answer is {final answer} 10.48%.", "10.48"),
        ("Therefore, the answer is {final answer}.", None),
    ],
    "a box cut off before its brace": [
        (r"The answer is $\boxed{9.3}$." + "\n" + r"The answer is $\box", "9.3"),
        (r"The answer is \boxed{29}. However, the key says that the answer is \boxed", "29"),
    ],
    "a sentence about the answer": [
        ("The answer is 20%.\n\nThe answer should be a numeric value, which is the rate.", "20"),
        ("The answer is 20.\n\nNote that the final answer is an approximation.", "20"),
        ("The answer is the total calculated in Step 4.", None),
        ("Therefore, the answer is the value from step 3.", None),
    ],
    "a name with an index before two forms of a value": [
        (r"\boxed{x_{2}: 1/2 (0.5)}", "1/2"),
        (r"\boxed{x_{2}: 1/2 (0.25)}", None),
    ],
    "one negative value in two forms": [
        ("Therefore, the answer is -0.055 or -5.5%.", "-0.055"),
        (r"Therefore, the answer is \(0.00508\) or 0.508%.", "0.00508"),
    ],
    "code at the end": [
        ("So x = 3.\n\nmean = average(frame, '2016 Return (%)', 'Weight')", None),
        ("At one standard deviation we would see $1 *", None),
    ],
    "value behind the verb": [
        (
            "Therefore, the present value of $5,000 that will be received three years from now at 6% is approximately **$4,231.44**.",
            "4231.44",
        ),
        ("The number of blocks with exactly 36 houses is 3.", "3"),
        ("20% of 50 is 10.", "10"),
        ("The total as of December 31, 2019 is 842,000.", "842000"),
        ("The total as of December 31, 2019 is 842,000", "842000"),
        ("Therefore, the ratio of sales in 2004 to 2007 is 1.", "1"),
        ("So the ratio of the value in 2004 to the value in 2007 is 1.25.", "1.25"),
        ("The number of students who scored above 80 is 15.", "15"),
        ("The sum of 12 and 15 is 27.", "27"),
        ("The average of 3, 5 and 7 is 5.", "5"),
        ("The percentage change from 2018 to 2019 is 12.5%.", "12.5"),
        ("The cost of 3 pens and 4 pencils is $11.", "11"),
        ("The value of the 5-year bond was $1,020.50.", "1020.5"),
        ("The number of ways to choose 2 of 6 would be 15.", "15"),
        ("The area of the 3 by 4 rectangle equals 12.", "12"),
        ("Therefore, the change in net income between 2010 and 2011 was -$12 million.", "-12"),
        ("The total of 45 and 55 should be 100.", "100"),
        ("The tallest 3 trees are 12 m and 15 m high.", None),
        ("In 2019, revenue was $3.2 billion, up from $2.9 billion in 2018.", "3.2"),
        ("In 2010 the median of 7 towns was 120.", "120"),
        ("The 90th percentile of the 40 scores is 88.", "88"),
        ("The net change in cash during fiscal year 2012 is 45.", "45"),
        ("Total shares outstanding at December 31, 2008 were 1,204.", "1204"),
        ("The balance on Jan 1, 2020 will be 5,000.", "5000"),
    ],
    "states no number": [
        ("['$1,910 thousand', '$14,740 thousand']", None),
        ("The answer is ['$1,910 thousand', '$14,740 thousand'].", None),
        ("Adding up: 12 + 30 = 0 +", None),
        ("So 1 day = 1/3", None),
        ("The answer is 8!", None),
        ("The answer is 8!.", None),
        ("The ratio is R/2", None),
        ("So the radius is R/2.", None),
        (r"So the value is $1/2\sqrt{2}$.", None),
        (r"\boxed{1/2\sqrt{2}}", None),
        ("I'm sorry, I can't find the property Real Estate #1 in the table.", None),
        ("I cannot determine the value of Real Estate #1 from the table.", None),
        ("The answer is [number].", None),
        ("Final answer: [insert answer here] (step 2)", None),
        ("The answer is ____ (rounded to 2 decimals).", None),
        ("The answer is $n/3$.", None),
        ("The answer is 3n.", None),
        (r"The answer is $\frac{R}{2}$.", None),
        ("[3, 4, 5]", None),
        ("The answer is [3, 4].", None),
        ("The answers are 3, 4 and 7.", None),
        ("{1, 2}", None),
        ("x = 3, y = 4", None),
        ("The answer is 8! = 40320", "40320"),
        ("So we have 12 * 3 = 36, and 36 -", None),
        ("Thus 4 hours = 1/6", None),
        ("Great! The answer is 8! I hope that helps.", "8"),
        ("The answer is 5! Let me know if you have questions.", "5"),
        ("The answer is {answer}. 1.", None),
        ("Answer: <number> 0", None),
    ],
    "one value in two forms": [
        ("The answer is 0.144 or 14.4%.", "0.144"),
        (r"\boxed{0.07219 \text{ or } 7.219\%}", "0.07219"),
        ("The answer is 14.4% or 0.144.", "14.4"),
        ("The probability is 1/4 or 0.25.", "1/4"),
        ("The answer is 0.5 or 1/2.", "0.5"),
        ("The answer is 0.144 (or 14.4%).", "0.144"),
        ("The answer is 0.144 or 15%.", None),
        ("The answer is 3 or 4.", None),
        ("The answer is 14.4%, or 0.144.", "14.4"),
    ],
    "what follows takes nothing back": [
        (
            "The answer is 12.\n\n```python\ndef f(t):\n    return t\nans = acceleration(t)\nprint(ans)\n```",
            "12",
        ),
        ("The answer is 12.\n\nThe final answer is $\\boxed{", "12"),
        ("The answer is 12.\n" + "This answer is correct.\n" * 60, "12"),
        (r"Thus \boxed{12}. \boxed{", "12"),
        ("The answer is 7.\nans = solve(x)", "7"),
        ("#### 12\n\nThe answer is the value that we found above.", "12"),
        ("The answer is 12.\nWait, that is wrong. The answer is (C).", None),
    ],
    "question restated": [
        (
            "**Question:** How many apples are there in 3 boxes of 4?\n\n3 * 4 = 12.\n\n\\boxed{12}",
            "12",
        ),
        (
            "Let me restate.\n\n**Question:** Tom has 3 apples and buys 4.\n\nSolution: 3 + 4 = 7. Final answer: 7",
            "7",
        ),
        ("**Given:** 3 boxes of 4\n**Question:** how many?\nAnswer: 12", "12"),
        (
            "First, I restate the problem.\nQuestion: What is 12 + 5?\nThe final answer is \\boxed{17}.",
            "17",
        ),
        ("5\n\nQuestion: 2 + 2?\nAnswer: 4", "5"),
        ("The answer is 5.\n\nQuestion: 2+2?\nThe answer is 4.", "5"),
    ],
}


@each_row(
    ("reply", "number"),
    [
        pytest.param(*case, id=f"{cause} {place}")
        for cause, cases in CAUSES.items()
        for place, case in enumerate(cases, 1)
    ],
)
def test_number(reply, number):
    assert extract_number(reply) == number
