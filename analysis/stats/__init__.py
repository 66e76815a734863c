"""The statistics behind the tables, as pure functions; docs/statistics.md explains them."""
