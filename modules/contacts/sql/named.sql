-- Returns contacts with a word in their names that is like the pattern: for two letters, which
-- no trigram index knows. There are far fewer words than contacts, and what is frequent is found
-- at once.
CREATE OR REPLACE FUNCTION contacts.named(pattern text, most integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
        SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY EXECUTE 'SELECT k.contact_id FROM (SELECT DISTINCT w.token FROM contacts.word w'
        ' WHERE w.organization_id = $1 AND w.token LIKE $2) w'
        ' CROSS JOIN LATERAL (SELECT t.contact_id FROM contacts.token t'
        ' WHERE t.organization_id = $1 AND t.token = w.token ORDER BY t.contact_id LIMIT $3) k'
        ' ORDER BY w.token, k.contact_id LIMIT $3'
        USING current_setting('wharf.organization', true), pattern, most;
END
$$;
