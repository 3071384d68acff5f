-- wharf: phase=expand
-- contacts.containing with each pattern as a condition of its own: the index is asked for all of them, and the rarest decides. By one of them, the
-- longest, a search for an address at example.com walked through everybody there.

CREATE OR REPLACE FUNCTION contacts.containing(patterns text[], most integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1 AND c.deleted_at IS NULL'
        || (SELECT string_agg(format(' AND c.search_text LIKE ($2)[%s]', n), '') FROM generate_subscripts(patterns, 1) n) || ' LIMIT $3'
        USING current_setting('wharf.organization', true), patterns, most;
END
$$;
