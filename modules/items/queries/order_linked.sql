-- Reads a build that is to be taken apart, and holds it. $1 order, $2 organization.
SELECT o.item_id, o.bom_id, o.type = 'build', o.location_id, o.bom_version, o.quantity,
    o.unbuilt_qty, (
        SELECT json_agg(json_build_object('item', l.item_id, 'required', l.required, 'picks',
            l.picks) ORDER BY l.place)
        FROM items.assembly_order_line l
        WHERE l.organization_id = o.organization_id AND l.order_id = o.id
    )
FROM items.assembly_order o
WHERE o.organization_id = $2::text AND o.id = $1::text
FOR UPDATE
