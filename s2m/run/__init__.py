"""The run folder: who a run is, what it has measured, where it can go on, and who may write."""
