-- Counts reports that did not name a printer. One that three reports in a row did not name is
-- offline: a cable that flaps must not drop it. $1 organization, $2 station, $3 ids and $4 names of
-- the report, $5 now. Columns: printer, its status, that of before, reasons, whether to tell.
WITH old AS (
    SELECT p.id, p.status
    FROM stations.printer p
    WHERE p.organization_id = $1::text
        AND p.station_id = $2::text
        AND p.deleted_at IS NULL
        AND NOT (p.id = ANY ((SELECT $3::text[])::text[])
            OR p.name = ANY ((SELECT $4::text[])::text[]))
    FOR UPDATE
)
UPDATE stations.printer p
SET missed = p.missed + 1, status = CASE WHEN p.missed + 1 >= 3 THEN 'offline' ELSE p.status END,
    updated_at = CASE
        WHEN p.missed + 1 >= 3 AND p.status <> 'offline' THEN $5::timestamptz
        ELSE p.updated_at
    END
FROM old
WHERE p.organization_id = $1::text AND p.id = old.id
RETURNING p.id, p.status, old.status, p.state_reasons, p.status <> old.status
