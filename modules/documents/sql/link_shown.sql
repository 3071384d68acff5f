-- Shows a link as it stands among those of its document (spec 05 section 5).
CREATE OR REPLACE FUNCTION documents.link_shown(l documents.link) RETURNS json
LANGUAGE sql STABLE
AS $$
SELECT json_build_object(
    'object', 'document_link', 'id', l.id, 'document_id', l.document_id,
    'resource', json_build_object('type', l.resource_type, 'id', l.resource_id),
    'created_at', to_char(l.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'created_by', l.created_by
)
$$;
