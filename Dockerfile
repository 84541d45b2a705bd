# Images with evalprep and an engine, for `evalprep launch WORK_DIR --kubernetes image=NAME,...`.
#
#   docker build --target gpu -t evalprep:gpu .      vLLM with CUDA; the nodes need NVIDIA's container toolkit
#   docker build --target cpu -t evalprep:cpu .      the hf back end
#
# TORCH_INDEX names an index with a build of torch for CPUs, which is smaller by several GB.
# The project is mounted where it runs; no model, data or key is in an image.
FROM python:3.12-slim AS base
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONUNBUFFERED=1
# vLLM and torch compile kernels when they start.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends build-essential git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml setup.py MANIFEST.in requirements.txt README.md LICENSE eval_config.yaml ./
COPY evalprep evalprep
COPY custom_metrics custom_metrics
COPY task_templates task_templates

FROM base AS cpu
ARG TORCH_INDEX=""
RUN if [ -n "$TORCH_INDEX" ]; then pip install --index-url "$TORCH_INDEX" torch; fi \
    && pip install ".[hf,report]"
WORKDIR /work
CMD ["evalprep", "--help"]

FROM base AS gpu
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
RUN pip install ".[vllm,report]"
WORKDIR /work
CMD ["evalprep", "--help"]
