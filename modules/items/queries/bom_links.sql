-- Reads the components of the newest versions of bills, bill by bill. $1 bills, $2 organization.
SELECT b.item_id, c.item_id, c.quantity, c.factor, w.place
FROM unnest((SELECT $1::text[])) WITH ORDINALITY w(bom_id, place)
JOIN items.bom b ON b.organization_id = $2::text AND b.id = w.bom_id
JOIN items.bom_component c ON c.organization_id = b.organization_id AND c.bom_id = b.id
    AND c.bom_version = b.bom_version
ORDER BY w.place, c.position, c.id
