"""Many trainings, one runner: `--seeds`, `--sweep` and `--population`.

A source (`seeds.py`, `trials.py`, `population.py`) hands out jobs and takes their reports; its protocol is `Source` in
`job_runner.py`. The runner there lets workers do the jobs. Workers are the processes of `job_workers.py`, here or on a
cluster, and `jobs.py` is what runs inside them. `search.py` suggests the settings of a sweep, `sweep_file.py` keeps
`sweep.json`.
"""
