"""Tools of the user's own: files in the `tools` folder of the home.

They are code that the user has put there: it runs inside this program, and nobody is asked about that. What it does
through `ctx` passes the gates like everything else. Nothing is ever loaded from a workspace.
"""
