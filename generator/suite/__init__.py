"""Suites of standard worlds: their declaration, their forms, making and verifying them."""
