"""The HTTP client: `Service` has one method for each of the six operations of the interface."""

from bktools.service.service import Service

__all__ = ["Service"]
