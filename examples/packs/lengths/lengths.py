def answer_length(*, rows, **_):
    """Mean number of words of the generations."""
    lengths = {
        str(row["index"]): {"score": len(row["response"].split())}
        for task in rows.values()
        for row in task
    }
    return {
        "agg_value": sum(row["score"] for row in lengths.values()) / len(lengths),
        "value_by_index": lengths,
    }
