"""Where an agent may write and what a change must keep to: policy and lint."""
