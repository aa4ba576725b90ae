"""What the companies, people and categories of the sandbox are called: many scripts, on purpose."""

# ruff: noqa: RUF001 - letters of other scripts that look like Latin ones are the point

from __future__ import annotations

from typing import NamedTuple


class CompanyName(NamedTuple):
    """A company's name, country, currency and the scale of its amounts."""

    name: str
    country: str
    currency: str
    domain: str


COMPANIES = (
    CompanyName("Nordlicht Handels GmbH", "DE", "EUR", "nordlicht.example"),
    CompanyName("Älvdalens Kaffe & Te AB", "SE", "SEK", "alvdalens.example"),
    CompanyName("青空商事株式会社", "JP", "JPY", "aozora.example"),
    CompanyName("Boulangerie de l'Étoile SARL", "FR", "EUR", "etoile.example"),
    CompanyName("Żółta Łódź Sp. z o.o.", "PL", "PLN", "lodz.example"),
    CompanyName("Ελαιώνας Α.Ε.", "GR", "EUR", "elaionas.example"),
    CompanyName("مطبعة النور ش.م.م", "AE", "AED", "alnoor.example"),
    CompanyName("Zürisee Treuhand AG", "CH", "CHF", "zuerisee.example"),
)

# First name, last name, the part of the e-mail address before the @.
PEOPLE = (
    ("Jürgen", "Müller-Lüdenscheidt", "juergen.mueller"),
    ("Anna", "Schäfer", "anna.schaefer"),
    ("Siobhán", "O'Brien", "siobhan.obrien"),
    ("山田", "太郎", "taro.yamada"),
    ("מירי", "כהן", "miri.cohen"),
    ("محمد", "الأحمد", "mohammed.alahmad"),
    ("Дмитрий", "Соколов", "dmitri.sokolov"),
    ("Ελένη", "Παπαδοπούλου", "eleni.papadopoulou"),
    ("Nguyễn", "Thị Hương", "huong.nguyen"),
    ("김", "민준", "minjun.kim"),
    ("José", "Muñoz Peña", "jose.munoz"),
    ("Łukasz", "Wójcik", "lukasz.wojcik"),
    ("Åsa", "Sjöström", "asa.sjostrom"),
    ("Çağla", "Yıldız", "cagla.yildiz"),
    ("अनन्या", "शर्मा", "ananya.sharma"),
    ("李", "伟", "wei.li"),
    ("Zoë 🌻", "de Vries", "zoe.devries"),
    ("สมชาย", "ใจดี", "somchai.jaidee"),
    ("Hans", "Groß", "hans.gross"),
    ("Marie-Hélène", "L'Hôpital", "marie.lhopital"),
    ("Giorgi", "გელაშვილი", "giorgi.gelashvili"),
    ("Տիգրան", "Սարգսյան", "tigran.sargsyan"),
    ("Ólafur", "Þórðarson", "olafur.thordarson"),
    ("Marek", "Dvořák", "marek.dvorak"),
    ("Nnamdi", "Ọkafọ", "nnamdi.okafo"),
    ("Béla", "Kőszegi", "bela.koszegi"),
    ("Ana", "Müller", "ana.mueller"),
)

JOB_TITLES = ("Buchhalterin", "Einkauf", "Sales Manager", "経理", "Projektleitung", "Außendienst", "IT 🖥️")
ROLES = ("admin", "accountant", "employee")

GROUPS = {
    "DE": ("Reisekosten", "Büro & Verwaltung", "Fahrzeuge", "Marketing", "Personal", "IT", "Räume", "Waren"),
    "SE": ("Resor", "Kontor", "Fordon", "Marknadsföring"),
    "JP": ("旅費交通費", "消耗品費", "車両費", "広告宣伝費"),
}
OTHER_GROUPS = ("Travel", "Office", "Vehicles", "Marketing")

# Crossed with the places below: 24 by 10 names before a number is needed to tell them apart.
CATEGORY_NAMES = {
    "DE": (
        "Bahnfahrt", "Flug", "Hotel", "Taxi", "Mietwagen", "Parken", "Tanken", "Kfz-Reparatur",
        "Bewirtung Gäste", "Mitarbeiteressen", "Bürobedarf", "Porto & Versand", "Telefon", "Software-Abos",
        "Hardware", "Fachbücher", "Fortbildung", "Messe", "Anzeigen", "Geschenke", "Reinigung", "Strom",
        "Versicherung", "Sonstiges",
    ),
    "SE": ("Tåg", "Flyg", "Hotell", "Taxi", "Kontorsmaterial", "Porto", "Telefoni", "Böcker", "Mässa", "Övrigt"),
    "JP": ("電車", "飛行機", "宿泊", "タクシー", "文房具", "郵便", "電話", "書籍", "展示会", "その他"),
}  # fmt: skip
OTHER_CATEGORY_NAMES = ("Train", "Flight", "Hotel", "Taxi", "Stationery", "Postage", "Phone", "Books", "Fair", "Other")

PLACES = (
    "Köln", "München", "Zürich", "Göteborg", "東京", "Łódź", "Αθήνα", "Киев", "تل أبيب", "Café ☕",
)  # fmt: skip

# Names of the first company's first categories: what breaks a table that takes text for granted.
FIRST_NAMES = (
    "Reisekosten Inland",
    "=SUMME(A1:A9)",
    "L'apéro d'équipe",
    "Bewirtung; außer Haus",
    "אירוח לקוחות",
    "ضيافة",
    "Snacks & Getränke 🥨",
    "出張費",
    "  Auslagen (mit Leerzeichen) ",
    "0400",
    'Zitat "quer"',
    "Straße & Maut",
)

METADATA = (
    '{"costCenter": "0400", "rate": 1.10}',
    '{"tags": ["Büro", "東京", "🥨"], "nested": {"deep": [1, 2.50, null, {"ok": true}]}}',
    '{"big": 12345678901234567890123, "tiny": 1e-7, "zero": 0.00}',
    "{}",
    '{"note": "Zeile 1\\nZeile 2", "quote": "\\"", "null": null}',
)  # fmt: skip
