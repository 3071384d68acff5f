-- Returns the number of the version that one workflow is wanted in (?version=), NULL where it is
-- the row: nothing was asked for, or the draft.
CREATE OR REPLACE FUNCTION workflows.wanted(asked text, published bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN asked = 'published' THEN published
        WHEN asked ~ '^[0-9]{1,18}$' THEN asked::bigint END
$$;
