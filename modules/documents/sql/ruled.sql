-- Returns organizations that have retention rules, the first ones after one. Plugin SQL sees one
-- organization at a time.
CREATE OR REPLACE FUNCTION documents.ruled(after text, most integer) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT DISTINCT r.organization_id
    FROM documents.retention_rule r
    WHERE r.deleted_at IS NULL AND r.organization_id > after COLLATE "C"
    ORDER BY r.organization_id
    LIMIT most
$$;
