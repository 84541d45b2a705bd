#!/bin/sh
# Measures on a GPU, in at most a quarter of an hour of it, and keeps what is printed in a folder:
#
#     sh benchmarks/on_gpu.sh FOLDER [small]
#
# 1. the printed command beside bare vllm.LLM.generate, 2,000 prompts of the shape of an 8B model
# 2. `check --estimate` beside the clock
# 3. prefix caching on and off, prompts of five examples
#
# Where vLLM does not start, the first step is done with `--model hf` on the demo model. `small`
# takes few prompts and the shape of the demo model, to try the script on a CPU. WHEELS names a
# folder of packages that are installed first, without network; PYTHON the interpreter; LIMIT the
# seconds that one start of an engine may take with its work (200). A cold start of an 8B shape
# takes about 130 s. It was tried on a CPU alone: no figure of a GPU comes from it yet.
set -u
cd "$(dirname "$0")/.." || exit 2
kept=${1:?the folder for what is printed}
size=${2:-whole}
python=${PYTHON:-python3}
limit=${LIMIT:-200}
mkdir -p "$kept" || exit 2
kept=$(cd "$kept" && pwd)
export HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1

if [ -n "${WHEELS:-}" ]; then
    "$python" -m pip install --no-index --find-links "$WHEELS" --quiet vllm lm_eval xgrammar \
        apache-tvm-ffi==0.1.15.post2 || echo "packages of $WHEELS could not all be installed"
fi
# Without flashinfer, vLLM samples by PyTorch.
"$python" -c "import flashinfer" 2>/dev/null || export VLLM_USE_FLASHINFER_SAMPLER=0

if [ "$size" = small ]; then
    overhead="--short --shape 135m"
    estimate="--shape 135m --rows 8 --reply 8"
    caching="--shape 135m --prompts 4 --reply 4"
else
    overhead="--shape 8b"
    estimate="--shape 8b"
    caching="--shape 8b"
fi

# step NAME STARTS COMMAND...: runs a command as long as its starts of an engine may take.
step() {
    name=$1
    seconds=$(($2 * limit))
    shift 2
    echo "== $name, at most $seconds s: $*"
    timeout "$seconds" "$@" >"$kept/$name.txt" 2>&1
    code=$?
    tail -n 12 "$kept/$name.txt"
    echo "$name: exit code $code"
    return $code
}

{
    date
    nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv 2>/dev/null || echo "no GPU"
    "$python" -m pip list 2>/dev/null | grep -i -E "^(torch|vllm|lm.eval|transformers|xgrammar) "
} >"$kept/machine.txt"
cat "$kept/machine.txt"

if "$python" -c "import vllm" 2>"$kept/vllm.txt"; then
    # shellcheck disable=SC2086 # words of one option each
    step overhead 2 "$python" -m benchmarks.command_overhead $overhead
    # shellcheck disable=SC2086
    step estimate 1 "$python" -m benchmarks.estimate $estimate
    # shellcheck disable=SC2086
    step caching 2 "$python" -m benchmarks.prefix_caching $caching
else
    echo "vLLM does not import here: see $kept/vllm.txt; the demo model in transformers instead"
    step overhead 2 "$python" -m benchmarks.command_overhead --short
fi
