-- wharf: phase=expand
-- Who has this e-mail, or a phone that ends like this one: equal ones, up to so many each. By what phones end with, since a label may tell a number
-- without its country; looking for these digits among the trigrams of all texts met most of a book whose phones share an area.

CREATE FUNCTION contacts.phone_tails(phones jsonb) RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY(SELECT right(ltrim(p.value, '+'), 9) FROM jsonb_each_text(phones) p WHERE p.value IS NOT NULL);
CREATE INDEX contact_phone_tail ON contacts.contact (right(ltrim(phone, '+'), 9), organization_id) WHERE deleted_at IS NULL AND phone IS NOT NULL;
CREATE INDEX contact_other_phone_tails ON contacts.contact USING gin (contacts.phone_tails(alternate_phones)) WHERE deleted_at IS NULL AND alternate_phones <> '{}';

CREATE FUNCTION contacts.reached(email text, phone_tail text, most integer) RETURNS SETOF text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog SET enable_seqscan = off AS $$
DECLARE
    organization text := current_setting('wharf.organization', true);
BEGIN
    IF email <> '' THEN -- kept in lower case, ASCII letters only
        RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1 AND c.deleted_at IS NULL AND c.emails ? lower($2 COLLATE "C") LIMIT $3'
            USING organization, email, most;
    END IF;
    IF phone_tail <> '' THEN
        RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1 AND c.deleted_at IS NULL AND c.phone IS NOT NULL'
            ' AND right(ltrim(c.phone, ''+''), 9) = $2 LIMIT $3'
            USING organization, phone_tail, most;
        RETURN QUERY EXECUTE 'SELECT c.id FROM contacts.contact c WHERE c.organization_id = $1 AND c.deleted_at IS NULL AND c.alternate_phones <> ''{}'''
            ' AND contacts.phone_tails(c.alternate_phones) @> ARRAY[$2] LIMIT $3'
            USING organization, phone_tail, most;
    END IF;
END
$$;
