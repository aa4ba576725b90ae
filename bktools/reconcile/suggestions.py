"""Suggestions: accounts whose name is like that of a category without an account. For a person to judge."""

from __future__ import annotations

import pandas as pd

MOST = 3
# Below this, names share letters and not much more. In the sample data Versicherung and Versicherungen score from 70.6
# up, Bürobedarf Köln and Bürobedarf 90, while Messe and Kasse, Tanken and Bank, Mitarbeiteressen and Beiträge reach 67.5.
LEAST_SCORE = 70.0
COLUMNS = ["category_id", "company_id", "name", "external_id", "account_name", "score"]


def suggest(coverage: pd.DataFrame, actions: pd.DataFrame) -> pd.DataFrame:
    """Return up to three accounts for each active category that has none, the best first.

    Parameters
    ----------
    coverage, actions : DataFrame
        Of one reconciliation. Accounts that are archived, or about to be, are not suggested.
    """
    from rapidfuzz import fuzz, process, utils

    open_ = coverage[(coverage["state"] == "no_account") & ~coverage["archived"] & coverage["name"].notna()]
    usable = actions[(actions["archived"] == False) & (actions["action"] != "archive") & actions["name"].notna()]  # noqa: E712 - null is not False
    usable = usable.sort_values(["company_id", "external_id"])
    rows = []
    for company, categories in open_.groupby("company_id"):
        accounts = usable[usable["company_id"] == company]
        # Read once: processing each name anew for every category would take most of the time.
        names = [utils.default_process(name) for name in accounts["name"].tolist()]
        for category in categories.sort_values(["name", "category_id"]).to_dict("records"):
            wanted = utils.default_process(category["name"])
            likes = process.extract(wanted, names, scorer=fuzz.WRatio, limit=MOST, score_cutoff=LEAST_SCORE)
            for _, score, place in likes:
                account = accounts.iloc[place]
                rows.append(
                    (category["category_id"], company, category["name"], account["external_id"], account["name"], score)
                )
    frame = pd.DataFrame(rows, columns=COLUMNS)
    return frame.astype({**dict.fromkeys(COLUMNS[:-1], "str"), "score": "float64"})
