-- The moves of a transfer add up to nothing: as much comes to one place as leaves another.
-- rows: items.stock_movement
-- Stock appeared or was lost on the way. Count both layouts, and have the difference booked.
SELECT organization_id, group_id, 'adds up to ' || sum(delta)
FROM items.stock_movement
WHERE reason = 'transfer'
GROUP BY organization_id, group_id
HAVING sum(delta) <> 0
