# Two copies of a model on Ray, on a machine without GPUs; beside eval_config.yaml.
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_ENABLE_V1_MULTIPROCESSING=0   # workers inherit these
export RAY_AUTH_MODE=disabled    # ignore a token that an earlier run left in ~/.ray (EP728)
ray start --head --node-ip-address=127.0.0.1 --port=6391 --num-gpus=2 --num-cpus=2 --include-dashboard=false \
  --disable-usage-stats
export RAY_ADDRESS=127.0.0.1:6391
python prepare_eval.py --set data_parallel_size=2 && sh work_dir/command.sh
ray stop                         # ends every Ray node of yours on this machine
