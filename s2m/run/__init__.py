"""The run folder: what a run is, what it has measured, where it can resume, and who may write."""
