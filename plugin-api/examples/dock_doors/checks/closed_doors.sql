-- No door with open appointments is closed.
-- rows: dock_doors.door
-- Open the door again (POST /v1/dock-doors/:door with status open), or end its appointments.
SELECT organization_id, id, 'is closed, and has ' || open_appointments || ' open appointments'
FROM dock_doors.door
WHERE deleted_at IS NULL AND status = 'closed' AND open_appointments > 0
