"""Runs whose points are evaluated elsewhere, by their 0.1 path; see `szoht.run.external`."""

from szoht.run.external import *  # noqa: F403
