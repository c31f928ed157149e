"""Certificates and passwords made for one test."""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass
from pathlib import Path

import bcrypt
import trustme


def hash_of(password: str, cost: int = 4) -> str:
    """The least cost that bcrypt has, unless another is wanted."""
    return bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost)).decode()


def basic(name: str, password: str) -> dict[str, str]:
    """The header that gives user and password."""
    text = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"authorization": f"Basic {text}"}


@dataclass
class Authority:
    """A CA that writes what it issues into a folder."""

    folder: Path
    name: str = "ca"

    def __post_init__(self) -> None:
        self._ca = trustme.CA()
        self.file = self.folder / f"{self.name}.pem"
        self._ca.cert_pem.write_to_path(self.file)

    def issue(self, name: str, *identities: str) -> tuple[Path, Path]:
        """Certificate and key, as files of that name; an older pair is replaced."""
        issued = self._ca.issue_cert(*(identities or ("127.0.0.1", "localhost")))
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(key)
        return cert, key

    def trusting(self, client: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        """A client's context that trusts this CA, with a certificate of its own if there is one."""
        context = ssl.create_default_context(cafile=self.file)
        if client is not None:
            context.load_cert_chain(*client)
        return context
