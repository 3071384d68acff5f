-- Returns up to so many contacts whose search text has all patterns. Which ones depends on the rows
-- alone, never on the way that the planner takes: pages of one search are asked for one after
-- another, and statistics change between them. What many rows contain is found by walking through
-- the first ones (containing_early); everything else by bitmaps, which return rows in the order in
-- which they are stored, whatever indexes they are made from. Each pattern is a condition of its
-- own: the index is asked for all of them, and the rarest decides. By one of them, the longest, a
-- search for an address at example.com walked through everybody there.
CREATE OR REPLACE FUNCTION contacts.containing(patterns text[], most integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
        SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    early text[] := contacts.containing_early(patterns, most);
BEGIN
    IF cardinality(early) = most THEN
        RETURN QUERY SELECT e.id FROM unnest(early) e(id);
        RETURN;
    END IF;
    RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1'
        ' AND c.deleted_at IS NULL'
        || (SELECT string_agg(format(' AND c.search_text LIKE ($2)[%s]', n), '')
            FROM generate_subscripts(patterns, 1) n) || ' LIMIT $3'
        USING current_setting('wharf.organization', true), patterns, most;
END
$$;
