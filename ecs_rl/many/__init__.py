"""Many trainings, one runner: `--seeds`, `--sweep` and `--population`.

A source (`seeds.py`, `trials.py`, `population.py`) hands out jobs and takes their reports. `runner.py` lets workers do
the jobs, `workers.py` are the processes here or on a cluster, and `jobs.py` is what runs inside them. A source has the
methods `next`, `take`, `said` and `lost`; how settings are found is in `search.py`, and `sweep.json` in `record.py`.
"""
