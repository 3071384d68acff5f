-- Counts the failures of an interval that no notice told of yet. $1 organization, $2 kind, $3 now,
-- $4 microseconds of the interval. Columns: count, whether there was a notice within the interval.
SELECT count(*),
    COALESCE(
        (
            SELECT n.at > $3::timestamptz - $4::bigint * interval '1 microsecond'
            FROM integrations.notice n
            WHERE n.organization_id = $1::text AND n.kind = $2::text
        ),
        false
    )
FROM integrations.failure f
WHERE f.organization_id = $1::text
    AND f.kind = $2::text
    AND f.at > $3::timestamptz - $4::bigint * interval '1 microsecond'
    AND f.at > COALESCE(
        (
            SELECT n.at
            FROM integrations.notice n
            WHERE n.organization_id = $1::text AND n.kind = $2::text
        ),
        '-infinity'
    )
