"""Tools of messages: `sending` and `inbox`."""
