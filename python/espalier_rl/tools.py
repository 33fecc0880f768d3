"""Tools in Python: functions with type hints, whose JSON Schema is derived from them, served to an Espalier installation.

    @tool
    def add(a: int, b: Annotated[int, "The second number"] = 1) -> str:
        "Adds two numbers."
        return str(a + b)

    espalier collect --environment 'tool-env:tools=./my_tools.py#add;tasks=tasks.jsonl' …
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Any, TypeVar

from .json_server import Refused, json_server, text_of
from .own_code import digest_of
from .pictures import is_image, picture_texts
from .serving import load_module

PROTOCOL = "espalier-tools/1"


class ToolUnavailable(Exception):
    """What the tool itself asks does not answer: the rollout is left open for a resume, and its policy has no part in it."""


Function = TypeVar("Function", bound=Callable[..., Any])


def tool(function: Function) -> Function:
    """Marks a function as a tool: its name, its docstring and its type hints are what a model is shown. Raises TypeError for a hint that
    JSON Schema has no word for. The function returns a text, or {"content", "success", "reward"}."""
    vars(function)["__espalier_tool__"] = {
        "name": function.__name__,
        "description": inspect.cleandoc(function.__doc__ or "").split("\n\n")[0] or function.__name__,
        "parameters": schema_of(function),
    }
    return function


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the JSON Schema of a function's arguments. Raises TypeError."""
    hints = typing.get_type_hints(function, include_extras=True)
    properties, required = {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: {parameter} cannot be an argument of a tool; give it a name of its own")
        properties[name] = _schema(hints.get(name, str), f"{function.__name__}.{name}")
        if parameter.default is parameter.empty:
            required.append(name)
        elif parameter.default is not None:
            properties[name]["default"] = parameter.default
    return {"type": "object", "properties": properties, "required": required}


PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", dict: "object", list: "array"}


def _schema(hint: Any, place: str) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        described = [extra for extra in arguments[1:] if isinstance(extra, str)]
        return _schema(arguments[0], place) | ({"description": described[0]} if described else {})
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        inner = [_schema(each, place) for each in arguments if each is not type(None)]
        return inner[0] if len(inner) == 1 else {"anyOf": inner}
    if origin in (list, tuple, set):
        return {"type": "array", "items": _schema(arguments[0], place)}
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(arguments[1], place)}
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    raise TypeError(f"{place} has the type {hint!r}; use str, int, float, bool, list, dict, Literal, or Annotated with one of them")


def make_tool_server(functions: Any, *, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """Returns an HTTP server of tools by the protocol `espalier-tools/1`, bound and not running yet."""
    tools = {function.__espalier_tool__["name"]: function for function in functions}
    if len(tools) < len(functions) or not tools:
        raise ValueError("name each tool once, and at least one" if tools else "there is no tool: mark functions by @tool")
    digest = digest_of({inspect.getfile(function) for function in functions})

    def call(asked: dict[str, Any]) -> dict[str, Any]:
        function = tools.get(text_of(asked, "tool"))
        if function is None:
            raise Refused(404, "invalid", f"there is no tool {asked['tool'][:80]!r}; there are {', '.join(tools)}")
        arguments = asked.get("arguments")
        if not isinstance(arguments, dict):
            raise Refused(400, "invalid", "arguments must be an object")
        try:
            said = function(**arguments)
        except ToolUnavailable as away:
            raise Refused(503, "backend", str(away)) from away
        except Exception as error:  # a call that fails is shown to the model
            return {"content": f"{type(error).__name__}: {error}", "success": False}
        if is_image(said):
            said = {"content": "", "pictures": [said]}
        if isinstance(said, dict) and "content" in said:
            return {"content": str(said["content"]), **{key: said[key] for key in ("success", "reward") if key in said}, **_pictures(said)}
        return {"content": said if isinstance(said, str) else json.dumps(said, default=str)}

    described = [function.__espalier_tool__ for function in tools.values()]
    shown = {"/tools": {"protocol": PROTOCOL, "fingerprint": digest, "tools": described}}
    return json_server(shown, {"/call": call}, name="a tool", host=host, port=port)


def _pictures(said: Any) -> dict[str, Any]:
    pictures = picture_texts(said.get("pictures") or [])
    return {"pictures": pictures} if pictures else {}


def load_tools(place: str) -> list[Callable[..., Any]]:
    """Returns the tools of `FILE.py[#NAME]`: the one named, or all that are marked by `tool`. Raises ValueError."""
    module, path, name = load_module(place)
    marked = {key: value for key, value in vars(module).items() if hasattr(value, "__espalier_tool__")}
    if name and name not in marked:
        raise ValueError(f"{path} marks {', '.join(marked) or 'no function'} by @tool, and not {name}")
    return [marked[name]] if name else list(marked.values())
