"""The schema of every setting, file for file as conf/, and how a command's words become a config.

Free of torch and simulators, so that commands which only read configs start at once. May import
`console`.
"""
