# ruff: noqa: C901, PLR0911, PLR0912, PLR0915 - slow and obvious on purpose: each rule where it is read
"""The reconciliation in plain Python, slow and obvious: rows are dicts, a missing value is None."""

import re
from collections import Counter, defaultdict
from unicodedata import normalize

KNOWN = {"CREATED", "MATCHED", "EXISTS", "IMPORTED"}


# Cyrillic and Greek small letters that look like Latin ones, and the letter that looks like a digit.
_LATIN = str.maketrans("авекмнорстухіѕјαβεζηικμνορτυχo", "abekmh0pctyxisjabezhikmn0ptyx0")  # noqa: RUF001 - the letters that look alike are meant


def reconcile(chart, accounts, categories):
    """Return findings (without texts), actions and coverage as lists of tuples."""
    known = [row for row in accounts if row["state"] in KNOWN]
    charted = {row["company_id"] for row in chart}
    chart_by, known_by = _by_key(chart), _by_key(known)
    actions, found = [], []

    def find(check, severity, action, row, **more):
        names = ("external_id", "account_id", "category_id", "field", "erp_value", "service_value")
        found.append((check, severity, action, row["company_id"], *[more.get(name) for name in names]))

    verbs = {}
    # Accounts of one side alone: those of the chart may be those of the service, spelled another way.
    news = set(chart_by) - set(known_by)
    goners = {key for key in set(known_by) - set(chart_by) if key[0] in charted}
    like = {spelling: _likes(news, goners, spelling) for spelling in (_bare, _without_zeros)}
    twins = {spelling: _likes(goners, news, spelling) for spelling in like}
    for key in sorted(set(chart_by) | set(known_by)):
        ours, theirs = chart_by.get(key, []), known_by.get(key, [])
        company, external_id = key
        row = {"company_id": company}
        if company not in charted:
            verb, why = "none", "no chart of accounts was given for this company"
        elif len(ours) > 1:
            verb, why = "none", "the external ID is on several rows of the chart"
        elif len(theirs) > 1:
            verb, why = "none", "the external ID is on several accounts known here"
        else:
            verb, why = _verb(ours[0] if ours else None, theirs[0] if theirs else None)
            if verb == "create" and key in like[_bare]:
                verb, why = (
                    "none",
                    f"looks like {like[_bare][key]}, which the service has: make the external IDs the same",
                )
            elif verb == "create" and key in like[_without_zeros]:
                similar = like[_without_zeros][key]
                verb, why = (
                    "none",
                    f"looks like {similar}, which the service has: use the ERP's own file (spreadsheets drop zeros)",
                )
            elif verb == "archive" and key in twins[_bare]:
                verb, why = "none", f"looks like {twins[_bare][key]} of the chart: make the external IDs the same"
            elif verb == "archive" and key in twins[_without_zeros]:
                similar = twins[_without_zeros][key]
                verb, why = (
                    "none",
                    f"looks like {similar} of the chart: use the ERP's own file (spreadsheets drop zeros)",
                )
        if len(ours) > 1 or len(theirs) > 1:
            erp, service = ({} if ours else None), ({} if theirs else None)
            for side in (ours, theirs):
                if len(side) > 1:
                    find("external_id_duplicate", "error", "none", row, external_id=external_id, field="external_id")
        else:
            erp, service = (ours[0] if ours else None), (theirs[0] if theirs else None)
            _compare(find, erp, service, verb, company in charted)
        if ours and len(external_id) > 255:
            find(
                "external_id_too_long",
                "error",
                "none",
                row,
                external_id=external_id,
                account_id=(service or {}).get("id"),
                field="external_id",
                erp_value=external_id,
            )
        if key in goners:
            archived = (service or {}).get("archived")
            severity = "info" if archived else "warning"
            find("missing_in_erp", severity, verb, row, external_id=external_id, account_id=(service or {}).get("id"))
        verbs[key] = verb
        source = erp if ours else service
        values = [(source or {}).get(name) for name in ("name", "code", "archived", "tax_code_external_id")]
        actions.append((company, external_id, (service or {}).get("id"), verb, why, *values))
    for row in chart:
        if not row["external_id"]:
            values = [row[name] for name in ("name", "code", "archived", "tax_code_external_id")]
            actions.append((row["company_id"], row["external_id"], None, "none", "the external ID is empty", *values))
    for row in chart + known:
        if not row["external_id"]:
            find("external_id_empty", "error", "none", row, external_id=row["external_id"], field="external_id")
    for check, spelling in (("external_id_looks_alike", _bare), ("leading_zeros_lost", _without_zeros)):
        for (company, external_id), similar in like[spelling].items():
            values = {"external_id": external_id, "erp_value": external_id, "service_value": similar}
            find(check, "error", "none", {"company_id": company}, field="external_id", **values)
    for company in charted:
        codes = [
            row["code"] for row in chart if row["company_id"] == company and re.fullmatch("[0-9]+", row["code"] or "")
        ]
        if len({len(code) for code in codes}) > 1 and not any(code.startswith("0") for code in codes):
            find("code_lengths_mixed", "info", "none", {"company_id": company}, field="code")
    for company in {row["company_id"] for row in known if row["external_id"]} - charted:
        find("company_without_chart", "warning", "none", {"company_id": company})
    for company in {company for company, *_ in unused(accounts, categories)}:
        find("account_unused", "info", "none", {"company_id": company})
    coverage = _cover(find, chart_by, known, categories, verbs, goners)
    return found, actions, coverage


def unused(accounts, categories):
    """Return active accounts that no category uses, as tuples, of the companies that have a category."""
    used = {(row["company_id"], row["account_id"]) for row in categories}
    companies = {row["company_id"] for row in categories}
    return [
        (row["company_id"], row["external_id"], row["id"], row["code"], row["name"])
        for row in accounts
        if row["state"] in KNOWN and row["id"] is not None and not row["archived"]
        if row["company_id"] in companies and (row["company_id"], row["id"]) not in used
    ]


def _by_key(rows):
    keyed = defaultdict(list)
    for row in rows:
        if row["external_id"]:
            keyed[row["company_id"], row["external_id"]].append(row)
    return keyed


def _long(text):
    return text is not None and len(text) > 255


def _bare(text):
    return normalize("NFC", normalize("NFC", re.sub(r"\s", "", text)).lower()).translate(_LATIN)


def _without_zeros(text):
    return text.lstrip("0")


def _likes(news, goners, spelling):
    """Return which external ID of the service alone, the first, each of the chart alone is spelled like."""
    likes = {}
    for company, new in news:
        similar = [gone for owner, gone in goners if owner == company and spelling(gone) == spelling(new)]
        if similar:
            likes[company, new] = min(similar)
    return likes


def _differing(erp, service):
    """Return the fields that both know and say differently."""
    told = service["id"] is not None and service["state"] != "IMPORTED"
    fields = []
    for field in ("name", "code", "tax_code_external_id", "archived"):
        optional = field in ("code", "tax_code_external_id")
        if service[field] is None and not (optional and told):
            continue
        if erp[field] != service[field]:
            fields.append(field)
    return fields


def _verb(erp, service):
    if service is None:
        if _long(erp["external_id"]):
            return "none", "the external ID has more than 255 characters"
        if erp["name"] is None:
            return "none", "the name is missing"
        if _is_total(erp):
            return "none", "the line is a total, not an account"
        if _long(erp["name"]):
            return "none", "the name has more than 255 characters"
        if _long(erp["code"]):
            return "none", "the code has more than 255 characters"
        return "create", f"in the chart{', archived,' if erp['archived'] else ''} and not among the accounts known here"
    if erp is None:
        return {
            False: ("archive", "in the service and not in the chart"),
            True: ("none", "not in the chart and archived in the service"),
            None: ("none", "not in the chart; whether it is archived in the service is unknown"),
        }[service["archived"]]
    fields = _differing(erp, service)
    if "archived" in fields:
        if erp["archived"]:
            return "archive", "archived in the chart and active in the service"
        return "unarchive", "active in the chart and archived in the service"
    is_repaired = "code" in fields and _lost_zeros(erp["code"], service["code"])
    fields = [field for field in fields if not (is_repaired and field == "code")]
    words = [{"tax_code_external_id": "tax code"}.get(field, field) for field in fields]
    if words:
        return "update", f"the chart has another {' and '.join(words)}"
    if is_repaired:
        return "none", "the code lost its leading zeros: use the ERP's own file (spreadsheets drop zeros)"
    return "none", "the same in the chart and in the service"


def _is_total(erp):
    return erp["name"] == "Summe" and not re.search("[0-9]", erp["code"] or "")


def _lost_zeros(ours, theirs):
    return ours is not None and theirs is not None and ours.lstrip("0") == theirs.lstrip("0")


def _compare(find, erp, service, verb, charted):
    """Find what is to be said of an account that each side has at most once."""
    row = erp or service
    of = {"external_id": row["external_id"], "account_id": service["id"] if service else None}
    if verb == "create":
        find("missing_in_service", "warning", "create", row, external_id=row["external_id"])
    if service and service["id"] is None:
        find("account_id_unknown", "warning", "none", row, external_id=row["external_id"], field="id")
    if erp:
        for field in ("name", "code"):
            if _long(erp[field]):
                find(f"{field}_too_long", "error", "none", row, **of, field=field, erp_value=erp[field])
        if erp["name"] is None:
            find("name_missing", "error", "none", row, **of, field="name")
        if not service and _is_total(erp):
            find("total_in_chart", "error", "none", row, **of, field="name")
    if not (erp and service):
        return
    for field in _differing(erp, service):
        values = {"erp_value": erp[field], "service_value": service[field]}
        if field == "archived":
            values = {name: str(value).lower() for name, value in values.items()}
            find("archived_differs", "warning", verb, row, **of, field=field, **values)
            continue
        if field == "code" and _lost_zeros(*values.values()):
            find("leading_zeros_lost", "error", "none", row, **of, field=field, **values)
            continue
        check = "tax_code_differs" if field.startswith("tax") else f"{field}_differs"
        find(check, "error" if field.startswith("tax") else "warning", "update", row, **of, field=field, **values)


def _cover(find, chart_by, known, categories, verbs, goners):
    coverage = []
    names = Counter((row["company_id"], row["name"]) for row in categories if row["name"] is not None)
    taxed = defaultdict(set)
    facts = []
    for row in categories:
        rows = [
            other for other in known if (other["company_id"], other["id"]) == (row["company_id"], row["account_id"])
        ]
        rows = rows if row["account_id"] is not None else []
        external_id = min((other["external_id"] for other in rows), default=None)
        key = (row["company_id"], external_id)
        if not row["account_id"]:
            state = "no_account"
        elif not rows:
            state = "unknown_account"
        elif any(other["archived"] for other in rows):
            state = "archived_account"
        elif verbs.get(key) == "archive" or key in goners:
            state = "to_be_archived_account"
        else:
            state = "covered"
        account_name = min((other["name"] for other in rows if other["name"] is not None), default=None)
        ours = chart_by.get(key, [])
        erp_tax = ours[0]["tax_code_external_id"] if len(ours) == 1 else None
        if erp_tax is not None and row["tax_code_id"] is not None:
            taxed[row["company_id"], row["tax_code_id"]].add(erp_tax)
        facts.append((row, external_id, state, erp_tax))
        coverage.append(
            (
                *[row[name] for name in ("id", "company_id", "name", "archived", "account_id")],
                *[external_id, account_name, row["tax_code_id"], state],
            )
        )
    broken = {
        "no_account": ("category_without_account", "none"),
        "unknown_account": ("category_on_unknown_account", "none"),
        "archived_account": ("category_on_archived_account", "none"),
    }
    for row, external_id, state, erp_tax in facts:
        verb = verbs.get((row["company_id"], external_id))
        broken["to_be_archived_account"] = ("category_on_account_to_be_archived", verb)
        of = {"external_id": external_id, "account_id": row["account_id"], "category_id": row["id"]}
        warning = "info" if row["archived"] else "warning"
        if state in broken:
            check, action = broken[state]
            severity = "info" if row["archived"] else "error"
            find(check, severity, action, row, **of, field="account_id", service_value=row["account_id"])
        elif row["archived"]:
            find("archived_category_on_active_account", "info", "none", row, **of)
        if names[row["company_id"], row["name"]] > 1:
            find("category_name_duplicate", warning, "none", row, **of, field="name", service_value=row["name"])
        if erp_tax is not None and row["tax_code_id"] is None:
            find("category_without_tax_code", "info", "none", row, **of, field="tax_code_id", erp_value=erp_tax)
        if erp_tax is not None and len(taxed[row["company_id"], row["tax_code_id"]]) > 1:
            find(
                "category_tax_code_ambiguous",
                warning,
                "none",
                row,
                **of,
                field="tax_code_id",
                erp_value=erp_tax,
                service_value=row["tax_code_id"],
            )
    return coverage


def in_order(rows):
    """Return tuples in an order that takes None."""
    return sorted(rows, key=lambda row: [(value is not None, str(value)) for value in row])
