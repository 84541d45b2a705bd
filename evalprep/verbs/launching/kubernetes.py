"""Job files for Kubernetes: an indexed Job of shards, a Job that merges, and a script for both."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from evalprep.errors import Problems
from evalprep.verbs.launching.workload import Workload

SUBMIT = "submit.sh"
_GRACE_SECONDS = 120
_GPU = "nvidia.com/gpu"
# The engine's processes share tensors there; a container's own /dev/shm has 64 MiB.
_SHARED_MEMORY = {"name": "shared-memory", "emptyDir": {"medium": "Memory"}}


@dataclass(frozen=True)
class Pod:
    """The user's settings of the pods.

    Attributes:
        image: Image with evalprep and the engine.
        claim: Name of the volume claim that holds the project.
        mount: Where it is mounted.
    """

    image: str
    claim: str
    mount: str


def read_pod(words: Sequence[str]) -> Pod:
    """Reads `image=NAME` and `claim=NAME:PATH`.

    Raises:
        BadInput: one that is missing or wrong, or another name; all at once.

    >>> read_pod(["image=registry/evalprep:1", "claim=project:/work"])
    Pod(image='registry/evalprep:1', claim='project', mount='/work')
    """
    values = dict(word.partition("=")[::2] for word in words)
    problems = Problems()
    for name in sorted(set(values) - {"image", "claim"}):
        problems.add(f"--kubernetes {name}", allowed="image=NAME,claim=NAME:PATH")
    if not values.get("image"):
        problems.add("--kubernetes: image is missing", fix="image=NAME, with evalprep and vLLM")
    claim, _, mount = values.get("claim", "").partition(":")
    if len(claim) > 63 or not _DNS_NAME.fullmatch(claim) or not mount.startswith("/"):
        mistake = f"claim={values['claim']}" if "claim" in values else "claim is missing"
        problems.add(
            f"--kubernetes: {mistake}",
            allowed="claim=NAME:PATH, the volume claim and the absolute folder of its mount",
        )
    problems.raise_if_any()
    return Pod(values["image"], claim, mount)


_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def kubernetes_files(work: Workload, pod: Pod) -> dict[str, str]:
    """Name -> content of the files; the script to start comes last."""
    files: dict[str, str] = {}
    for stage in range(1, work.stages + 1):
        shard = f"{work.run} $((JOB_COMPLETION_INDEX + 1))/{work.shards}"
        indexed = {
            "completions": work.shards,
            "parallelism": work.shards,
            "completionMode": "Indexed",
            "backoffLimit": 3 * work.shards,
        }
        parts: dict[str, tuple[str, int, dict[str, Any]]] = {
            f"shards-{stage}": (shard, work.gpus, indexed),
            f"merge-{stage}": (work.merge, 0, {"backoffLimit": 3}),
        }
        for name, (line, gpus, spec) in parts.items():
            template = _template(_script(line), pod, gpus)
            job = _job(f"{work.name}-{name}", {**spec, "template": template})
            files[f"{name}.yaml"] = yaml.safe_dump(job, sort_keys=False, width=1000)
    files[SUBMIT] = _submit(work)
    return files


def _script(line: str) -> str:
    first = line.split(" ", 1)[0]
    return f"exec env {line}" if "=" in first else f"exec {line}"


def _job(name: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "evalprep"}},
        "spec": dict(spec),
    }


def _template(script: str, pod: Pod, gpus: int) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": "evalprep",
        "image": pod.image,
        "command": ["sh", "-c", script],
        # A path of the container alone.
        "env": [{"name": "HF_DATASETS_CACHE", "value": "/tmp/evalprep"}],  # noqa: S108
        "volumeMounts": [
            {"name": "project", "mountPath": pod.mount},
            {"name": _SHARED_MEMORY["name"], "mountPath": "/dev/shm"},  # noqa: S108 - a mount point
        ],
    }
    if gpus:
        container["resources"] = {"limits": {_GPU: gpus}}
    return {
        "metadata": {"labels": {"app.kubernetes.io/name": "evalprep"}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": _GRACE_SECONDS,
            "containers": [container],
            "volumes": [
                {"name": "project", "persistentVolumeClaim": {"claimName": pod.claim}},
                dict(_SHARED_MEMORY),
            ],
        },
    }


def _submit(work: Workload) -> str:
    lines = ["#!/bin/sh", "set -eu", 'cd "$(dirname "$0")"']
    for stage in range(1, work.stages + 1):
        for name in (f"shards-{stage}", f"merge-{stage}"):
            lines += [
                f"kubectl delete --ignore-not-found -f {name}.yaml",
                f"kubectl apply -f {name}.yaml",
                f"kubectl wait --for=condition=complete --timeout=-1s job/{work.name}-{name}",
            ]
    return "\n".join([*lines, ""])
