"""Tiny models with random weights in the format of transformers, for helpers that need some."""

from tests.effort import Later

torch = Later("torch")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz0123456789.,!?"]
WORDS += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]


def _config(**more):
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, **more,
    )  # fmt: skip


def _save(folder, model):
    from transformers import BertTokenizerFast

    folder.mkdir(parents=True)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), model_max_length=64).save_pretrained(
        folder
    )
    model.save_pretrained(folder, safe_serialization=True)
    return folder


def encoder(folder, seed=0):
    from transformers import BertModel

    torch.manual_seed(seed)
    return _save(folder, BertModel(_config()))


def classifier(folder, labels=None, seed=0):
    from transformers import BertForSequenceClassification

    torch.manual_seed(seed)
    labels = labels or [f"LABEL_{number}" for number in range(7)]
    names = dict(enumerate(labels))
    return _save(
        folder, BertForSequenceClassification(_config(num_labels=len(labels), id2label=names))
    )
