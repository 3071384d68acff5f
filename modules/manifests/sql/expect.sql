-- Settles how much of the lines of a manifest is expected, and where: of an open manifest what was
-- packed and is not booked, of another one nothing. these: null, or the lines that are looked at.
-- Returns the moves of manifested stock that follow; layout null: the default one.
CREATE OR REPLACE FUNCTION manifests.expect(manifest text, open boolean, these text[])
    RETURNS TABLE (article text, item text, layout text, quantity numeric)
    LANGUAGE plpgsql SET search_path = pg_catalog AS $$
DECLARE
    org CONSTANT text := current_setting('wharf.organization', true);
BEGIN
    RETURN QUERY
        WITH a AS (
            SELECT a.id, a.item_id, a.position, a.expected AS was,
                a.expected_layout_id AS was_at, CASE WHEN open AND a.deleted_at IS NULL
                    THEN greatest(0, a.packed - a.booked) ELSE 0 END AS target,
                coalesce(a.layout_id, p.layout_id) AS place
            FROM manifests.article a
            LEFT JOIN manifests.parcel p ON p.organization_id = org AND p.id = a.parcel_id
            WHERE a.organization_id = org AND a.manifest_id = manifest
                AND (these IS NULL OR a.id = ANY (these))
        ), d AS (
            SELECT a.*, a.was_at IS NOT DISTINCT FROM a.place OR a.was = 0 OR a.target = 0 AS same
            FROM a
            WHERE a.was <> a.target OR (a.was > 0 AND a.was_at IS DISTINCT FROM a.place)
        ), u AS (
            UPDATE manifests.article k
            SET expected = d.target, expected_layout_id = d.place
            FROM d
            WHERE k.organization_id = org AND k.id = d.id
        )
        SELECT m.id, m.item_id, m.at, m.delta
        FROM (
            SELECT d.id, d.item_id, d.position, 1 AS n,
                CASE WHEN d.was = 0 THEN d.place ELSE d.was_at END AS at,
                d.target - d.was AS delta
            FROM d
            WHERE d.same
            UNION ALL
            SELECT d.id, d.item_id, d.position, 1, d.was_at, -d.was FROM d WHERE NOT d.same
            UNION ALL
            SELECT d.id, d.item_id, d.position, 2, d.place, d.target FROM d WHERE NOT d.same
        ) m
        ORDER BY m.position, m.id, m.n;
END
$$;
