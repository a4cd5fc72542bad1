"""What the agent can do: one file per tool, each registering itself in `tools.registry`.

Nothing here knows the model, the conversation or the editor. A tool sees the world through the ports of
`tools.context.ToolContext`, and those ports are gates: they ask `tools.approval` before any effect.
"""
