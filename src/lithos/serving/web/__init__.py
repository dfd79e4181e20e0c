"""The page for people. Kept empty: `visitors` is imported with every HTTP server, the rest by the first request."""
