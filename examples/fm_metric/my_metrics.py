# my_metrics.py, beside the task YAML
from custom_metrics.fm.compose import compose, transform
from custom_metrics.fm.harness import make_process_results


@transform(inputs=["model_output"], outputs=["words"])
def words(record):
    return {"words": len(record["model_output"].split())}


@transform(inputs=["words", "target"], outputs=["short_enough"])
def short_enough(record):
    return {"short_enough": float(record["words"] <= int(record["target"]))}


process_results = make_process_results(compose([words, short_enough]))
