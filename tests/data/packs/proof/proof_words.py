def has_word(text):
    return any(part.isalpha() for part in text.split())
