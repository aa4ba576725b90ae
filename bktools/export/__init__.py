"""Composes a plan of export jobs from accounting entries: selection, checks, batches. It sends nothing."""

from bktools.export.compose import compose_export_jobs
from bktools.export.plan import ExportPlan

__all__ = ["ExportPlan", "compose_export_jobs"]
