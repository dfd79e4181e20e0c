"""The host process: connections, fair queue, control, start and stop."""
