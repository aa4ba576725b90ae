"""Flags in the words of ERPs: archived, active, approved."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from bktools.frames import schema
from bktools.inputs import cells
from bktools.inputs.columns import leave_out
from bktools.inputs.table import Table


def _words(text: str) -> frozenset[str]:
    return frozenset(word.strip() for word in text.casefold().split("|"))


YES = _words("yes|y|true|t|1|x|✓|✔|on|ja|j|wahr|oui|o|vrai|sí|si|s|verdadero|waar|sant|sand|sann|tak|prawda|sì|vero")
NO = _words("no|n|false|f|0|-|✗|off|nein|falsch|non|faux|falso|nee|onwaar|nej|falskt|falsk|nei|usann|nie|fałsz")
ACTIVE = _words(
    "active|enabled|open|in use|aktiv|offen|freigegeben|actif|active|ouvert|activo|activa|abierta|actief|in gebruik"
    "|aktivt|i bruk|i brug|aktywne|aktywny|aktywna|attivo|attiva"
)
ARCHIVED = _words(
    "archived|inactive|blocked|disabled|deleted|closed|hidden|archiviert|gesperrt|inaktiv|gelöscht|geschlossen"
    "|stillgelegt|deaktiviert|archivé|inactif|bloqué|désactivé|fermé|archivado|archivada|inactivo|inactiva|bloqueado"
    "|bloqueada|cerrado|cerrada|gearchiveerd|inactief|geblokkeerd|vervallen|arkiverad|inaktivt|spärrad|spärrat"
    "|avslutad|arkiveret|spærret|lukket|arkivert|sperret|avsluttet|zarchiwizowane|zarchiwizowany|zablokowane"
    "|zablokowany|nieaktywne|nieaktywny|nieaktywna|archiviato|inattivo|inattiva|bloccato|chiuso"
)
APPROVED = _words(
    "approved|genehmigt|freigegeben|approuvé|approuvée|validé|validée|aprobado|aprobada|goedgekeurd|godkänd|godkänt"
    "|attesterad|godkendt|godkjent|zatwierdzone|zatwierdzony|zatwierdzona|approvato|approvata"
)


def archived(table: Table, places: Mapping[str, int]) -> pa.ChunkedArray:
    """Return which rows are archived: by the archived column, the active column, or either; without one none is."""
    found = [
        _meant(table, places[field], field, dict.fromkeys(YES, yes) | dict.fromkeys(NO, not yes))
        for field, yes in (("archived", True), ("active", False))
        if field in places
    ]
    if not found:
        return cells.constant(False, schema.FLAG, len(table.lines))
    return found[0] if len(found) == 1 else pc.or_(*found)


def _meant(table: Table, place: int, field: str, meaning: Mapping[str, bool]) -> pa.ChunkedArray:
    known = {"": False, **meaning} | dict.fromkeys(ACTIVE, False) | dict.fromkeys(ARCHIVED, True)
    words = pc.dictionary_encode(cells.trimmed(table.columns[place])).combine_chunks()
    values = pa.array([known.get(word.casefold()) for word in words.dictionary.to_pylist()], type=schema.FLAG)
    result = pa.chunked_array([pc.take(values, words.indices)])
    rule = f"must say yes or no, active or archived in a known word (correct it, or leave the column out: {leave_out(field)})"
    cells.refuse(table, place, cells.mask(pc.is_null(result)), rule)
    return result


def approved(table: Table, place: int, *, headed_approved: bool) -> pa.ChunkedArray:
    """Return which rows say that they are approved; in a column headed approved a yes says so, too."""
    known = APPROVED | YES if headed_approved else APPROVED
    words = pc.dictionary_encode(cells.trimmed(table.columns[place])).combine_chunks()
    values = pa.array([word.casefold() in known for word in words.dictionary.to_pylist()], type=schema.FLAG)
    return pa.chunked_array([pc.take(values, words.indices)])
