"""Clients of a running sandbox."""

from __future__ import annotations

import httpx


def client_of(server):
    headers = {"Authorization": f"Bearer {server.token}"}
    # Certificates are not read for plain HTTP: that takes longer than most tests.
    return httpx.Client(base_url=server.base_url, headers=headers, timeout=30, verify=False)


def page_of(client, server, filters=None, status=200, **paging):
    """Search the first company's categories: paging as keywords, filters as a dict."""
    body = {"companyId": server.company_id} | (filters or {})
    answer = client.post("/v1/bookkeeping-categories:search", json=body, params=paging)
    assert answer.status_code == status, answer.text
    return answer.json()
