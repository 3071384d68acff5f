-- Lists jobs that are over. $1 queue, $2 organization, $3 state: null for all.
SELECT 'job_' || id, state || COALESCE(':' || reason, ''), queue,
    COALESCE(NULLIF(organization_id, ''), '-'), COALESCE(NULLIF(key, ''), '-'), attempts,
    to_char(ended_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    COALESCE(progress_done || '/' || COALESCE(progress_total::text, '?'), '-'), COALESCE(error, '')
FROM wharf.job_past
WHERE ($1::text IS NULL OR queue = $1)
    AND ($2::text IS NULL OR organization_id = $2)
    AND ($3::text IS NULL OR state = $3)
ORDER BY ended_at DESC, id DESC
LIMIT 1000
