-- Deletes up to `most` tokens whose end has come, and returns how many.
CREATE OR REPLACE FUNCTION wharf.expire_tokens(most integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    n integer;
BEGIN
    DELETE FROM wharf.token
        WHERE hash IN (SELECT hash FROM wharf.token WHERE expires_at <= wharf.now() LIMIT most);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;
