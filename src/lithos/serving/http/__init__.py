"""HTTP: the application, its guard and its listener."""
