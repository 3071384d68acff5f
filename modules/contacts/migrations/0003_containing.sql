-- wharf: phase=expand
-- contacts.containing by the trigram index: of a pattern that stands by itself (LIKE ALL has none), planned for what it is, since a rare word wants
-- the index and one that is everywhere does not.

CREATE OR REPLACE FUNCTION contacts.containing(patterns text[], most integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1 AND c.deleted_at IS NULL'
        ' AND c.search_text LIKE $2 AND c.search_text LIKE ALL ($3) LIMIT $4'
        USING current_setting('wharf.organization', true), (SELECT p FROM unnest(patterns) p ORDER BY length(p) DESC LIMIT 1), patterns, most;
END
$$;
