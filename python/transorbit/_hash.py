"""Hashes, by which contents are told apart."""

from __future__ import annotations

import hashlib


def sha256(contents: str | bytes) -> str:
    """The SHA-256 of contents, a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(contents.encode() if isinstance(contents, str) else contents).hexdigest()
