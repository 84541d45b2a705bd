from lm_eval.api.instance import Instance
from lm_eval.api.task import ConfigurableTask


class Own(ConfigurableTask):
    def __init__(self, config=None):
        config = {key: value for key, value in (config or {}).items() if key != "class"}
        super().__init__(
            config={
                **config,
                "dataset_path": "json",
                "dataset_kwargs": {"data_files": {"test": "@HERE@/rows.jsonl"}},
                "test_split": "test",
                "doc_to_text": "question",
                "doc_to_target": "answer",
                "num_fewshot": 0,
            }
        )

    def construct_requests(self, doc, ctx, **kwargs):
        kwargs.pop("apply_chat_template", None)
        kwargs.pop("chat_template", None)
        return [Instance("loglikelihood", doc=doc, arguments=(ctx, " yes"), idx=0, metadata=kwargs["metadata"])]
