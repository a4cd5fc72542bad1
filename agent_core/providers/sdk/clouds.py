"""Addresses of models in the big clouds, made of the region, project or resource that the environment names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

_VERTEX = "https://aiplatform.googleapis.com/v1"
_VERTEX_PATH = re.compile(r"^(?P<root>.*?)/projects/(?P<project>[^/]+)/locations/(?P<region>[^/]+)/?$")
# https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations: one place, or all places of a continent.
_VERTEX_HOST = re.compile(
    r"(?:(?P<place>[a-z0-9-]+)-aiplatform\.googleapis\.com|aiplatform\.(?P<all>us|eu)\.rep\..*)"
)
_CONTINENTS = ("us", "eu")


class VertexPlace(NamedTuple):
    """Where on Google Cloud a model is asked.

    Attributes:
        root: the address up to the version.
        project: '' where only the sign-in knows it.
    """

    root: str
    project: str
    region: str

    @property
    def address(self) -> str:
        """All of it as one address."""
        if not self.project:
            return self.root
        return f"{self.root}/projects/{self.project}/locations/{self.region}"


def cloud_address(provider: str, environ: Mapping[str, str]) -> str:
    """The address that the environment gives for a provider in a cloud; '' for others, and where it gives none."""
    match provider:
        case "bedrock" | "anthropic-bedrock":
            region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
            return f"https://bedrock-runtime.{region}.amazonaws.com" if region else ""
        case "anthropic-vertex":
            project = environ.get("ANTHROPIC_VERTEX_PROJECT_ID") or environ.get("GOOGLE_CLOUD_PROJECT") or ""
            region = environ.get("CLOUD_ML_REGION") or "global"
            return VertexPlace(_vertex_root(region), project, region).address
        case "anthropic-foundry":
            resource = environ.get("ANTHROPIC_FOUNDRY_RESOURCE")
            return f"https://{resource}.services.ai.azure.com/anthropic" if resource else ""
    return ""


def vertex_place(base_url: str) -> VertexPlace:
    """What an address of Vertex AI says, `ROOT/projects/PROJECT/locations/REGION` or its root alone."""
    if whole := _VERTEX_PATH.match(base_url):
        return VertexPlace(whole["root"], whole["project"], whole["region"])
    host = _VERTEX_HOST.fullmatch(urlsplit(base_url).hostname or "")
    return VertexPlace(base_url, "", (host["place"] or host["all"]) if host is not None else "global")


def _vertex_root(region: str) -> str:
    if region == "global":
        return _VERTEX
    if region in _CONTINENTS:
        return f"https://aiplatform.{region}.rep.googleapis.com/v1"
    return f"https://{region}-aiplatform.googleapis.com/v1"
