-- The history of each container is whole: as many lines as it counts, numbered from 1.
-- rows: containers.container
-- Lines were added or deleted beside the server; compare with a backup.
SELECT c.organization_id, c.id,
    'counts ' || c.history_count || ' lines of history, and has ' || coalesce(u.n, 0)
        || ' up to number ' || coalesce(u.last, 0)
FROM containers.container c
LEFT JOIN (
    SELECT organization_id, owner_id, count(*) AS n, max(position) AS last
    FROM containers.tracking_update
    GROUP BY organization_id, owner_id
) u ON u.organization_id = c.organization_id AND u.owner_id = c.id
WHERE coalesce(u.n, 0) <> c.history_count OR coalesce(u.last, 0) <> c.history_count
