-- Returns contacts whose search text has all patterns, each as a condition of its own: the index
-- is asked for all of them, and the rarest decides. By one of them, the longest, a search for an
-- address at example.com walked through everybody there. Without sequential scans: the first
-- rows of the table are other organizations', and a walk for a frequent word, which the planner
-- likes with a LIMIT, reads all of these first.
CREATE OR REPLACE FUNCTION contacts.containing(patterns text[], most integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
        SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1'
        ' AND c.deleted_at IS NULL'
        || (SELECT string_agg(format(' AND c.search_text LIKE ($2)[%s]', n), '')
            FROM generate_subscripts(patterns, 1) n) || ' LIMIT $3'
        USING current_setting('wharf.organization', true), patterns, most;
END
$$;
