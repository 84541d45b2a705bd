import evalprep

done = evalprep.evaluate(
    "trex_replies.jsonl",
    algorithm="factual_knowledge",
    target="answers",
    output="model_output",
    target_output_delimiter="<OR>",
)
print(done.to_pandas())
