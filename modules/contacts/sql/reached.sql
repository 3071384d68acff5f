-- Returns the contacts with this e-mail, or with a phone that ends like this one, up to so many
-- each. Goes by what phones end with, since a label may tell a number without its country;
-- looking for these digits among the trigrams of all texts met most of a book whose phones share
-- an area. By bitmaps, as in containing.
CREATE OR REPLACE FUNCTION contacts.reached(email text, phone_tail text, most integer)
    RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog
        SET enable_seqscan = off SET enable_indexscan = off AS $$
DECLARE
    organization text := current_setting('wharf.organization', true);
BEGIN
    IF email <> '' THEN -- kept in lower case, ASCII letters only
        RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1'
            ' AND c.deleted_at IS NULL AND c.emails ? lower($2 COLLATE "C") LIMIT $3'
            USING organization, email, most;
    END IF;
    IF phone_tail <> '' THEN
        RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1'
            ' AND c.deleted_at IS NULL AND c.phone IS NOT NULL'
            ' AND right(ltrim(split_part(c.phone, '';'', 1), ''+''), 9) = $2 LIMIT $3'
            USING organization, phone_tail, most;
        RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1'
            ' AND c.deleted_at IS NULL AND c.alternate_phones <> ''{}'''
            ' AND contacts.phone_tails(c.alternate_phones) @> ARRAY[$2] LIMIT $3'
            USING organization, phone_tail, most;
    END IF;
END
$$;
