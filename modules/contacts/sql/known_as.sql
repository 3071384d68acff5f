-- Returns the contacts at an address (its hash) or of a business, whatever its case, accents and
-- legal forms are (business_key), up to so many each. Uses indexes that row-level security keeps
-- from a plugin's statement. Of more than `most` rows the same ones are returned whatever the
-- planner does: by bitmaps, as in containing.
CREATE OR REPLACE FUNCTION contacts.known_as(address_hash text, business text, most integer)
    RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
        SET enable_seqscan = off SET enable_indexscan = off AS $$
DECLARE
    organization text := current_setting('wharf.organization', true);
BEGIN
    IF address_hash <> '' THEN
        RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1'
            ' AND c.deleted_at IS NULL AND c.address_hashes ? $2 LIMIT $3'
            USING organization, address_hash, most;
    END IF;
    IF business <> '' THEN
        RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1'
            ' AND c.deleted_at IS NULL'
            ' AND (c.metadata ? ''business'''
            ' AND contacts.business_key(c.metadata ->> ''business'') = $2'
            ' OR c.metadata ? ''company'''
            ' AND contacts.business_key(c.metadata ->> ''company'') = $2) LIMIT $3'
            USING organization, contacts.business_key(business), most;
        RETURN QUERY EXECUTE 'SELECT x.id FROM contacts.contact_group g'
            ' CROSS JOIN LATERAL (SELECT e.id FROM jsonb_array_elements_text(g.children) e(id)'
            ' LIMIT $3) x'
            ' WHERE g.organization_id = $1 AND g.resource = ''contact'''
            ' AND contacts.business_key(g.name) = $2 AND g.deleted_at IS NULL LIMIT $3'
            USING organization, contacts.business_key(business), most;
    END IF;
END
$$;
