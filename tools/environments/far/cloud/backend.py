"""What the backends of services have in common."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

from tools.environments.backends import Elsewhere, Wanted
from tools.environments.far.cloud.machine import CloudMachine
from tools.environments.far.cloud.port import Cloud
from tools.environments.far.making import experimental, side_of, with_places_there
from tools.errors import CommandError, install_line
from tools.light_dataclass import dataclass

_MEGABYTES_OF_A_GIGABYTE = 1024
_LIFETIME = 3600


@dataclass(frozen=True, slots=True)
class Terms:
    """On which a service makes sandboxes.

    Attributes:
        image: '' for the service's own.
        lifetime: seconds after which a sandbox ends in any case.
        cpus: processors; `memory` in megabytes. None: as the service has it.
    """

    image: str = ""
    has_network: bool = False
    lifetime: int = _LIFETIME
    cpus: float | None = None
    memory: int | None = None

    @property
    def minutes(self) -> int:
        """The lifetime, rounded up."""
        return -(-self.lifetime // 60)

    @property
    def whole_cpus(self) -> int | None:
        """Processors for a service that knows only whole ones."""
        return None if self.cpus is None else max(1, round(self.cpus))

    @property
    def gigabytes(self) -> int | None:
        """Memory for a service that knows only these, rounded up."""
        return None if self.memory is None else -(-self.memory // _MEGABYTES_OF_A_GIGABYTE)


def terms_of(options: Mapping[str, Any], backend: str) -> Terms:
    """What the settings say."""
    return Terms(
        image=str(options.get(f"{backend}_image") or ""),
        has_network=options.get("container_network") == "open",
        lifetime=int(options.get("container_lifetime") or _LIFETIME),
        cpus=options.get("container_cpu"),
        memory=options.get("container_memory"),
    )


def cloud_backend(backend: str, make: Callable[[Terms], Cloud]) -> Callable[[Wanted], Elsewhere]:
    """The factory of a backend.

    Args:
        make: of the service. Raises CommandError where its SDK is not installed.
    """

    def factory(wanted: Wanted) -> Elsewhere:
        cloud = make(terms_of(wanted.options, backend))
        side = side_of(CloudMachine(cloud, wanted.rescue), wanted)
        return with_places_there(
            backend,
            side,
            wanted,
            f"it runs in a sandbox of {cloud.title}, whose walls are the service's and not this program's",
            start=str(wanted.options.get("cwd") or ""),
            note=experimental(backend, "the service"),
        )

    return factory


def need(module: str, backend: str) -> None:
    """See that an SDK is installed, without the second that it takes to load.

    Raises:
        CommandError: it is not.
    """
    if importlib.util.find_spec(module) is None:
        raise CommandError(
            f"terminal.backend is {backend}, and the SDK of that service is not installed. Install it with: "
            f"{install_line(backend)}"
        )


def loaded(module: str) -> Any:
    """An SDK, or a module of it, loaded when it is first used."""
    return importlib.import_module(module)
