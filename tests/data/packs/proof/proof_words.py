def has_word(text, word):
    return word in text.split()
