"""The tables: what stands in them, and how they are written as LaTeX, Markdown, HTML and CSV."""
