"""Commands that measure: speed and accuracy, each run as `python -m benchmarks.NAME`."""
