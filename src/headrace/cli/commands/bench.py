"""x"""


def register(app): ...
