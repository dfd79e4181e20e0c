"""When a receiver is unhealthy or dead: by heartbeats of hosts, and by ended leases of clients."""

BEAT_SECONDS = 10.0
UNHEALTHY_BEATS = 3  # missed
DEAD_BEATS = 6
UNHEALTHY_LEASES = 2  # ended in a row: a client cannot send heartbeats while its model thinks
