-- Counts what a manifest has. $1 manifest, $2 organization. Columns: articles, those of which
-- something is still to come, parcels, the articles of the parcel that has the most.
SELECT coalesce(sum(a.n), 0), coalesce(sum(a.open), 0), (
        SELECT count(*)
        FROM manifests.parcel p
        WHERE p.organization_id = $2::text AND p.manifest_id = $1::text
    ), coalesce(max(a.n) FILTER (WHERE a.parcel_id IS NOT NULL), 0)
FROM (
    SELECT x.parcel_id, count(*) AS n, count(*) FILTER (WHERE x.packed > x.received) AS open
    FROM manifests.article x
    WHERE x.organization_id = $2::text AND x.manifest_id = $1::text AND x.deleted_at IS NULL
    GROUP BY x.parcel_id
) a
