-- Counts a run of the job that reads it, and returns how many there were.
UPDATE inference.shipping_label
SET wishes = jsonb_set(wishes, '{runs}', to_jsonb(coalesce((wishes ->> 'runs')::integer, 0) + 1))
WHERE organization_id = $2::text AND id = $1::text
RETURNING (wishes ->> 'runs')::bigint
