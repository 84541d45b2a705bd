def prepare(context, task):
    """The rows of the loss attack, each behind the prefix."""
    data = context.pack.module("prepare").prepare(context, task.replace("recall_", "tofu_"))
    prefix = context.section.recall_prefix
    rows = data.rows
    data.rows = ({**row, "prompt": prefix + row["prompt"]} for row in rows)
    return data
