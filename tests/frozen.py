"""The last module that the fork server imports: no fork looks for garbage among what came before.

A collection in a fork would visit, and so copy, all objects of the libraries.
"""

import gc

gc.collect()
gc.freeze()
