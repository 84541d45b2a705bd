from dataclasses import replace

from evalprep.packapi import Call, ScoreSpec, TaskData, TaskPlan


def names(section):
    return [f"proof_{one['name']}" for one in section.own_sets]


def plan(context):
    made = {f"proof_{one['name']}": one for one in context.section.own_sets}
    plan = context.plan_of([name for name in context.requested if name not in made], {name: group.tasks for name, group in context.pack.groups.items()})
    for name, one in made.items():
        if name in context.requested:
            seed = one.get("seed")
            plan.tasks[name] = TaskPlan(name, "answer.yaml", call=Call(seed=seed), tags={"label": one["name"]})
            plan.scores[f"{one['name']}_length"] = ScoreSpec(function="score.mean_length", tasks=(name,))
    if "arc_easy" in plan.tasks:
        data = context.locate(context.section.stock_data)
        files = {split: data for split in ("train", "validation", "test")}
        overrides = {"dataset_path": "json", "dataset_name": None, "dataset_kwargs": {"data_files": files}}
        plan.tasks["arc_easy"] = replace(plan.tasks["arc_easy"], overrides={**overrides, "num_fewshot": 2})
    return plan


def prepare(context, task):
    count = 7 if task == "proof_blocks" else 4
    return TaskData(
        rows=(
            {"sample_id": f"{task}-{n}", "prompt": f"What is {n} plus {n}?", "target": str(n + n)} for n in range(count)
        )
    )


def continue_rows(context, task, before):
    for row in before["proof_answer"]:
        yield {
            "sample_id": row["sample_id"],
            "prompt": f"{row['prompt']} {row['response']}\nSure?",
            "choices": [" yes", " no"],
            "target": 0,
        }
