-- Sets the offset of the test clock and returns the number of this change. The number's row is
-- locked first, so that changes have the order of their numbers.
CREATE OR REPLACE FUNCTION wharf.clock_set(offset_seconds bigint) RETURNS bigint
    LANGUAGE plpgsql AS $$
DECLARE
    change bigint;
BEGIN
    UPDATE wharf.setting SET value = (value::bigint + 1)::text, updated_at = now()
    WHERE key = 'clock.changes' RETURNING value INTO change;
    UPDATE wharf.setting SET value = offset_seconds::text, updated_at = now()
    WHERE key = 'clock.offset_seconds';
    RETURN change;
END
$$;
