"""Facts of a model and of this machine, known without loading the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evalprep.surface import offered

if TYPE_CHECKING:
    from evalprep.model.destinations import Destination, destination
    from evalprep.model.files import model_folder, own_code
    from evalprep.model.fingerprint import fingerprint_of
    from evalprep.model.hardware import core_count, gpu_names
    from evalprep.model.lineage import Lineage, architecture_of, lineage_of
    from evalprep.model.shape import BYTES, ModelShape, context_of, model_shape
    from evalprep.model.suited import suited_backend
    from evalprep.model.tokenizer import ChatTemplate, Tokenizer, load_tokenizer, template_variables
else:
    __getattr__ = offered(__name__)
