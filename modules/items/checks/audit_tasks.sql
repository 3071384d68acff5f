-- An audit counts its tasks, keeps totals when counting has ended, and is finished when it ends.
-- rows: items.audit
-- Cancel the audit (POST /v1/audits/:audit with status canceled), and count again with a new one.
SELECT a.organization_id, a.id, CASE
        WHEN a.task_count <> k.tasks OR a.counted_count <> k.counted
            THEN 'counts ' || a.task_count || ' tasks, ' || a.counted_count
                || ' of them counted, and has ' || k.tasks || ' and ' || k.counted
        WHEN (a.finished_at IS NOT NULL) <> (a.status IN ('approved', 'canceled'))
            THEN 'is ' || a.status || ', and '
                || CASE WHEN a.finished_at IS NULL THEN 'not finished' ELSE 'finished' END
        WHEN a.status IN ('in_review', 'approved', 'canceled')
            THEN 'is ' || a.status || ', and ' || k.tasks - k.kept || ' of its totals are not kept'
        ELSE 'is ' || a.status || ', and ' || k.kept || ' of its totals are kept'
    END
FROM items.audit a
CROSS JOIN LATERAL (
    SELECT count(*) AS tasks, count(t.counted) AS counted, count(t.total) AS kept
    FROM items.audit_task t
    WHERE t.organization_id = a.organization_id AND t.audit_id = a.id
) k
WHERE a.deleted_at IS NULL AND (
    a.task_count <> k.tasks OR a.counted_count <> k.counted
    OR (a.finished_at IS NOT NULL) <> (a.status IN ('approved', 'canceled'))
    OR k.kept <> CASE WHEN a.status IN ('in_review', 'approved', 'canceled') THEN k.tasks ELSE 0 END
)
