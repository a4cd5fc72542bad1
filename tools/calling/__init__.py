"""What happens around a call: arguments put right, hooks, long results, and which tool files there are."""
