"""What the verbs say of many run folders, kept in files; see `__main__`."""
