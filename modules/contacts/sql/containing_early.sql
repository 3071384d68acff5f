-- Returns those of the organization's first 1,000 contacts, by id, whose search text has all
-- patterns, up to so many. A word that stands in every tenth row is found here in a walk of 1,000
-- rows; the trigram index would collect all rows that have it first.
CREATE OR REPLACE FUNCTION contacts.containing_early(patterns text[], most integer) RETURNS text[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
        SET enable_seqscan = off SET enable_indexscan = on AS $$
DECLARE
    found text[];
BEGIN
    EXECUTE 'SELECT array_agg(f.id ORDER BY f.id) FROM (SELECT c.id FROM ('
        'SELECT id, search_text FROM contacts.contact WHERE organization_id = $1'
        ' AND deleted_at IS NULL ORDER BY id LIMIT 1000) c WHERE true'
        || (SELECT string_agg(format(' AND c.search_text LIKE ($2)[%s]', n), '')
            FROM generate_subscripts(patterns, 1) n) || ' ORDER BY c.id LIMIT $3) f'
        INTO found
        USING current_setting('wharf.organization', true), patterns, most;
    RETURN found;
END
$$;
