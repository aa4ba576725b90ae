"""The sign of an amount by the word beside it: debit or credit."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from bktools.inputs import cells
from bktools.inputs.table import Table

# One letter or a word, as languages have it; compared without case and full stops.
_DEBIT = "d dr debit debits debet debito débito debe dare dt s soll wn winien md t tartozik b borç д дт дебет χ"
_CREDIT = "c cr credit credits crédit credito crédito h haben haber k kr kredit a avere ma ct követel alacak dal к кт кредит π"
DEBIT, CREDIT = frozenset(_DEBIT.split()), frozenset(_CREDIT.split())
# In Czech and Slovak books, D (dal) is the credit beside MD (má dáti).
_BESIDE_CREDIT_D = "md"


def signs(table: Table, place: int) -> pa.ChunkedArray:
    """Return 1 for debit and -1 for credit, null where a cell is empty.

    Raises
    ------
    InputError
        When a cell says neither.
    """
    words = pc.utf8_lower(pc.replace_substring(cells.or_null(cells.trimmed(table.columns[place])), ".", ""))
    d_is_credit = pc.any(pc.equal(words, _BESIDE_CREDIT_D)).as_py()
    debit, credit = (DEBIT - {"d"}, CREDIT | {"d"}) if d_is_credit else (DEBIT, CREDIT)
    is_debit = pc.is_in(words, pa.array(sorted(debit), words.type))
    is_credit = pc.is_in(words, pa.array(sorted(credit), words.type))
    neither = pc.and_(pc.is_valid(words), pc.invert(pc.or_(is_debit, is_credit)))
    cells.refuse(table, place, cells.mask(neither), "must say debit or credit, such as D and C, S and H")
    return pc.if_else(pc.is_null(words), pa.scalar(None, pa.int8()), pc.if_else(is_debit, 1, -1).cast(pa.int8()))
