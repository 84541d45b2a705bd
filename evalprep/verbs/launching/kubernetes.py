"""Job files for Kubernetes: an indexed Job of shards, a Job that merges, and a script for both."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from evalprep.errors import Problems, near
from evalprep.verbs.launching.workload import (
    GRACE_SECONDS,
    SCRIPT_HEAD,
    SUBMIT,
    Workload,
    exec_line,
)

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
        namespace: Of the jobs; empty for that of the user's context.
        secret: Name of a secret whose entries become variables of the pods; empty for none.
        memory: Memory of a pod; empty for the cluster's own limit.
        selectors: Labels of the nodes, by key.
    """

    image: str
    claim: str
    mount: str
    namespace: str = ""
    secret: str = ""
    memory: str = ""
    selectors: Mapping[str, str] = field(default_factory=dict)


def read_pod(words: Sequence[str]) -> Pod:
    """Reads `image=NAME`, `claim=NAME:PATH`, and the settings that may be left out.

    Raises:
        BadInput: one that is missing or wrong, or another name; all at once.

    >>> read_pod(["image=registry/evalprep:1", "claim=project:/work", "memory=64Gi"]).memory
    '64Gi'
    """
    problems = Problems()
    values: dict[str, str] = {}
    selectors: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name not in _SETTINGS:
            what = f"--kubernetes {word}: unknown setting"
            problems.add(what, allowed=", ".join(_SETTINGS.values()), fix=near(name, _SETTINGS))
        elif name in values:
            problems.add(f"--kubernetes {word}: {name} is given twice", fix="keep one")
        elif name == "selector":
            key, _, label = value.rpartition(":")
            selectors[key] = label
        else:
            values[name] = value
    _check_pod(values, selectors, problems)
    problems.raise_if_any()
    claim, _, mount = values["claim"].partition(":")
    return Pod(
        image=values["image"],
        claim=claim,
        mount=mount,
        namespace=values.get("namespace", ""),
        secret=values.get("secret", ""),
        memory=values.get("memory", ""),
        selectors=selectors,
    )


def _check_pod(values: Mapping[str, str], selectors: Mapping[str, str], problems: Problems) -> None:
    """Every setting that Kubernetes would refuse, or that is missing."""
    if not values.get("image"):
        problems.add("--kubernetes: image is missing", fix="image=NAME, with evalprep and vLLM")
    claim, _, mount = values.get("claim", "").partition(":")
    if not _is_name(claim) or not mount.startswith("/"):
        mistake = f"claim={values['claim']}" if "claim" in values else "claim is missing"
        problems.add(
            f"--kubernetes: {mistake}",
            allowed="claim=NAME:PATH, the volume claim and the absolute folder of its mount",
        )
    for name in ("namespace", "secret"):
        if name in values and not _is_name(values[name]):
            allowed = f"{_SETTINGS[name]}: small letters, digits and -"
            problems.add(f"--kubernetes: {name}={values[name]}", allowed=allowed)
    if "memory" in values and not _MEMORY.fullmatch(values["memory"]):
        allowed = "memory=SIZE, such as 64Gi or 512Mi"
        problems.add(f"--kubernetes: memory={values['memory']}", allowed=allowed)
    for key, label in selectors.items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL.fullmatch(label):
            allowed = f"{_SETTINGS['selector']}, a label of nodes and its value"
            problems.add(f"--kubernetes: selector={key}:{label}", allowed=allowed)


def _is_name(text: str) -> bool:
    return len(text) <= 63 and _DNS_NAME.fullmatch(text) is not None


_SETTINGS = {
    "image": "image=NAME",
    "claim": "claim=NAME:PATH",
    "namespace": "namespace=NAME",
    "secret": "secret=NAME",
    "selector": "selector=KEY:VALUE",
    "memory": "memory=SIZE",
}
"""Name of a setting -> its form; a selector may be given several times."""
_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
)
_MEMORY = re.compile(r"[1-9]\d*(\.\d+)?([KMGTP]i?|k)?")


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
            template = _template(exec_line(line), pod, gpus)
            labels = {"app.kubernetes.io/name": "evalprep"}
            metadata: dict[str, Any] = {"name": f"{work.name}-{name}", "labels": labels}
            if pod.namespace:
                metadata["namespace"] = pod.namespace
            job = {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": metadata,
                "spec": {**spec, "template": template},
            }
            files[f"{name}.yaml"] = yaml.safe_dump(job, sort_keys=False, width=1000)
    kubectl = f"kubectl --namespace {pod.namespace}" if pod.namespace else "kubectl"
    lines = [*SCRIPT_HEAD, _WAIT.replace("KUBECTL", kubectl)]
    for name in (name.removesuffix(".yaml") for name in files):
        lines += [
            f"{kubectl} delete --ignore-not-found -f {name}.yaml",
            f"{kubectl} apply -f {name}.yaml",
            f"wait_for {work.name}-{name}",
        ]
    files[SUBMIT] = "\n".join([*lines, ""])
    return files


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
    if pod.secret:
        container["envFrom"] = [{"secretRef": {"name": pod.secret}}]
    resources: dict[str, Any] = {}
    if pod.memory:
        resources = {"requests": {"memory": pod.memory}, "limits": {"memory": pod.memory}}
    if gpus:
        resources["limits"] = {**resources.get("limits", {}), _GPU: gpus}
    if resources:
        container["resources"] = resources
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "containers": [container],
        "volumes": [
            {"name": "project", "persistentVolumeClaim": {"claimName": pod.claim}},
            dict(_SHARED_MEMORY),
        ],
    }
    if pod.selectors:
        spec["nodeSelector"] = dict(pod.selectors)
    return {"metadata": {"labels": {"app.kubernetes.io/name": "evalprep"}}, "spec": spec}


_WAIT = """\
# Waits until a job is complete or has failed, and ends the script where it failed.
wait_for() {
  while ! KUBECTL wait --for=condition=complete --timeout=20s "job/$1" 2>/dev/null; do
    if KUBECTL wait --for=condition=failed --timeout=1s "job/$1" 2>/dev/null; then
      echo "job $1 failed; its log: KUBECTL logs job/$1" >&2
      exit 1
    fi
    KUBECTL get "job/$1" >/dev/null
  done
}"""
