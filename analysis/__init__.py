"""From run folders to tables, statistics, figures and a report; start with make_tables.py."""
