#!/usr/bin/python3
"""Makes what the server needs of kernel/identity/roles.json, the catalogue of scopes (spec 01 section 6.3).

  roles.py --c roles.json OUT.h       one ROLE_AREA(area, covers, admin, user, operator_only) for each area
  roles.py --sql roles.json OUT.sql   wharf.built_in_roles(organization): the built-in roles as rows
"""
import json
import sys

LEVELS = {"none": 0, "read": 1, "write": 2}
MEMBERS = {"covers", "admin", "user", "operator_only"}

SQL = """-- Makes the built-in roles of an organization, as every list of roles shows them, and brings those
-- that are there up to date. Made by tools/roles.py from kernel/identity/roles.json.
CREATE OR REPLACE FUNCTION wharf.built_in_roles(organization text) RETURNS void LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO wharf.role (organization_id, id, name, scopes, location_restricted, created_at,
        updated_at)
    SELECT organization, r.id, r.id, r.scopes::jsonb, r.restricted, wharf.now(), wharf.now()
    FROM (VALUES
        ('owner', false, '{{"*":2}}'),
        ('developer', false, '{{"*":2}}'),
        ('admin', true, '{admin}'),
        ('user', true, '{user}')
    ) AS r(id, restricted, scopes)
    ON CONFLICT (organization_id, id) DO UPDATE
        SET scopes = EXCLUDED.scopes, updated_at = EXCLUDED.updated_at
        WHERE role.scopes <> EXCLUDED.scopes;
END
$$;
SELECT wharf.built_in_roles(o.id) FROM wharf.organization o WHERE o.mode = 'live';
"""


def read(path):
    with open(path, encoding="utf-8") as f:
        areas = json.load(f)
    for area, row in areas.items():
        if set(row) - MEMBERS or not {"covers", "admin", "user"} <= set(row):
            sys.exit(f"{path}: {area} has covers, admin, user and, when only the operator may, operator_only")
        if row["admin"] not in LEVELS or row["user"] not in LEVELS:
            sys.exit(f"{path}: {area}: a level is one of none, read, write")
    return areas


def c_rows(areas):
    for area, row in areas.items():
        only = "true" if row.get("operator_only") else "false"
        yield f'ROLE_AREA("{area}", {json.dumps(row["covers"])}, {LEVELS[row["admin"]]}, {LEVELS[row["user"]]}, {only})\n'


def scopes(areas, role):
    return json.dumps({a: LEVELS[row[role]] for a, row in areas.items() if LEVELS[row[role]]}, separators=(",", ":"))


def main():
    what, source, out = sys.argv[1:]
    areas = read(source)
    with open(out, "w", encoding="utf-8") as f:
        if what == "--c":
            f.write("/* made by tools/roles.py */\n" + "".join(c_rows(areas)))
        else:
            f.write(SQL.format(admin=scopes(areas, "admin"), user=scopes(areas, "user")))


main()
