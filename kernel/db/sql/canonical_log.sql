-- Returns what is sealed of a line: the row as the API answers it with ISO dates, without prev_hash
-- and hash, in the text form of jsonb: members sorted by length and then by bytes, ": " and ", "
-- between.
CREATE OR REPLACE FUNCTION wharf.canonical_log(r wharf.change_log) RETURNS text
    LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('object', 'log', 'id', r.id, 'resource', r.resource, 'resource_id',
        r.resource_id, 'parent_id', r.parent_id,
        'action', r.action, 'changes', r.changes, 'message', r.message, 'images',
        COALESCE(r.images, '[]'), 'visibility', r.visibility,
        'actor', jsonb_build_object('type', r.actor_type, 'id', r.actor_id, 'name', r.actor_name),
        'request_id', r.request_id,
        'event_id', r.event_id, 'batch_id', r.batch_id, 'location_id', r.location_id,
        'created_at',
        to_char(r.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))::text
$$;
