-- Lists the triggers that are due, or were reckoned with a clock ahead of this one, and locks them.
-- $1 organization, $2 now, $3 moment after which a clock was ahead.
SELECT s.workflow_id, s.place, s.next_at, v.triggers -> s.place::integer, v.options
FROM workflows.schedule s
JOIN workflows.workflow w ON w.organization_id = s.organization_id AND w.id = s.workflow_id
JOIN workflows.version v
    ON v.organization_id = w.organization_id
        AND v.workflow_id = w.id
        AND v.number = w.published_version
WHERE s.organization_id = $1::text
    AND (s.next_at <= $2::timestamptz OR s.reckoned_at > $3::timestamptz)
ORDER BY s.next_at, s.workflow_id, s.place
FOR UPDATE OF s SKIP LOCKED
