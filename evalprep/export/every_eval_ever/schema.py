"""The two schemas of Every Eval Ever 0.3.0: a record of a run, and one line of its samples.

Source: `eval.schema.json` and `instance_level_eval.schema.json` of the package every-eval-ever
0.3.0, with the rules that its models add to them. Types are as lenient as there: a number may be
written as text, and keys that an inner object does not know are passed over.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, field_validator, model_validator

VERSION = "0.3.0"
DEPLOYMENTS = ("self_deployed", "externally_managed", "unknown")
AVAILABILITIES = ("open_weights", "closed_weights", "unknown")
INFINITE = {"Infinity": math.inf, "-Infinity": -math.inf}

_HEX = "[0-9A-Fa-f]"
_COMPANION = (
    rf"^data/[^/]+/[^/]+/[^/]+/{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89ABab]{_HEX}{{3}}"
    rf"-{_HEX}{{12}}_samples\.jsonl$"
)
_Details = dict[str, str] | None
_Count = Annotated[int, Field(ge=0)]
_Positive = Annotated[int, Field(ge=1)]
_Duration = Annotated[float, Field(ge=0)]


class _Closed(BaseModel):
    """An object that holds no other keys."""

    model_config = ConfigDict(extra="forbid")


# --- the record of a run


class SourceMetadata(BaseModel):
    """The source of an evaluation."""

    source_name: str | None = None
    source_type: Literal["documentation", "evaluation_run"]
    source_organization_name: str
    source_organization_url: str | None = None
    source_organization_logo_url: str | None = None
    evaluator_relationship: Literal["first_party", "third_party", "collaborative", "other"]
    additional_details: _Details = None


class EvalLibrary(BaseModel):
    """The program that evaluated."""

    name: str
    version: str
    additional_details: _Details = None


class StandardError(BaseModel):
    """A standard error."""

    value: float
    method: str | None = None


class ConfidenceInterval(BaseModel):
    """An interval."""

    lower: float
    upper: float
    confidence_level: Annotated[float, Field(ge=0, le=1)] | None = None
    method: str | None = None


class Uncertainty(BaseModel):
    """The uncertainty of a score."""

    standard_error: StandardError | None = None
    confidence_interval: ConfidenceInterval | None = None
    standard_deviation: float | None = None
    num_samples: int | None = None
    num_bootstrap_samples: int | None = None


class ScoreDetails(BaseModel):
    """A score."""

    score: float
    details: _Details = None
    uncertainty: Uncertainty | None = None


class AvailableTool(BaseModel):
    """A tool of an agent."""

    name: str | None = None
    description: str | None = None
    parameters: _Details = None


class AgenticEvalConfig(BaseModel):
    """The tools of an agent."""

    available_tools: list[AvailableTool] | None = None
    additional_details: _Details = None


class EvalPlan(BaseModel):
    """The solvers of inspect_ai."""

    name: str | None = None
    steps: list[str] | None = None
    config: _Details = None


class EvalLimits(BaseModel):
    """Limits of an agent."""

    time_limit: int | None = None
    message_limit: int | None = None
    token_limit: int | None = None


class Sandbox(BaseModel):
    """The sandbox in which an agent ran."""

    type: str | None = None
    config: str | None = None


class GenerationArgs(_Closed):
    """The arguments with which replies were generated."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    max_tokens: _Positive | None = None
    execution_command: str | None = None
    reasoning: bool | None = None
    prompt_template: str | None = None
    agentic_eval_config: AgenticEvalConfig | None = None
    eval_plan: EvalPlan | None = None
    eval_limits: EvalLimits | None = None
    sandbox: Sandbox | None = None
    max_attempts: int | None = None
    incorrect_attempt_feedback: str | None = None


class GenerationConfig(BaseModel):
    """The same with what has no field of its own."""

    generation_args: GenerationArgs | None = None
    additional_details: _Details = None


class DetailedEvaluationResults(BaseModel):
    """The file of the samples."""

    format: Literal["jsonl"]
    file_path: Annotated[str, Field(pattern=_COMPANION)]
    hash_algorithm: Literal["sha256", "md5"] | None = None
    checksum: str | None = None
    total_rows: int | None = None
    additional_details: _Details = None


class InferenceEngine(BaseModel):
    """The engine that ran the model."""

    name: str | None = None
    version: str | None = None


class ModelInfo(BaseModel):
    """The model."""

    name: str
    id: str
    developer: str | None = None
    inference_platform: str | None = None
    inference_engine: InferenceEngine | None = None
    additional_details: _Details = None

    @model_validator(mode="after")
    def check_details(self) -> Self:
        """Refuses another word for the deployment or for the weights."""
        details = self.additional_details or {}
        for name, allowed in (
            ("deployment_type", DEPLOYMENTS),
            ("model_availability", AVAILABILITIES),
        ):
            if details.get(name, "unknown") not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}")
        return self


class SourceUrl(BaseModel):
    """Data at addresses."""

    dataset_name: str
    source_type: Literal["url"]
    url: Annotated[list[str], Field(min_length=1)]
    additional_details: _Details = None


class SourceHub(BaseModel):
    """Data of the hub."""

    dataset_name: str
    source_type: Literal["hf_dataset"]
    hf_repo: str | None = None
    hf_split: str | None = None
    samples_number: int | None = None
    sample_ids: list[str] | None = None
    additional_details: _Details = None


class SourceOther(BaseModel):
    """Data of another kind."""

    dataset_name: str
    source_type: Literal["other"]
    additional_details: _Details = None


class JudgeConfig(BaseModel):
    """A judge."""

    model_info: ModelInfo
    temperature: float | None = None
    weight: float | None = None
    additional_details: _Details = None


class LlmScoring(BaseModel):
    """Scores of judges."""

    judges: Annotated[list[JudgeConfig], Field(min_length=1)]
    input_prompt: str
    aggregation_method: Literal["majority_vote", "average", "weighted_average", "median"] | None = (
        None
    )
    expert_baseline: float | None = None
    additional_details: _Details = None


class MetricConfig(BaseModel):
    """A metric."""

    evaluation_description: str | None = None
    metric_id: str | None = None
    metric_name: str | None = None
    metric_kind: str | None = None
    metric_unit: str | None = None
    metric_parameters: dict[str, str | float | bool | None] | None = None
    lower_is_better: bool
    score_type: Literal["binary", "continuous", "levels"] | None = None
    level_names: list[str] | None = None
    level_metadata: list[str] | None = None
    has_unknown_level: bool | None = None
    min_score: float | None = None
    max_score: float | None = None
    llm_scoring: LlmScoring | None = None
    additional_details: _Details = None

    @field_validator("min_score", "max_score", mode="before")
    @classmethod
    def read_bound(cls, value: Any) -> float | None:
        """Reads a bound, which is a number or one of the two words for an infinite one."""
        if isinstance(value, str) and value in INFINITE:
            return INFINITE[value]
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            # pydantic reports ValueError alone.
            raise ValueError("a bound is a number, Infinity or -Infinity")  # noqa: TRY004
        return value

    @model_validator(mode="after")
    def check_score_type(self) -> Self:
        """Refuses a score type without what it needs."""
        needed = {
            "levels": ("level_names", "has_unknown_level"),
            "continuous": ("min_score", "max_score"),
        }
        for name in needed.get(self.score_type or "", ()):
            if getattr(self, name) is None:
                raise ValueError(f"score_type {self.score_type} needs {name}")
        return self


class EvaluationResult(BaseModel):
    """One score of a record."""

    evaluation_result_id: str | None = None
    evaluation_name: str
    source_data: Annotated[SourceUrl | SourceHub | SourceOther, Discriminator("source_type")]
    evaluation_timestamp: str | None = None
    metric_config: MetricConfig
    score_details: ScoreDetails
    generation_config: GenerationConfig | None = None


class Record(_Closed):
    """The record of a run."""

    schema_version: str
    evaluation_id: str
    evaluation_timestamp: str | None = None
    retrieved_timestamp: str
    source_metadata: SourceMetadata
    eval_library: EvalLibrary
    model_info: ModelInfo
    evaluation_results: list[EvaluationResult]
    detailed_evaluation_results: DetailedEvaluationResults | None = None


# --- one line of the samples


class Input(BaseModel):
    """The question of an instance."""

    raw: str
    formatted: str | None = None
    reference: list[str]
    choices: list[str] | None = None


class Output(BaseModel):
    """The reply of the model."""

    raw: list[str]
    reasoning_trace: list[str] | None = None


class ToolCall(BaseModel):
    """A call of a tool."""

    id: str
    name: str
    arguments: dict[str, Any] | None = None


class Message(BaseModel):
    """A turn of a conversation."""

    turn_idx: _Count
    role: str
    content: str | None = None
    reasoning_trace: str | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: list[str] | None = None


class AnswerAttribution(BaseModel):
    """The turn from which the answer was read."""

    turn_idx: _Count
    source: str
    extracted_value: str
    extraction_method: str
    is_terminal: bool


class Evaluation(BaseModel):
    """The score of a sample."""

    score: float
    is_correct: bool
    num_turns: _Positive | None = None
    tool_calls_count: _Count | None = None


class TokenUsage(BaseModel):
    """Tokens of a sample."""

    input_tokens: _Count
    output_tokens: _Count
    total_tokens: _Count
    input_tokens_cache_write: _Count | None = None
    input_tokens_cache_read: _Count | None = None
    reasoning_tokens: _Count | None = None


class Performance(BaseModel):
    """Times of a sample."""

    latency_ms: _Duration | None = None
    time_to_first_token_ms: _Duration | None = None
    generation_time_ms: _Duration | None = None
    additional_details: dict[str, Any] | None = None


class SampleLine(_Closed):
    """One line of the samples."""

    schema_version: str
    evaluation_id: str
    model_id: str
    evaluation_name: str
    evaluation_result_id: str | None = None
    sample_id: str
    sample_hash: str | None = None
    interaction_type: Literal["single_turn", "multi_turn", "agentic"]
    input: Input
    output: Output | None = None
    messages: list[Message] | None = None
    answer_attribution: list[AnswerAttribution]
    evaluation: Evaluation
    token_usage: TokenUsage | None = None
    performance: Performance | None = None
    error: str | None = None
    metadata: dict[str, Any] | None = None

    @model_validator(mode="after")
    def check_interaction(self) -> Self:
        """Refuses a single turn with messages, and a conversation with an output."""
        needed, other = ("output", "messages")
        if self.interaction_type != "single_turn":
            needed, other = other, needed
        if getattr(self, needed) is None:
            raise ValueError(f"interaction_type {self.interaction_type} needs {needed}")
        if getattr(self, other) is not None:
            raise ValueError(f"interaction_type {self.interaction_type} has no {other}")
        return self
