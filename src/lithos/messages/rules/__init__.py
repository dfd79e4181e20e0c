"""Rules of delivery, decided without I/O: limits, retries, circuit breakers, health and turns."""
