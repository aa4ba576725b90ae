"""A selection of accounting entries → what is ready → batches → a plan. Pure: frames in, frames out."""

from bktools.export.compose import compose_export_jobs
from bktools.export.plan import ExportPlan

__all__ = ["ExportPlan", "compose_export_jobs"]
