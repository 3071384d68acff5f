-- Writes what a station says of one of its printers. Others are told of a printer once in ten
-- seconds. $1 organization, $2 station, $3 id of the printer, or '' and $4 its name, $5 status, $6
-- reasons, $7 details of the state, $8 URI, $9 now. Columns: printer, its status, that of before,
-- reasons, whether to tell.
WITH old AS (
    SELECT p.id, p.status, p.told_at
    FROM stations.printer p
    WHERE p.organization_id = $1::text
        AND p.station_id = $2::text
        AND p.deleted_at IS NULL
        AND (p.id = $3::text OR ($3::text = '' AND p.name = $4::text))
    FOR UPDATE
)
UPDATE stations.printer p
SET status = COALESCE(NULLIF($5::text, ''), p.status),
    state_reasons = COALESCE($6::jsonb, p.state_reasons),
    state_detail = COALESCE($7::jsonb, p.state_detail), uri = COALESCE(NULLIF($8::text, ''), p.uri),
    missed = 0,
    updated_at = CASE
        WHEN p.status IS DISTINCT FROM COALESCE(NULLIF($5::text, ''), p.status) THEN $9::timestamptz
        ELSE p.updated_at
    END,
    told_at = CASE
        WHEN p.status IS DISTINCT FROM COALESCE(NULLIF($5::text, ''), p.status)
            AND (p.told_at IS NULL OR p.told_at <= $9::timestamptz - interval '10 seconds')
            THEN $9::timestamptz
        ELSE p.told_at
    END
FROM old
WHERE p.organization_id = $1::text AND p.id = old.id
RETURNING p.id, p.status, old.status, p.state_reasons,
    p.status <> old.status AND p.told_at IS DISTINCT FROM old.told_at
