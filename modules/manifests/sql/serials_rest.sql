-- Returns the announced serial numbers of which none came yet, at most so many.
CREATE OR REPLACE FUNCTION manifests.serials_rest(announced jsonb, came jsonb, quantity numeric)
    RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$
BEGIN
    RETURN (
        SELECT coalesce(jsonb_agg(s.e ORDER BY s.o), '[]')
        FROM (
            SELECT x.e, x.o
            FROM jsonb_array_elements(announced) WITH ORDINALITY x(e, o)
            WHERE NOT came ? (x.e #>> '{}')
            ORDER BY x.o
            LIMIT floor(quantity)::bigint
        ) s
    );
END
$$;
