"""Opens published environments by name, with options as they are written on a command line."""

import importlib
import importlib.util

# name: (module here, function there, what has to be installed)
PUBLISHED = {
    "scienceworld": ("scienceworld", "scienceworld", "scienceworld"),
    "babyai": ("babyai", "babyai", "minigrid"),
}
REMEDY = "pip install -r python/requirements-worlds.txt into a Python of its own, and name its interpreter by ESPALIER_WORLDS_PYTHON"


def open_published(name, options):
    """Returns the environment class of a name. `options` are texts by name. Raises ValueError that says what is wrong and what to do."""
    if name not in PUBLISHED:
        raise ValueError(f"there is no published environment {name!r}; there are {', '.join(PUBLISHED)}")
    module, function, package = PUBLISHED[name]
    if importlib.util.find_spec(package) is None:
        raise ValueError(f"{name} needs the package {package}, which this Python does not have: {REMEDY}")
    make = getattr(importlib.import_module(f".{module}", __package__), function)
    try:
        return make(**options)
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from error


def options_of(pairs):
    """Reads `KEY=VALUE` texts. Raises ValueError."""
    options = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key or key in options:
            raise ValueError(f"{pair!r} is no option KEY=VALUE, or is given twice")
        options[key] = value
    return options
