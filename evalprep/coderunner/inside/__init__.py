"""The code that runs inside a room.

Its sources are sent into the room, where nothing of evalprep can be imported.

A module of this package imports only the standard library and modules of this package that are sent
before it.
"""
