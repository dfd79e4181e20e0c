"""What four audits found (issue 15): one test per behaviour, through the public ways in."""
