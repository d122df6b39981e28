"""Who renders what: worker processes and what is already done."""
