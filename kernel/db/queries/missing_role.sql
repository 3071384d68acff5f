-- Finds out whether the role of plugins' SQL is there for this user, and says what makes it.
SELECT CASE
    WHEN r.oid IS NULL THEN format(
        'the role wharf_plugin is missing; as an administrator run: CREATE ROLE wharf_plugin '
            || 'NOLOGIN; GRANT wharf_plugin TO %I; then `wharf migrate`', current_user
    )
    WHEN NOT pg_has_role(current_user, r.oid, 'MEMBER') THEN format(
        '%I is no member of the role wharf_plugin; as an administrator run: GRANT wharf_plugin TO '
            || '%I;', current_user, current_user
    )
END
FROM (SELECT (SELECT oid FROM pg_roles WHERE rolname = 'wharf_plugin') AS oid) AS r
