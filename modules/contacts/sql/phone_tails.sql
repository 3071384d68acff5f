-- wharf: order=first
-- Returns what the phones end with, without their countries and extensions. Indexes stand on it:
-- a change of it needs them made anew. In plpgsql, which keeps its plan.
CREATE OR REPLACE FUNCTION contacts.phone_tails(phones jsonb) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN ARRAY(
        SELECT right(ltrim(split_part(p.value, ';', 1), '+'), 9) FROM jsonb_each_text(phones) p
        WHERE p.value IS NOT NULL
    );
END
$$;
