"""One conversation with the service over HTTP: `Service`, with the six operations one to one."""

from bktools.service.service import Service

__all__ = ["Service"]
