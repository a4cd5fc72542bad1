"""What turns, model requests and tool calls take, told to whoever collects traces (OpenTelemetry); off by default."""
