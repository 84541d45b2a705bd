def mean_of_rows(*, rows, inputs, reference, params):
    values = [float(row["metrics"]["own_score"]) for task in rows.values() for row in task]
    return {"agg_value": sum(values) / len(values), "n": len(values)}


def mean_length(*, rows, inputs, reference, params):
    values = [len(row["response"]) for task in rows.values() for row in task]
    return {"agg_value": sum(values) / len(values), "n": len(values)}


def mean_letters(*, rows, inputs, reference, params):
    values = [row["metrics"].get("letters") for task in rows.values() for row in task]
    if None in values:
        return {"agg_value": None, "reason": "not counted yet"}
    return {"agg_value": sum(values) / len(values), "n": len(values)}
