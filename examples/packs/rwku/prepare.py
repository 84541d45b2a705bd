from .datasets import Data


def prepare(context, task):
    """Questions of the task's file, asked in the model's style."""
    data = Data("tofu", task, "train")
    source = context.open(context.pack.tasks[task].source)
    return context.pack.module("prepare").build_task(context, task, data, source)
