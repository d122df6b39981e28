"""How fast Jackalope is on this machine. Run as `python -m bench`; nothing here is tested against a limit."""
