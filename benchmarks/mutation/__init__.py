"""Do the tests notice when the code is wrong? See `__main__.py`."""
