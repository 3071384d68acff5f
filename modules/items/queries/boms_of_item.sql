-- Reads what the bills of an item leave for one of them. $1 item, $2 organization, $3 that one ('':
-- a new one): the number that no name BOM <n> has, the other active bills, which of them is the
-- default, and the oldest of them.
SELECT coalesce(max((regexp_match(b.name, '^bom ([0-9]{1,9})$', 'i'))[1]::bigint), 0) + 1,
    count(*) FILTER (WHERE b.status = 'active' AND b.id <> $3::text),
    max(b.id) FILTER (WHERE b.status = 'active' AND b.id <> $3::text AND b.is_default),
    (array_agg(b.id ORDER BY b.created_at, b.id)
        FILTER (WHERE b.status = 'active' AND b.id <> $3::text))[1]
FROM items.bom b
WHERE b.organization_id = $2::text AND b.item_id = $1::text AND b.deleted_at IS NULL
