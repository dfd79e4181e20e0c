"""One chain on disk: entries, segments, appends, opening, forgetting."""
