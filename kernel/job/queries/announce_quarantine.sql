-- Records an announcement beside the other facts of the installation, and adds a job for it to each
-- organization. The same quarantine is not announced again. $1 key of the fact, $2 its value, $3
-- arguments of the job.
WITH fresh AS (
    INSERT INTO wharf.setting (key, value)
    VALUES ($1::text, $2::text)
    ON CONFLICT (key) DO UPDATE
    SET value = EXCLUDED.value, updated_at = now()
    WHERE wharf.setting.value <> EXCLUDED.value
    RETURNING 1
)
INSERT INTO wharf.job (
    organization_id, queue, lane, key, state, run_at, args, actor_type, created_at
)
SELECT o.organization_id, 'wharf.announce_quarantine', 'wharf.announce_quarantine', '', 'ready',
    wharf.now(), $3::json, 'system', wharf.now()
FROM wharf.organization o, fresh
WHERE o.id = o.organization_id
