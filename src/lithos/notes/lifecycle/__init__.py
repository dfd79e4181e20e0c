"""The note lifecycle: status, decay, promotion, feedback, near duplicates."""
