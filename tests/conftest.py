"""What every test may use: the project's folder, shared data where it is mounted, tiny models, and no network."""

import gc
import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests import PROJECT_ROOT
from tests.effort import FULL, examples

# Machines differ in speed by more than any deadline, and one commit gives one result.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=examples(100))
settings.register_profile("full", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("full" if FULL else "quick")

#: Files that take over 20 s, by their time in a full run; the order of the others matters little.
LONGEST = (
    "test_whole_way.py",  # the longest of a quick run
    "evalprep/run/test_replies.py",
    "evalprep/properties/test_verbs.py",
    "packs/unlearning/test_end_to_end.py",
    "packs/unlearning/test_checkpoints.py",
    "docs/test_ten_tasks.py",
    "evalprep/run/test_cluster.py",
    "test_oracle.py",
    "test_faults.py",
    "packs/meta/test_data_parallel.py",
    "evalprep/coderunner/test_forgeries.py",
    "test_wheel.py",
    "evalprep/run/test_stages_killed.py",
    "evalprep/results/test_damage.py",
    "packs/compliance/test_end_to_end.py",
    "hostile/test_time.py",
    "packs/meta/test_runs.py",
    "evalprep/run/test_end.py",
    "evalprep/run/test_identity.py",
    "evalprep/run/test_kill.py",
    "evalprep/annotate/test_signed.py",
    "evalprep/verbs/test_edited_run.py",
    "evalprep/run/test_launcher.py",
    "evalprep/data/test_layouts.py",
    "evalprep/prepare/test_rows_per_file.py",
    "evalprep/properties/test_orders.py",
    "packs/fm/test_end_to_end.py",
    "packs/science/test_end_to_end.py",
    "evalprep/run/test_shards.py",
    "evalprep/verbs/test_meant_and_logged.py",
    "evalprep/coderunner/test_attacks.py",
)

_caches = pytest.StashKey[tempfile.TemporaryDirectory]()


def pytest_configure(config):
    # Set before any test module is imported: the Hugging Face libraries read these once, on import.
    config.stash[_caches] = tempfile.TemporaryDirectory(prefix="evalprep-tests-")
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_DATASETS_CACHE"] = config.stash[_caches].name
    os.environ["EVALPREP_STATE"] = str(Path(config.stash[_caches].name) / "state")
    os.environ["EVALPREP_CACHE"] = str(Path(config.stash[_caches].name) / "cache")
    # Preparations of tests are checked through lm-eval where that is what is tested.
    os.environ["EVALPREP_QUICK_CHECK"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    # Threads that wait for each other in a tiny model take four times the CPU of one, and more where
    # another worker has the core.
    os.environ["OMP_NUM_THREADS"] = "1"
    # Each of some thousand processes would compile the project anew. With a folder of their own for
    # bytecode they would also compile the installed packages, which `make setup` has compiled.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if FULL and "EVALPREP_TESTS_INDEX" not in os.environ:
        os.environ["EVALPREP_TESTS_INDEX"] = str(Path(config.stash[_caches].name) / "index.pickle")
        paths = [str(PROJECT_ROOT / "tests" / "quick_index"), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    # A shell without job control starts background jobs with Ctrl-C ignored, and their children
    # inherit that; the tests of interruption need it to arrive.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    # Over several processes files are handed out in this order: the long ones first, so that none
    # is left to run alone.
    if not hasattr(config, "workerinput"):
        return
    longest = {PROJECT_ROOT / "tests" / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: longest.get(item.path, len(longest)))


def pytest_collection_finish():
    # The tests and the libraries stay: no collection of garbage needs to visit a million objects.
    # hypothesis counts the seconds of each of the many small ones, a tenth of all in all.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_unconfigure(config):
    config.stash[_caches].cleanup()


@pytest.fixture(scope="session", autouse=True)
def _shipped_packs():
    from tests.shipped import read_pack_once

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evalprep.packs.finding.read_pack", read_pack_once)
        yield


@pytest.fixture(scope="session")
def project_root():
    return PROJECT_ROOT


@pytest.fixture(scope="session")
def shared():
    """Data that lies beside a checkout and is no part of it: `../shared`, or the folder EVALPREP_SHARED names."""
    folder = Path(os.environ.get("EVALPREP_SHARED", PROJECT_ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent; EVALPREP_SHARED may name the folder")
    return folder


@pytest.fixture(scope="module")
def quick_starts():
    """Commands that the tests of a module paste into a shell do their work in forks: see `tests.processes`."""
    from tests import processes

    with pytest.MonkeyPatch.context() as patch:
        for name, value in processes.quick_starts().items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    """A function from a text to the folder of a model that answers every prompt with it; "" gives random weights."""
    from environment.tiny_model import build

    built = {}

    def model(says=""):
        if says not in built:
            built[says] = build(tmp_path_factory.mktemp("tiny") / "tiny-model", says)
        return built[says]

    return model
