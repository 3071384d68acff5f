-- A query answers three columns.
-- rows: checked.thing
SELECT organization_id, id
FROM checked.thing
