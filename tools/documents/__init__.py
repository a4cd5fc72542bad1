"""Documents as text: PDF, Word, Excel, PowerPoint, OpenDocument, notebooks.

What parses foreign formats runs in a process of its own under limits of time and memory; `extract.py` is its main.
"""
