"""The tables: their content, and how they are written as LaTeX, Markdown, HTML and CSV."""
