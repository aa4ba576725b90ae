"""The tables of the state, as SQL. Categories, which may be millions, name their company by its position."""

from __future__ import annotations

FORMAT = 2

SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE companies (
    position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, country TEXT NOT NULL,
    currency TEXT NOT NULL, has_integration INTEGER NOT NULL, has_contra_accounts INTEGER NOT NULL,
    current TEXT NOT NULL, available TEXT NOT NULL,
    job_outcome TEXT NOT NULL DEFAULT 'completed', job_expires_in INTEGER NOT NULL DEFAULT 3600);
CREATE TABLE accounts (
    id TEXT PRIMARY KEY, company_id TEXT NOT NULL, external_id TEXT NOT NULL, name TEXT NOT NULL,
    archived INTEGER NOT NULL, code TEXT, metadata TEXT, tax_code_external_id TEXT,
    UNIQUE (company_id, external_id));
CREATE TABLE categories (
    position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, company INTEGER NOT NULL,
    category_group_id TEXT NOT NULL, name TEXT NOT NULL, archived INTEGER NOT NULL, account_id TEXT,
    tax_code_id TEXT, folded TEXT NOT NULL, body TEXT NOT NULL);
CREATE TABLE employees (
    position INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, company_id TEXT NOT NULL, email TEXT NOT NULL,
    first_name TEXT NOT NULL, last_name TEXT NOT NULL, code TEXT, job_title TEXT, phone TEXT, role TEXT,
    body TEXT NOT NULL);
CREATE TABLE export_jobs (
    id TEXT PRIMARY KEY, company_id TEXT NOT NULL, created_at REAL NOT NULL, expires_in INTEGER NOT NULL,
    is_interactive INTEGER NOT NULL, number_of_items INTEGER NOT NULL, vendor_based_bookkeeping INTEGER NOT NULL,
    created_by TEXT, seconds REAL NOT NULL, outcome TEXT NOT NULL, ends_at REAL NOT NULL);
CREATE TABLE accepted_entries (
    job_id TEXT NOT NULL, number INTEGER NOT NULL, entry_id TEXT NOT NULL,
    PRIMARY KEY (job_id, number)) WITHOUT ROWID;
"""

# Made after the world is in, which is quicker. Each ends in the position, so a page of any sort is a range of one.
INDICES = """
CREATE UNIQUE INDEX categories_id ON categories (id);
CREATE INDEX categories_company ON categories (company);
CREATE INDEX categories_company_id ON categories (company, id);
CREATE INDEX categories_company_name ON categories (company, name);
CREATE INDEX categories_company_archived ON categories (company, archived);
CREATE INDEX categories_company_group ON categories (company, category_group_id);
CREATE INDEX categories_company_account ON categories (company, account_id);
CREATE INDEX categories_company_tax ON categories (company, tax_code_id);
CREATE UNIQUE INDEX employees_id ON employees (id);
CREATE INDEX employees_company ON employees (company_id);
CREATE INDEX employees_email ON employees (email);
CREATE INDEX employees_code ON employees (code);
CREATE INDEX export_jobs_company ON export_jobs (company_id, ends_at);
"""

OF_COMPANY = "company = (SELECT position FROM companies WHERE companies.id = ?)"

INSERT_CATEGORY = """
INSERT INTO categories (id, company, category_group_id, name, archived, account_id, tax_code_id, folded, body)
VALUES (?, (SELECT position FROM companies WHERE companies.id = ?), ?, ?, ?, ?, ?, ?, ?)"""

INSERT_EMPLOYEE = """
INSERT INTO employees (id, company_id, email, first_name, last_name, code, job_title, phone, role, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
