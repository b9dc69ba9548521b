"""A model that is no preset: a checkpoint's configuration on disk."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Optional, Union


def _hub_folders() -> "list[str]":
    """Where Hugging Face's libraries keep what they have downloaded."""
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface")
    folders = [os.environ.get("HF_HUB_CACHE"), os.environ.get("HUGGINGFACE_HUB_CACHE"), os.path.join(home, "hub")]
    return [folder for folder in folders if folder]


class Model:
    """A model as the library understands it. ``foretrain.predict`` and its like take it as ``model``."""

    def __init__(self, request: Any, described: Mapping[str, Any]) -> None:
        self._request, self._described = request, dict(described)

    @classmethod
    def from_pretrained(cls, source: Union[str, "os.PathLike[str]", Mapping[str, Any], Any],
                        session: Optional[Any] = None) -> "Model":
        """Reads a Hugging Face configuration; nothing is downloaded.

        ``source`` is a folder with a config.json, the path of one, its content as a dict, a configuration object of
        transformers (anything with ``to_dict()``), or a name such as "meta-llama/Llama-3.1-8B" whose files are in the
        hub's cache on this disk.
        """
        from ._session import default_session
        if hasattr(source, "to_dict"):
            source = source.to_dict()
        if isinstance(source, Mapping):
            request: Any = {"name": source.get("_name_or_path") or "config.json", "text": json.dumps(dict(source))}
        else:
            request = cls._on_disk(os.fspath(source))
        described = (session or default_session()).show("model", request)
        return cls(request, described.data)

    @staticmethod
    def _on_disk(path: str) -> str:
        """The path of what a name leads to."""
        if os.path.exists(path):
            return os.path.abspath(path)
        for folder in _hub_folders():
            cached = os.path.join(folder, "models--" + path.replace("/", "--"))
            if os.path.isdir(cached):
                return cached
        return path  # a preset, or an error that says what is known

    @property
    def config(self) -> Dict[str, Any]:
        """The model as a model file of Foretrain's would describe it (docs/formats/model.md)."""
        return dict(self._described)

    @property
    def name(self) -> str:
        return self._described["name"]

    @property
    def parameters(self) -> int:
        return self._described["parameters"]

    @property
    def active_parameters(self) -> int:
        """That a token passes through; less than all where there are experts."""
        return self._described["active_parameters"]

    def _as_request(self) -> Any:
        return self._request

    def __repr__(self) -> str:
        d = self._described
        active = f" ({d['active_parameters'] / 1e9:.3g} B active)" if d["active_parameters"] != d["parameters"] else ""
        return (f"Model({d['name']!r}: {d['parameters'] / 1e9:.3g} B parameters{active}, {d['layers']} layers, "
                f"hidden {d['hidden']})")
