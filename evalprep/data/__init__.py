"""Sources, the hub, row files, the join with ground truth, and the prepared parquet files."""
