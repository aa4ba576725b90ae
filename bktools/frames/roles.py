"""Who acts on a finding: the same four roles in every report, whatever found it."""

ERP, SERVICE, EMPLOYEE, PREPARER = ROLES = (
    "accounting (ERP)",
    "administrator of the service",
    "employee",
    "preparer of the close",
)
