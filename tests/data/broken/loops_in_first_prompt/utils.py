def prompt(doc):
    while True:
        pass
