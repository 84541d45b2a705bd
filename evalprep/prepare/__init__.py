"""Config and packs -> work_dir: selection, task files, rendering, the work folder, commands."""
