def prepare(docs):
    return docs
