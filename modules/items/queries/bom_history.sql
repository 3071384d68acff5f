-- Reads a page of the versions of a bill, newest first. $1 bill, $2 organization, $3 rows, $4 rows
-- before them.
SELECT v.bom_version, trim_scale(v.output_qty)::text, v.change_note,
    to_char(v.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), v.created_by, (
        SELECT count(*)
        FROM items.assembly_order o
        WHERE o.organization_id = v.organization_id AND o.bom_id = v.bom_id
            AND o.bom_version = v.bom_version AND o.type = 'build'
    )
FROM items.bom_version v
WHERE v.organization_id = $2::text AND v.bom_id = $1::text
ORDER BY v.bom_version DESC
LIMIT $3::bigint OFFSET $4::bigint
