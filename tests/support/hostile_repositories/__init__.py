"""A corpus of hostile repositories: each has a program run when it is opened with tools that trust it."""

from tests.support.hostile_repositories import around, git_layouts, git_settings, odd_files  # noqa: F401 - each adds kinds
from tests.support.hostile_repositories.site import KINDS, Kind, Site, make_site, make_template

__all__ = ["KINDS", "Kind", "Site", "make_site", "make_template"]
