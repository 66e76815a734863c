"""What a person looks at: the survey of runs, their output, the HTML page, checks of a machine.

May import `cluster`, `tracking`, and `robot`.
"""
