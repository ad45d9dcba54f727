"""Few-pixel attacks, by their 0.1 path; see `szoht.applications.attack`."""

from szoht.applications.attack import *  # noqa: F403
