-- Writes the tasks of a new audit. $1 audit, $2 organization, $3 location, $4 ids, $5 items,
-- $6 layouts, all in the order of the tasks, $7 now, $8 who.
INSERT INTO items.audit_task (
    organization_id, id, audit_id, location_id, item_id, layout_id, position, created_at,
    updated_at, created_by, updated_by
)
SELECT $2::text, v.id, $1::text, $3::text, v.item, v.layout, v.place, $7::timestamptz,
    $7::timestamptz, $8::text, $8::text
FROM unnest((SELECT $4::text[]), (SELECT $5::text[]), (SELECT $6::text[]))
    WITH ORDINALITY v(id, item, layout, place)
