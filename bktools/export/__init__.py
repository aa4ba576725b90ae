"""Composes a plan of export jobs from accounting entries: selection, checks, batches. Nothing is sent or written."""

from bktools.export.compose import compose_export_jobs
from bktools.export.plan import ExportPlan
from bktools.export.plan_file import read_export_plan

__all__ = ["ExportPlan", "compose_export_jobs", "read_export_plan"]
