"""Suggests accounts for categories without one, by similar names. A person decides."""

from __future__ import annotations

import pandas as pd

from bktools.frames.schema import STRINGS

MOST = 3
# Names with a lower score are hardly similar. In the sample data, similar pairs score 70.6 and more
# (Versicherung and Versicherungen), unrelated pairs 67.5 and less (Messe and Kasse, Tanken and Bank,
# Mitarbeiteressen and Beiträge).
LEAST_SCORE = 70.0
SUGGESTION_COLUMNS = ["category_id", "company_id", "name", "external_id", "account_name", "score"]


def suggest(coverage: pd.DataFrame, actions: pd.DataFrame) -> pd.DataFrame:
    """Return up to three accounts for each active category without one, best first.

    No archived account is among them, and none that is to be archived.
    """
    from rapidfuzz import fuzz, process, utils

    open_ = coverage[(coverage["state"] == "no_account") & ~coverage["archived"] & coverage["name"].notna()]
    is_open = actions["archived"].eq(False) & (actions["action"] != "archive")
    usable = actions[is_open & actions["name"].notna()]
    usable = usable.sort_values(["company_id", "external_id"])
    rows = []
    for company, categories in open_.groupby("company_id"):
        accounts = usable[usable["company_id"] == company]
        # Process each name once: doing it for every category would take most of the time.
        names = [utils.default_process(name) for name in accounts["name"].tolist()]
        for category in categories.sort_values(["name", "category_id"]).to_dict("records"):
            wanted = utils.default_process(category["name"])
            likes = process.extract(wanted, names, scorer=fuzz.WRatio, limit=MOST, score_cutoff=LEAST_SCORE)
            for _, score, place in likes:
                account = accounts.iloc[place]
                rows.append(
                    (
                        category["category_id"],
                        company,
                        category["name"],
                        account["external_id"],
                        account["name"],
                        score,
                    )
                )
    frame = pd.DataFrame(rows, columns=SUGGESTION_COLUMNS)
    return frame.astype({**dict.fromkeys(SUGGESTION_COLUMNS[:-1], STRINGS), "score": "float64"})
