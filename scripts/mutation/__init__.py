"""Mutation testing (`make mutation`): which changes of the pure modules no test notices.

mutmut makes the mutants and finds out which tests reach them; its settings are `[tool.mutmut]` in pyproject.toml.
The mutants are then tried here: a process of pytest that has collected everything once is forked for each, which
takes milliseconds, where mutmut's own way collects anew each time. Verdicts are kept where `mutmut show` and
`mutmut browse` look for them.
"""
