-- Returns the number of a version that a client sent, null when the text is none.
CREATE OR REPLACE FUNCTION items.bom_number(version text) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN CASE WHEN version ~ '^[0-9]{1,9}$' THEN version::integer END;
END
$$;
